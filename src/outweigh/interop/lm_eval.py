"""Importer of lm-evaluation-harness: `samples_*.jsonl` of `--log_samples`, with the `results_*.json` beside them."""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError
from outweigh.interop.field_values import Threshold, parse_threshold, parse_time
from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
    with_repeat_numbers,
)
from outweigh.interop.result_files import (
    FileMarks,
    read_json_lines,
    read_json_object,
)
from outweigh.model.run_record import CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name, dict_at, name_at, names_at
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_NAME = re.compile(r"samples_(?P<task>.+)_(?P<time>\d{4}-\d\d-\d\dT\d\d-\d\d-\d\d\.\d+)\.jsonl")
_FILES = FileMarks(
    suffixes=(".jsonl",),
    start=re.compile(rb'^\s*\{\s*"doc_id"\s*:\s*\d+\s*,\s*"doc"\s*:'),
    marks=(b'"filtered_resps"',),
)
_DECIDING = ("exact_match", "acc", "acc_norm", "pass@1", "pass_at_1", "prompt_level_strict_acc")
"""Metrics that say whether an answer is right, the most telling first; the first that a sample has decides."""

_UNVARIED = ("batch_size", "batch_sizes", "device", "use_cache", "limit", "bootstrap_iters")
_MODEL_ARGUMENT = re.compile(r"(?:^|,)(?:model|pretrained)=([^,]+)")


