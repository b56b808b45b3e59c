"""Samples of an Inspect log as runs: an epoch is a repeat, a scorer a check, and a sample that was not attempted is not
a failure.

Full credit is a pass; a score that is not a share of full credit is unknown.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import repeat
from typing import Any

from outweigh.interop.field_values import parse_times
from outweigh.interop.imported_run import (
    UNKNOWN_COLUMNS,
    extra_rows,
    fingerprint,
    outcome_check,
    real_agent,
    stable_ids,
)
from outweigh.interop.inspect_ai.log_reader import SUMMARY_CHARACTERS, SampleSummary
from outweigh.model.base import Json
from outweigh.model.failure import Status
from outweigh.model.run_columns import structs_from_columns
from outweigh.model.run_record import ARBITRARY_REPEAT, REPEAT_LABEL, CheckResult, RunRecord, Trial
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_str
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Cost, Usage, reported_cost, sum_usage
from outweigh.ports.importers import ImportNotes

LETTER_CREDIT = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Correct, incorrect, partial, no answer: the value that Inspect's accuracy gives each grade."""

WORD_CREDIT = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

_NESTED_TYPES = (dict, list)
_SHOWN_PARTS = 10


def is_full_credit(value: object) -> bool | None:
    """Whether a score is full credit; None if it is not a share of full credit."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        value = LETTER_CREDIT.get(value, WORD_CREDIT.get(value.lower()))
    share = as_amount(value)
    return None if share is None or share > 1 else share == 1


def scored_checks(scores: Mapping[str, object], scorer: str | None, notes: ImportNotes) -> tuple[CheckResult, ...]:
    """A check for every scorer, and for every value of one that gives several. Only the deciding one is required, or
    all if none decides.
    """
    found = []
    for key, value in scores.items():
        if isinstance(value, dict) and value:
            checks, warnings = _part_checks(key, value, scorer)
            found += checks
            for sentence in warnings:
                notes.warn(sentence)
            continue
        required = scorer is None or key == scorer
        if isinstance(value, _NESTED_TYPES):
            check, warning = _check(key, value, None, required)
        else:
            check, warning = _known_check(key, value, str(value)[:200], required)
        if warning is not None:
            notes.warn(warning)
        found.append(check)
    return tuple(found)


def _part_checks(key: str, parts: Mapping[str, object], scorer: str | None) -> tuple[list[CheckResult], list[str]]:
    """The checks of a scorer with several values. Where it decides and no value is named, success is unknown, unless
    there is only one.
    """
    only = f"{key}.{next(iter(parts))}" if len(parts) == 1 and scorer in (None, key) else None
    found, warnings = [], []
    for name, value in parts.items():
        place = f"{key}.{name}"
        check, warning = _check(place, value, str(value)[:200], place in (scorer, only))
        found.append(check)
        warnings += [] if warning is None else [warning]
    if scorer in (None, key) and only is None:
        found.append(outcome_check(key, None, "several values", required=True))
        warnings.append(
            f"scorer {key!r} gives several values ({', '.join(list(parts)[:_SHOWN_PARTS])}), and which one decides "
            f"about success is unknown. Say it by --map success={key}.{next(iter(parts))}"
        )
    return found, warnings


def _check(key: str, value: object, shown: str | None, required: bool) -> tuple[CheckResult, str | None]:
    """A check, and a warning about its scorer if there is one."""
    passed, warning = is_full_credit(value), None
    if required and passed is None:
        warning = (
            f"scorer {key!r} gives values that are no share of full credit; whether such a sample succeeded is "
            "unknown. The values are kept."
        )
    elif required and passed is False and _partial(value):
        warning = f"scorer {key!r} gives partial credit; only full credit is counted as success here."
    return outcome_check(key, passed, shown, required=required), warning


_known_check = lru_cache(maxsize=1000, typed=True)(_check)
"""Cached, because most samples have one of few scores. `shown` separates values that are equal but differ, such as 1
and True.
"""


def _partial(value: object) -> bool:
    share = LETTER_CREDIT.get(value) if isinstance(value, str) else as_amount(value)
    return share is not None and 0 < share < 1


_STATUS_BY_LIMIT = {"time": Status.TIMEOUT, "working": Status.TIMEOUT, "operator": Status.NOT_RUN}
_PLACEHOLDER = re.compile(r"(\(\w+\))?")
"""What summaries have in place of an image."""

_COMPARED_CHARACTERS = 1000
"""Summaries cut long texts, but every version keeps at least this much."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LogContext:
    """What all samples of a log share. `scorer` decides about success; checks of other scorers are not required.

    `repeats_before` counts the epochs of earlier logs of the same evaluation; None if there is only this log.
    """

    task: str
    arm: str
    arm_fingerprint: str
    run: str
    solver: str | None
    model: str | None
    scorer: str | None
    repeats_before: int | None = None


