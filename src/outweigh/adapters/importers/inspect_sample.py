"""One sample of an Inspect log as a run: an epoch is a repeat, a scorer a check, and no attempt is no failure."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from outweigh.adapters.importers.identity import fingerprint, stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, outcome
from outweigh.adapters.importers.source_time import moment
from outweigh.ports import ImportNotes
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import Cost, reported_cost
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.record.trial import ARBITRARY, REPEAT_LABEL
from outweigh.record.usage import Usage
from outweigh.transcript.foreign import amount, count, mapping, name, sequence, text, total_usage

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Correct, incorrect, partial, no answer: what Inspect's accuracy makes of a grade."""

WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

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


def sample_run(sample: Mapping[str, Any], evaluation: Evaluation, notes: ImportNotes) -> RunRecord | None:
    """The run of a sample; None for one that does not say which it is."""
    sample_id, epoch = sample.get("id"), count(sample.get("epoch"))
    if not isinstance(sample_id, str | int) or isinstance(sample_id, bool) or not epoch:
        return None
    task_id = stable_id(evaluation.task, sample_id)
    scores = {key: mapping(score).get("value") for key, score in mapping(sample.get("scores")).items() if name(key)}
    status, detail = _status(sample, scored=bool(scores))
    usage, cost = _spent(sample)
    return imported_run(
        run_id=stable_id("inspect", evaluation.run, evaluation.task, sample_id, epoch),
        task_id=task_id,
        arm=evaluation.arm,
        repeat=epoch + (evaluation.repeats_before or 0),
        status=status,
        status_detail=detail,
        agent=agent(evaluation.solver, None, evaluation.model),
        arm_fingerprint=evaluation.arm_fingerprint,
        task_checksum=_checksum(task_id, sample),
        family=evaluation.task,
        started_at=moment(sample.get("started_at")),
        duration_seconds=_duration(sample),
        usage=usage,
        cost=cost,
        step_count=count(sample.get("turn_count")) or None,
        checks=_checks(scores, evaluation.scorer, notes) if scores else None,
        extra=kept_fields(
            {
                REPEAT_LABEL: None if evaluation.repeats_before is None else ARBITRARY,
                "scores": scores or None,
                "model_usage": mapping(sample.get("model_usage")) or None,
                "total_time": amount(sample.get("total_time")),
                "working_time": amount(sample.get("working_time")),
                "limit": _limit(sample),
                "uuid": name(sample.get("uuid")),
            }
        ),
    )


def full_credit(value: object) -> bool | None:
    """Whether a score is all that can be had; None for one that is no share of it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        value = LETTERS.get(value, WORDS.get(value.lower()))
    share = amount(value)
    return None if share is None or share > 1 else share == 1


def _checks(scores: Mapping[str, object], scorer: str | None, notes: ImportNotes) -> tuple[CheckResult, ...]:
    found = []
    for key, value in scores.items():
        passed = full_credit(value)
        required = scorer is None or key == scorer
        if required and passed is None:
            notes.warn(
                f"scorer {key!r} gives values that are no share of full credit; whether such a sample succeeded is "
                "unknown. The values are kept."
            )
        elif required and passed is False and _partial(value):
            notes.warn(f"scorer {key!r} gives partial credit; only full credit is counted as success here.")
        found.append(
            outcome(key, passed, None if isinstance(value, dict | list) else str(value)[:200], required=required)
        )
    return tuple(found)


def _partial(value: object) -> bool:
    share = LETTERS.get(value) if isinstance(value, str) else amount(value)
    return share is not None and 0 < share < 1


def _status(sample: Mapping[str, Any], *, scored: bool) -> tuple[Status, str | None]:
    """An error is the harness's way to say that there was no attempt; a limit ends one that may still be scored."""
    error = sample.get("error")
    message = text(error) or text(mapping(error).get("message"))
    if message is not None or mapping(error):
        shown = (message or "error")[:500]
        return (Status.NOT_RUN if shown.startswith("CancelledError") else Status.INFRA_ERROR), shown
    if sample.get("completed") is False:
        return Status.NOT_RUN, "the log ends before the sample does"
    limit = _limit(sample)
    if limit is None:
        return Status.COMPLETED, None
    ended = Status.COMPLETED if scored else _LIMITS.get(limit, Status.BUDGET_EXCEEDED)
    return ended, f"ended by its {limit} limit"


def _limit(sample: Mapping[str, Any]) -> str | None:
    limit = sample.get("limit")
    return name(limit) or name(mapping(limit).get("type"))


def _duration(sample: Mapping[str, Any]) -> float | None:
    """The time of work, without waiting for a free place at the model; old logs know the whole time only."""
    working = amount(sample.get("working_time"))
    return amount(sample.get("total_time")) if working is None else working


def _spent(sample: Mapping[str, Any]) -> tuple[Usage, Cost]:
    by_model = [mapping(each) for each in mapping(sample.get("model_usage")).values()]
    costs = [amount(each.get("total_cost")) for each in by_model]
    known = [cost for cost in costs if cost is not None]
    total = sum(known) if known and len(known) == len(costs) else None
    return total_usage([_usage(each) for each in by_model]), reported_cost(total)


def _usage(raw: Mapping[str, Any]) -> Usage:
    """Older versions counted what was read from the cache as input, too; their totals show it."""
    read, written = count(raw.get("input_tokens_cache_read")), count(raw.get("input_tokens_cache_write"))
    given, output, total = (count(raw.get(f"{kind}_tokens")) for kind in ("input", "output", "total"))
    cached = (read or 0) + (written or 0)
    if given is not None and cached and total == given + (output or 0) and given >= cached:
        given -= cached
    return Usage(input_tokens=given, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written)


def _checksum(task_id: str, sample: Mapping[str, Any]) -> str:
    """Two logs may give one id to different samples, after a shuffle for one: what was asked tells them apart."""
    asked = sample.get("input")
    texts: Sequence[object] = [asked] if isinstance(asked, str) else [_said(each) for each in sequence(asked)]
    return fingerprint(
        [
            task_id,
            [str(each)[:_COMPARED_CHARACTERS] for each in texts],
            str(sample.get("target"))[:_COMPARED_CHARACTERS],
        ]
    )


def _said(message: object) -> str:
    content = mapping(message).get("content")
    if isinstance(content, str):
        return content
    texts = (text(mapping(part).get("text")) or "" for part in sequence(content))
    return " ".join(each for each in texts if not _PLACEHOLDER.fullmatch(each))