class LmEvalImporter:
    """Reads a sample as a run, and a document of a task as a task; an arm is a model.

    Arms of one model whose settings differ, such as the number of examples, are told apart by a hash. `--map
    success=METRIC` names another metric than `exact_match` or `acc`, perhaps with a threshold.
    """

    name = "lm-eval"
    takes = frozenset({"columns"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="checks family extra", derived="started_at arm_fingerprint task_checksum"
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file begins with a sample, or a folder holds such a file."""
        return _FILES.recognise(path)

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read each file line by line; several evaluations of one arm are repeats."""
        deciding = request.columns.get("success")
        if strange := [each for each in request.columns if each != "success"]:
            raise EvidenceError(f"--map {strange[0]} is not used by lm-eval; it takes success.")
        files = _FILES.files(request.path)
        evaluations = {file: _evaluation(file, notes) for file in files}
        hashes: dict[str, set[str]] = {}
        for each in evaluations.values():
            hashes.setdefault(each.model, set()).add(fingerprint(each.settings))
        yield from with_repeat_numbers(
            run
            for file, each in evaluations.items()
            for run in _runs(file, each, request.arm or each.arm(len(hashes[each.model]) > 1), deciding, notes)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Evaluation:
    """What all samples of a file share."""

    task: str
    model: str
    settings: Mapping[str, Any]
    stated: Mapping[str, Any]
    started_at: datetime | None

    def arm(self, several: bool) -> str:
        return stable_id(f"{self.model}@{fingerprint(self.settings)[:8]}" if several else self.model)


def _evaluation(file: Path, notes: ImportNotes) -> _Evaluation:
    """The task in a file's name, and the model in the results of the same time beside it, else its folder's name."""
    named = _NAME.fullmatch(file.name)
    task = decode_file_name(file.stem.removeprefix("samples_") if named is None else named["task"])
    results = read_json_object(file.with_name(f"results_{'' if named is None else named['time']}.json"), notes)
    config = dict_at(results, "config")
    model = name_at(results, "model_name") or _stated_model(config) or decode_file_name(file.resolve().parent.name)
    shots = as_count(dict_at(results, "n-shot").get(task))
    settings = {key: value for key, value in config.items() if key not in _UNVARIED and value is not None}
    return _Evaluation(
        task=task,
        model=model or "model",
        settings=settings | {"n-shot": shots, "system": results.get("system_instruction")},
        stated=as_dict(dict_at(results, "results").get(task)),
        started_at=parse_time(results.get("date")),
    )


def _stated_model(config: Mapping[str, Any]) -> str | None:
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        found = _MODEL_ARGUMENT.search(arguments)
        return as_name(found[1]) if found else as_name(config.get("model"))
    held = as_dict(arguments)
    return as_name(held.get("model")) or as_name(held.get("pretrained")) or as_name(config.get("model"))


def _runs(
    file: Path, evaluation: _Evaluation, arm: str, deciding: str | None, notes: ImportNotes
) -> Iterator[RunRecord]:
    decided: dict[str, None] = {}
    others = 0
    chosen: str | None = None
    for line in read_json_lines(file, notes):
        raw, document = line.value, as_count(line.value.get("doc_id"))
        scored, filtered = _scores(raw), as_name(raw.get("filter")) or "none"
        if document is None or not scored:
            notes.unread(file, line.number, "a sample without a doc_id or a metric")
            continue
        chosen = chosen or filtered
        if filtered != chosen:
            others += 1
            continue
        metric = _deciding_metric(scored, deciding, file)
        decided |= {} if metric is None else {metric.column: None}
        yield imported_run(
            run_id=stable_id("lm-eval", arm, evaluation.task, document, _run_hash(raw, evaluation)),
            task_id=stable_id(f"{evaluation.task}/{document}"),
            arm=arm,
            repeat=1,
            agent=real_agent(model=evaluation.model),
            arm_fingerprint=fingerprint(evaluation.settings),
            task_checksum=as_name(raw.get("doc_hash")) or fingerprint(raw.get("doc")),
            family=evaluation.task,
            started_at=evaluation.started_at,
            checks=_checks(scored, metric),
            extra=extra_fields(
                {"scores": dict(scored), "target": raw.get("target"), "answers": raw.get("filtered_resps")}
            ),
        )
    if others:
        notes.warn(
            f"{file.name} scores the same answers by several filters; {chosen!r} is read, and {others:,} results of "
            "others are left out."
        )
    if not decided:
        notes.warn(
            f"no metric in {file.name} says whether an answer is right, so success is unknown. Where one does, say "
            "--map success=METRIC, or --map 'success=METRIC>=0.8'."
        )
    _state_results(evaluation, decided, chosen, arm, notes)


def _run_hash(raw: Mapping[str, Any], evaluation: _Evaluation) -> str:
    """Tells apart answers of several evaluations; one that was copied keeps its id."""
    return fingerprint([raw, evaluation.started_at])[:16]


def _state_results(
    evaluation: _Evaluation, decided: Mapping[str, None], chosen: str | None, arm: str, notes: ImportNotes
) -> None:
    for metric in decided:
        if (figure := as_amount(evaluation.stated.get(f"{metric},{chosen}"))) is not None:
            notes.state(arm, f"{evaluation.task} {metric}", figure)


def _scores(raw: Mapping[str, Any]) -> dict[str, Any]:
    """The metrics of a sample; older files do not list their names, and have them after everything else."""
    listed = names_at(raw, "metrics")
    names = listed if listed is not None else [key for key in raw if key not in _SAMPLE_FIELDS]
    return {name: raw[name] for name in names if isinstance(raw.get(name), bool | int | float)}


_SAMPLE_FIELDS = frozenset(
    {"doc_id", "doc", "target", "arguments", "resps", "filtered_resps", "filter", "metrics"}
    | {"doc_hash", "prompt_hash", "target_hash"}
)


def _deciding_metric(scored: Mapping[str, Any], deciding: str | None, file: Path) -> Threshold | None:
    """The metric that decides, and from which value on; without a threshold, full credit is a pass."""
    if deciding is not None:
        wanted = None if deciding in scored else parse_threshold(deciding)
        metric = Threshold(deciding, ">=", 1.0) if wanted is None else wanted
        if metric.column not in scored:
            raise EvidenceError(f"{file} has no metric {metric.column!r}; it has {', '.join(scored)}.")
        return metric
    named = next((name for name in _DECIDING if name in scored), None)
    return None if named is None else Threshold(named, ">=", 1.0)


def _checks(scored: Mapping[str, Any], metric: Threshold | None) -> tuple[CheckResult, ...] | None:
    if metric is None:
        return None
    return (
        outcome_check(stable_id(metric.column), _passed(scored[metric.column], metric)),
        *(
            outcome_check(stable_id(name), _passed(value, Threshold(name, ">=", 1.0)), required=False)
            for name, value in scored.items()
            if name != metric.column and name in _DECIDING
        ),
    )


def _passed(value: Any, metric: Threshold) -> bool | None:
    try:
        return metric.is_pass(float(value))
    except ValueError:
        return None