def sample_runs(samples: Sequence[SampleSummary], evaluation: LogContext, notes: ImportNotes) -> list[RunRecord]:
    """The runs of samples, computed column by column, because there may be thousands."""
    scores = [{key: score.value for key, score in (each.scores or {}).items()} for each in samples]
    endings = [_ending(each, scored=bool(found)) for each, found in zip(samples, scores, strict=True)]
    usages, costs = zip(*[_total_spent(each.model_usage or {}) for each in samples], strict=True)
    trials = _trials(samples, evaluation)
    place = f"inspect/{evaluation.run}/{evaluation.task}"
    columns: dict[str, Iterable[Any]] = {
        "run_id": stable_ids([f"{place}/{each.id}/{each.epoch}" for each in samples]),
        "trial": trials,
        "status": [status for status, _ in endings],
        "status_detail": [detail for _, detail in endings],
        "agent": repeat(real_agent(evaluation.solver, None, evaluation.model)),
        "arm_fingerprint": repeat(evaluation.arm_fingerprint),
        "task_checksum": [_checksum(trial.task_id, each) for trial, each in zip(trials, samples, strict=True)],
        "family": repeat(evaluation.task),
        "started_at": parse_times([each.started_at for each in samples]),
        "duration_seconds": [each.total_time if each.working_time is None else each.working_time for each in samples],
        "usage": usages,
        "cost": costs,
        "step_count": [each.turn_count or None for each in samples],
        "checks": [scored_checks(found, evaluation.scorer, notes) if found else None for found in scores],
        "extra": _extras(samples, scores, evaluation),
    }
    return structs_from_columns(RunRecord, UNKNOWN_COLUMNS | columns)


def _trials(samples: Sequence[SampleSummary], evaluation: LogContext) -> list[Trial]:
    before = evaluation.repeats_before or 0
    columns: dict[str, Iterable[Any]] = {
        "task_id": stable_ids([f"{evaluation.task}/{each.id}" for each in samples]),
        "arm": repeat(evaluation.arm),
        "repeat": [before + each.epoch for each in samples],
        "seed": repeat(None),
    }
    return structs_from_columns(Trial, columns)


def _extras(samples: Sequence[SampleSummary], scores: Sequence[Json], evaluation: LogContext) -> list[Json]:
    label = None if evaluation.repeats_before is None else ARBITRARY_REPEAT
    columns: dict[str, Sequence[Any]] = {
        REPEAT_LABEL: [label] * len(samples),
        "input": [_whole_input(each.input) for each in samples],
        "target": [each.target or None for each in samples],
        "scores": [found or None for found in scores],
        "model_usage": [each.model_usage or None for each in samples],
        "total_time": [each.total_time for each in samples],
        "working_time": [each.working_time for each in samples],
        "limit": [each.limit for each in samples],
        "uuid": [each.uuid for each in samples],
    }
    return extra_rows(columns, len(samples))


def _whole_input(asked: object) -> str | None:
    """What was asked; None if the summary cuts it, or has chat messages, whose pictures and files it leaves out."""
    return asked if isinstance(asked, str) and 0 < len(asked) < SUMMARY_CHARACTERS else None


def _ending(sample: SampleSummary, *, scored: bool) -> tuple[Status, str | None]:
    """The status. An error means that there was no attempt; a limit ends an attempt that may still be scored."""
    if sample.error is not None:
        started = not sample.error.startswith("CancelledError")
        return (Status.INFRA_ERROR if started else Status.NOT_RUN), sample.error[:500]
    if sample.completed is False:
        return Status.NOT_RUN, "the log ends before the sample does"
    if sample.limit is None:
        return Status.COMPLETED, None
    ended = Status.COMPLETED if scored else _STATUS_BY_LIMIT.get(sample.limit, Status.BUDGET_EXCEEDED)
    return ended, f"ended by its {sample.limit} limit"


def _total_spent(model_usage: Mapping[str, Any]) -> tuple[Usage, Cost]:
    """Tokens and cost of all models; unknown if those of any model are."""
    if not model_usage:
        return NO_USAGE, UNKNOWN_COST
    by_model = [as_dict(each) for each in model_usage.values()]
    costs = [as_amount(each.get("total_cost")) for each in by_model]
    known = [cost for cost in costs if cost is not None]
    total = sum(known) if len(known) == len(costs) else None
    return sum_usage([_usage(each) for each in by_model]), reported_cost(total)


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens. Older versions counted cache reads as input, too, which their totals show."""
    read, written = as_count(raw.get("input_tokens_cache_read")), as_count(raw.get("input_tokens_cache_write"))
    given, output, total = (as_count(raw.get(f"{kind}_tokens")) for kind in ("input", "output", "total"))
    cached = (read or 0) + (written or 0)
    if given is not None and cached and total == given + (output or 0) and given >= cached:
        given -= cached
    return Usage(input_tokens=given, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written)


def _checksum(task_id: str, sample: SampleSummary) -> str:
    """The hash of what was asked, because two logs may use one id for different samples, for example after a
    shuffle.
    """
    asked = sample.input
    if isinstance(asked, str):
        texts = [asked[:_COMPARED_CHARACTERS]]
    else:
        texts = [_message_text(each)[:_COMPARED_CHARACTERS] for each in as_list(asked)]
    return fingerprint([task_id, texts, str(sample.target)[:_COMPARED_CHARACTERS]])


def _message_text(message: object) -> str:
    content = as_dict(message).get("content")
    if isinstance(content, str):
        return content
    texts = (as_str(as_dict(part).get("text")) or "" for part in as_list(content))
    return " ".join(each for each in texts if not _PLACEHOLDER.fullmatch(each))
