"""One sample of an Inspect log as a run: an epoch is a repeat, a scorer a check, and no attempt is no failure."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import repeat
from typing import Any

from outweigh.adapters.importers.identity import fingerprint, stable_ids
from outweigh.adapters.importers.imported_run import UNKNOWN_COLUMNS, agent, built, kept_rows
from outweigh.adapters.importers.inspect_score import scored_checks
from outweigh.adapters.importers.inspect_summary import Summary
from outweigh.adapters.importers.source_time import moments
from outweigh.ports.importers import ImportNotes
from outweigh.record.cost import UNKNOWN_COST, Cost, reported_cost
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.record.stored import Json
from outweigh.record.trial import ARBITRARY, REPEAT_LABEL, Trial
from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.foreign import amount, count, mapping, sequence, text, total_usage

_LIMITS = {"time": Status.TIMEOUT, "working": Status.TIMEOUT, "operator": Status.NOT_RUN}
_PLACEHOLDER = re.compile(r"(\(\w+\))?")
"""What summaries have in the place of a picture."""

_COMPARED_CHARACTERS = 1000
"""Summaries cut long texts; up to here every version keeps them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Evaluation:
    """What all samples of a log share. `scorer` decides about success; the other scorers are told, not required.

    `repeats_before` are the epochs of earlier logs of the same; None where there is only this log.
    """

    task: str
    arm: str
    arm_fingerprint: str
    run: str
    solver: str | None
    model: str | None
    scorer: str | None
    repeats_before: int | None = None


def sample_runs(samples: Sequence[Summary], evaluation: Evaluation, notes: ImportNotes) -> list[RunRecord]:
    """The runs of samples, column by column: there may be thousands."""
    scores = [{key: score.value for key, score in (each.scores or {}).items()} for each in samples]
    endings = [_ending(each, scored=bool(found)) for each, found in zip(samples, scores, strict=True)]
    usages, costs = zip(*[_spent(each.model_usage or {}) for each in samples], strict=True)
    trials = _trials(samples, evaluation)
    place = f"inspect/{evaluation.run}/{evaluation.task}"
    columns: dict[str, Iterable[Any]] = {
        "run_id": stable_ids([f"{place}/{each.id}/{each.epoch}" for each in samples]),
        "trial": trials,
        "status": [status for status, _ in endings],
        "status_detail": [detail for _, detail in endings],
        "agent": repeat(agent(evaluation.solver, None, evaluation.model)),
        "arm_fingerprint": repeat(evaluation.arm_fingerprint),
        "task_checksum": [_checksum(trial.task_id, each) for trial, each in zip(trials, samples, strict=True)],
        "family": repeat(evaluation.task),
        "started_at": moments([each.started_at for each in samples]),
        "duration_seconds": [each.total_time if each.working_time is None else each.working_time for each in samples],
        "usage": usages,
        "cost": costs,
        "step_count": [each.turn_count or None for each in samples],
        "checks": [scored_checks(found, evaluation.scorer, notes) if found else None for found in scores],
        "extra": _extras(samples, scores, evaluation),
    }
    return built(RunRecord, UNKNOWN_COLUMNS | columns)


def _trials(samples: Sequence[Summary], evaluation: Evaluation) -> list[Trial]:
    before = evaluation.repeats_before or 0
    columns: dict[str, Iterable[Any]] = {
        "task_id": stable_ids([f"{evaluation.task}/{each.id}" for each in samples]),
        "arm": repeat(evaluation.arm),
        "repeat": [before + each.epoch for each in samples],
        "seed": repeat(None),
    }
    return built(Trial, columns)


def _extras(samples: Sequence[Summary], scores: Sequence[Json], evaluation: Evaluation) -> list[Json]:
    label = None if evaluation.repeats_before is None else ARBITRARY
    columns: dict[str, Sequence[Any]] = {
        REPEAT_LABEL: [label] * len(samples),
        "scores": [found or None for found in scores],
        "model_usage": [each.model_usage or None for each in samples],
        "total_time": [each.total_time for each in samples],
        "working_time": [each.working_time for each in samples],
        "limit": [each.limit for each in samples],
        "uuid": [each.uuid for each in samples],
    }
    return kept_rows(columns, len(samples))


def _ending(sample: Summary, *, scored: bool) -> tuple[Status, str | None]:
    """An error is the harness's way to say that there was no attempt; a limit ends one that may still be scored."""
    if sample.error is not None:
        started = not sample.error.startswith("CancelledError")
        return (Status.INFRA_ERROR if started else Status.NOT_RUN), sample.error[:500]
    if sample.completed is False:
        return Status.NOT_RUN, "the log ends before the sample does"
    if sample.limit is None:
        return Status.COMPLETED, None
    ended = Status.COMPLETED if scored else _LIMITS.get(sample.limit, Status.BUDGET_EXCEEDED)
    return ended, f"ended by its {sample.limit} limit"


def _spent(model_usage: Mapping[str, Any]) -> tuple[Usage, Cost]:
    """What all models together took; unknown where one of them is."""
    if not model_usage:
        return NO_USAGE, UNKNOWN_COST
    by_model = [mapping(each) for each in model_usage.values()]
    costs = [amount(each.get("total_cost")) for each in by_model]
    known = [cost for cost in costs if cost is not None]
    total = sum(known) if len(known) == len(costs) else None
    return total_usage([_usage(each) for each in by_model]), reported_cost(total)


def _usage(raw: Mapping[str, Any]) -> Usage:
    """Older versions counted what was read from the cache as input, too; their totals show it."""
    read, written = count(raw.get("input_tokens_cache_read")), count(raw.get("input_tokens_cache_write"))
    given, output, total = (count(raw.get(f"{kind}_tokens")) for kind in ("input", "output", "total"))
    cached = (read or 0) + (written or 0)
    if given is not None and cached and total == given + (output or 0) and given >= cached:
        given -= cached
    return Usage(input_tokens=given, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written)


def _checksum(task_id: str, sample: Summary) -> str:
    """Two logs may give one id to different samples, after a shuffle for one: what was asked tells them apart."""
    asked = sample.input
    if isinstance(asked, str):
        texts = [asked[:_COMPARED_CHARACTERS]]
    else:
        texts = [_said(each)[:_COMPARED_CHARACTERS] for each in sequence(asked)]
    return fingerprint([task_id, texts, str(sample.target)[:_COMPARED_CHARACTERS]])


def _said(message: object) -> str:
    content = mapping(message).get("content")
    if isinstance(content, str):
        return content
    texts = (text(mapping(part).get("text")) or "" for part in sequence(content))
    return " ".join(each for each in texts if not _PLACEHOLDER.fullmatch(each))
