"""A log of Inspect (`.eval`): what an arm did, sample by sample, readable by Inspect's viewer and data frames."""

import zipfile
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from shutil import copyfileobj
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO

import msgspec

from outweigh.adapters.exporters.inspect_results import Figures
from outweigh.adapters.exporters.inspect_sample import Sample, summary_of

LOG_VERSION = 2
NOTES = (
    "passed: the run completed and every required check held. checks: what each check said, null where it could not "
    "be evaluated.",
    "working_time is the agent's own time, with its waits; total_time is set-up, agent and checks together.",
    "An error is a run that says nothing about the agent. Time and money that ran out are no limit here, because the "
    "records do not say how much there was: see status in a sample's metadata.",
    "model_usage is left out where input or output tokens are unknown; what is known stands in a sample's metadata.",
    "An empty input means that the instruction was not kept with the runs.",
)

_ALWAYS_THE_SAME = (1980, 1, 1, 0, 0, 0)
_IN_MEMORY_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What all samples of a log share: one arm of a suite. `created` is when its first run began."""

    evaluation_id: str
    experiment_id: str
    suite: str
    arm: str
    model: str
    agents: tuple[str, ...]
    arm_fingerprints: tuple[str, ...]
    created: datetime
    began_at: datetime | None
    sample_ids: tuple[str, ...]
    epochs: int
    evidence_sha256: str
    written_by: str


def write_log(stream: BinaryIO, evaluation: Evaluation, samples: Iterable[Sample]) -> None:
    """Write the archive; samples are taken one by one, and none is held."""
    figures = Figures()
    start = {"version": LOG_VERSION, "eval": _spec(evaluation), "plan": _plan(evaluation)}
    with zipfile.ZipFile(stream, "w") as opened, SpooledTemporaryFile(_IN_MEMORY_BYTES) as summaries:
        _add(opened, "_journal/start.json", start)
        opening = b"["
        for sample in samples:
            figures.see(sample)
            _add(opened, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
            summaries.write(opening + msgspec.json.encode(summary_of(sample)))
            opening = b","
        summaries.write(b"]" if opening == b"," else b"[]")
        summaries.seek(0)
        with opened.open(_member("summaries.json"), "w") as target:
            copyfileobj(summaries, target)
        _add(opened, "reductions.json", figures.reductions())
        _add(opened, "header.json", _header(evaluation, figures))


def _header(evaluation: Evaluation, figures: Figures) -> dict[str, Any]:
    return {
        "version": LOG_VERSION,
        "status": "success",
        "eval": _spec(evaluation),
        "plan": _plan(evaluation),
        "results": figures.results(),
        "stats": {
            "started_at": _moment(evaluation.began_at),
            "completed_at": _moment(figures.completed_at),
            "model_usage": figures.usage,
        },
    }


def _moment(moment: datetime | None) -> str:
    """The format's word for an unknown moment is an empty one."""
    return "" if moment is None else moment.isoformat()


def _spec(evaluation: Evaluation) -> dict[str, Any]:
    return {
        "eval_id": evaluation.evaluation_id,
        "run_id": evaluation.experiment_id,
        "created": evaluation.created.isoformat(),
        "task": evaluation.suite,
        # Two arms are no retries of each other, which is what one id would mean.
        "task_id": evaluation.evaluation_id,
        "solver": evaluation.arm,
        "solver_args": _arguments(evaluation),
        "dataset": {
            "name": evaluation.suite,
            "samples": len(evaluation.sample_ids),
            "sample_ids": evaluation.sample_ids,
        },
        "model": evaluation.model,
        "config": {"epochs": evaluation.epochs, "epochs_reducer": ["mean"]},
        "metadata": {
            "written_by": evaluation.written_by,
            "evidence_sha256": evaluation.evidence_sha256,
            "notes": NOTES,
        },
    }


def _plan(evaluation: Evaluation) -> dict[str, Any]:
    return {"name": "plan", "steps": [{"solver": evaluation.arm, "params": _arguments(evaluation)}]}


def _arguments(evaluation: Evaluation) -> dict[str, Any]:
    return {"agents": evaluation.agents, "arm_fingerprints": evaluation.arm_fingerprints}


def _add(opened: zipfile.ZipFile, name: str, content: object) -> None:
    opened.writestr(_member(name), msgspec.json.encode(content))


def _member(name: str) -> zipfile.ZipInfo:
    """Without the hour of the export: the same evidence gives the same bytes."""
    member = zipfile.ZipInfo(name, date_time=_ALWAYS_THE_SAME)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member
