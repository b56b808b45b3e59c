"""Exporter of an arm's runs as a log of Inspect (`.eval`), readable by Inspect's viewer and data frames.

The totals follow Inspect's definitions: epochs are averaged first, then samples.
"""

import zipfile
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import sqrt
from shutil import copyfileobj
from statistics import fmean, stdev
from tempfile import SpooledTemporaryFile
from typing import Any, BinaryIO

import msgspec

from outweigh.interop.inspect_ai.sample_writer import (
    CORRECT,
    OUTCOME_SCORER,
    InspectSample,
    ModelUsage,
    make_summary,
    sum_model_usage,
)
from outweigh.model.failure import Status

REDUCER = "mean"


class LogTotals:
    """Totals of a log, from one pass over its samples that keeps only outcomes, tokens and end times."""

    def __init__(self) -> None:
        self._outcomes: dict[str, list[float]] = defaultdict(list)
        self._usage: dict[str, ModelUsage] = {}
        self._usage_complete = True
        self._last_end: datetime | None = None
        self._ends_known = True
        self._samples = 0
        self._completed = 0

    def add(self, sample: InspectSample) -> None:
        """Count one sample."""
        self._samples += 1
        self._completed += "error" not in sample
        outcomes = self._outcomes[sample["id"]]
        if (outcome := sample.get("scores", {}).get(OUTCOME_SCORER)) is not None:
            outcomes.append(float(outcome["value"] == CORRECT))
        if "model_usage" in sample:
            self._usage = sum_model_usage([self._usage, sample["model_usage"]])
        elif _was_run(sample):
            self._usage_complete = False
        if "started_at" in sample and "total_time" in sample:
            end = datetime.fromisoformat(sample["started_at"]) + timedelta(seconds=sample["total_time"])
            self._last_end = end if self._last_end is None else max(end, self._last_end)
        elif _was_run(sample):
            self._ends_known = False

    @property
    def usage(self) -> dict[str, ModelUsage]:
        """The tokens of all samples; empty if any are unknown, because a partial sum is no total."""
        return self._usage if self._usage_complete else {}

    @property
    def completed_at(self) -> datetime | None:
        """When the last sample ended; None if any end is unknown, because that sample may have been the last."""
        return self._last_end if self._ends_known else None

    def results(self) -> dict[str, Any]:
        """Accuracy and standard error over samples; no score if no sample has one."""
        means = list(self._means().values())
        counts = {"total_samples": self._samples, "completed_samples": self._completed}
        if not means:
            return {**counts, "scores": []}
        spread = stdev(means) / sqrt(len(means)) if len(means) > 1 else 0.0
        score = {
            "name": OUTCOME_SCORER,
            "scorer": OUTCOME_SCORER,
            "reducer": REDUCER,
            "scored_samples": len(means),
            "unscored_samples": len(self._outcomes) - len(means),
            "metrics": {
                "accuracy": {"name": "accuracy", "value": fmean(means)},
                "stderr": {"name": "stderr", "value": spread},
            },
        }
        return {**counts, "scores": [score], "headline": {"scorer": OUTCOME_SCORER, "metric": "accuracy"}}

    def reductions(self) -> list[dict[str, Any]]:
        """The scores of each sample, averaged over its epochs."""
        samples = [{"sample_id": sample_id, "value": mean} for sample_id, mean in self._means().items()]
        return [{"scorer": OUTCOME_SCORER, "reducer": REDUCER, "samples": samples}] if samples else []

    def _means(self) -> dict[str, float]:
        return {sample_id: fmean(outcomes) for sample_id, outcomes in self._outcomes.items() if outcomes}


def _was_run(sample: InspectSample) -> bool:
    status: str = sample["metadata"]["status"]
    return status != Status.NOT_RUN


LOG_VERSION = 2
LOG_NOTES = (
    "passed: the run completed and every required check held. checks: what each check said, null where it could not "
    "be evaluated.",
    "working_time is the agent's own time, with its waits; total_time is set-up, agent and checks together.",
    "An error is a run that says nothing about the agent. Time and money that ran out are no limit here, because the "
    "records do not say how much there was: see status in a sample's metadata.",
    "model_usage is left out where input or output tokens are unknown; what is known is in a sample's metadata.",
    "An empty input means that the instruction was not kept with the runs.",
)

_FIXED_DATE = (1980, 1, 1, 0, 0, 0)
_IN_MEMORY_BYTES = 16 * 2**20


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedLog:
    """What all samples of a log share: one arm of a suite. `created` is when its first run started."""

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


def write_log(stream: BinaryIO, evaluation: ExportedLog, samples: Iterable[InspectSample]) -> None:
    """Write the archive; samples are taken one by one, and none is kept."""
    figures = LogTotals()
    start = {"version": LOG_VERSION, "eval": _spec(evaluation), "plan": _plan(evaluation)}
    with zipfile.ZipFile(stream, "w") as opened, SpooledTemporaryFile(_IN_MEMORY_BYTES) as summaries:
        _add_member(opened, "_journal/start.json", start)
        opening = b"["
        for sample in samples:
            figures.add(sample)
            _add_member(opened, f"samples/{sample['id']}_epoch_{sample['epoch']}.json", sample)
            summaries.write(opening + msgspec.json.encode(make_summary(sample)))
            opening = b","
        summaries.write(b"]" if opening == b"," else b"[]")
        summaries.seek(0)
        with opened.open(_member_info("summaries.json"), "w") as target:
            copyfileobj(summaries, target)
        _add_member(opened, "reductions.json", figures.reductions())
        _add_member(opened, "header.json", _header(evaluation, figures))


def _header(evaluation: ExportedLog, figures: LogTotals) -> dict[str, Any]:
    return {
        "version": LOG_VERSION,
        "status": "success",
        "eval": _spec(evaluation),
        "plan": _plan(evaluation),
        "results": figures.results(),
        "stats": {
            "started_at": _time_text(evaluation.began_at),
            "completed_at": _time_text(figures.completed_at),
            "model_usage": figures.usage,
        },
    }


def _time_text(moment: datetime | None) -> str:
    """A time as text; Inspect writes an unknown time as an empty text."""
    return "" if moment is None else moment.isoformat()


def _spec(evaluation: ExportedLog) -> dict[str, Any]:
    return {
        "eval_id": evaluation.evaluation_id,
        "run_id": evaluation.experiment_id,
        "created": evaluation.created.isoformat(),
        "task": evaluation.suite,
        # The same id would mean that one arm is a retry of the other.
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
            "notes": LOG_NOTES,
        },
    }


def _plan(evaluation: ExportedLog) -> dict[str, Any]:
    return {"name": "plan", "steps": [{"solver": evaluation.arm, "params": _arguments(evaluation)}]}


def _arguments(evaluation: ExportedLog) -> dict[str, Any]:
    return {"agents": evaluation.agents, "arm_fingerprints": evaluation.arm_fingerprints}


def _add_member(opened: zipfile.ZipFile, name: str, content: object) -> None:
    opened.writestr(_member_info(name), msgspec.json.encode(content))


def _member_info(name: str) -> zipfile.ZipInfo:
    """A member without the time of the export, so that the same evidence gives the same bytes."""
    member = zipfile.ZipInfo(name, date_time=_FIXED_DATE)
    member.compress_type = zipfile.ZIP_DEFLATED
    member.external_attr = 0o644 << 16
    return member
