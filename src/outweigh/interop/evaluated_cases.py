"""Evaluated inputs of programs that score traces, in one form, and the runs that they become.

Such programs have scores, but mostly no notion of a case that passed. A score is a pass or a failure where it says so
itself; where several do, or only numbers are there, the user names the one that decides.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

import msgspec

from outweigh.errors import EvidenceError, quote_names
from outweigh.interop.field_values import Threshold, parse_threshold, read_bool, read_label, unless_unknown
from outweigh.interop.imported_run import (
    extra_fields,
    fingerprint,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
    with_repeat_numbers,
)
from outweigh.model.failure import FailureKind, Status, failure_from_text
from outweigh.model.run_record import AgentIdentity, CheckResult, RunRecord
from outweigh.model.untrusted_json import as_amount, as_count
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, Cost, Usage, reported_cost
from outweigh.ports.importers import ImportNotes, ImportRequest

PASS_RATINGS = {
    **dict.fromkeys(("yes", "pass", "passed", "true", "correct"), True),
    **dict.fromkeys(("no", "fail", "failed", "false", "incorrect"), False),
}
"""What scorers write instead of true and false."""

FIGURE_FIELDS = ("duration_seconds", "cost_usd", "input_tokens", "output_tokens")
"""Figures that the user can map a column to; only its author knows which column is which."""

MAPPABLE_FIELDS = ("success", "task_id", "arm", *FIGURE_FIELDS)

_TITLE_CHARACTERS = 120
_DETAIL_CHARACTERS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Assessment:
    """What one scorer found, or why it could not."""

    value: Any
    rationale: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class EvaluatedCase:
    """A row of a table or a trace. `place` identifies it within its evaluation, `run_id`.

    `arm` names what was evaluated, and `settings` is all that is known about it. `task` is the name that the source has
    for the input, `repeat` the number that it states. `cells` are further values by name, which the user can map.
    """

    run_id: str
    place: str
    inputs: Any
    expectations: Any = None
    assessments: Mapping[str, Assessment] = field(default_factory=dict)
    cells: Mapping[str, Any] = field(default_factory=dict)
    arm: str | None = None
    settings: Any = None
    task: str | None = None
    repeat: int | None = None
    agent: AgentIdentity = real_agent()  # noqa: RUF009 - it cannot be changed
    trace_id: str | None = None
    failure: str | None = None
    started_at: datetime | None = None
    duration_seconds: float | None = None
    usage: Usage = NO_USAGE
    cost: Cost = UNKNOWN_COST
    step_count: int | None = None
    tool_call_count: int | None = None
    kept: Mapping[str, Any] = field(default_factory=dict)

    @property
    def checksum(self) -> str:
        """The hash of input and expectations, which identifies a task across evaluations."""
        return fingerprint({"inputs": self.inputs, "expectations": self.expectations})


def flat_cells(raw: Mapping[str, Any], *left_out: str) -> dict[str, Any]:
    """Values by name, and those one level below by `name.key`, for the user to map."""
    named = {name: value for name, value in raw.items() if name not in left_out and not isinstance(value, dict | list)}
    inner = {
        f"{name}.{key}": held
        for name, value in raw.items()
        if isinstance(value, dict) and name not in left_out
        for key, held in value.items()
        if not isinstance(held, dict | list)
    }
    return named | inner


def stated_pass(value: Any) -> bool | None:
    """Whether a score is a pass by itself; None for a number."""
    if isinstance(value, bool):
        return value
    return PASS_RATINGS.get(value.strip().lower()) if isinstance(value, str) else None


def _pass_by_user(value: Any) -> bool | None:
    """Whether a score is a pass if the user calls it the success: 0 and 1 count, too. None for all others."""
    try:
        found: bool | None = unless_unknown(read_bool)(value)
    except ValueError:
        return None
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class SuccessScore:
    """The score that decides about success; `by_user` if the user named it, perhaps with a threshold."""

    scorer: str | None
    by_user: bool
    threshold: Threshold | None = None

    def value(self, case: EvaluatedCase) -> Any:
        """The score's value in a case; any column can be named."""
        if self.scorer is None:
            return None
        assessed = case.assessments.get(self.scorer)
        return assessed.value if assessed is not None else case.cells.get(self.scorer)

    def passed(self, case: EvaluatedCase) -> bool | None:
        """Whether the case passed; None if that is unknown."""
        value = self.value(case)
        if self.threshold is not None:
            try:
                found: bool | None = unless_unknown(self.threshold.is_pass)(value)
            except ValueError:
                return None
            return found
        return (_pass_by_user if self.by_user else stated_pass)(value)

    def unreadable_values(self, cases: Iterable[EvaluatedCase]) -> list[str]:
        """Values that are neither pass nor failure, to show: one of them makes the meaning of the others doubtful."""
        unreadable = (self.value(case) for case in cases if self.passed(case) is None)
        return list(dict.fromkeys(repr(value)[:40] for value in unreadable if value is not None))


def case_runs(
    cases: Sequence[EvaluatedCase], prefix: str, request: ImportRequest, success_score: SuccessScore
) -> Iterator[RunRecord]:
    """The runs of cases, with repeats numbered. `prefix` is the format; run ids begin with it."""
    for strange in (each for each in request.columns if each not in MAPPABLE_FIELDS):
        raise EvidenceError(f"--map {strange} is not used by {prefix}; it takes {', '.join(MAPPABLE_FIELDS)}.")
    titles = _titles(cases, request)
    runs = (
        _case_run(
            case,
            run_id=stable_id(prefix, case.run_id, case.place),
            task_id=titles[case.checksum, _task_title(case, request.columns)],
            arm=_arm(case, request),
            success_score=success_score,
            columns=request.columns,
        )
        for case in cases
    )
    yield from runs if all(case.repeat for case in cases) else with_repeat_numbers(runs)


def choose_success_score(cases: Sequence[EvaluatedCase], request: ImportRequest, notes: ImportNotes) -> SuccessScore:
    """The score that decides about success: the one that the user names, else the only one that states pass or fail."""
    wanted = request.columns.get("success")
    scorers = list(dict.fromkeys(scorer for case in cases for scorer in case.assessments))
    if wanted is not None:
        return _named_score(wanted, scorers, cases, request)
    plain = [scorer for scorer in scorers if _says_pass(scorer, cases)]
    if len(plain) > 1:
        raise EvidenceError(
            f"{request.path} has several scores that say pass or fail: {', '.join(plain)}. Say which one is the "
            f"success: --map success={plain[0]}."
        )
    if not plain:
        others = f"; {', '.join(scorers)} are kept" if scorers else ""
        example = scorers[0] if scorers else "SCORE"
        notes.warn(
            f"no score says pass or fail, so success is unknown{others}. Where one is 1 for a success and 0 for "
            f"a failure, say --map success={example}; where a success begins at some value, say "
            f"--map 'success={example}>=0.8'."
        )
    return SuccessScore(scorer=next(iter(plain), None), by_user=False)


def _named_score(
    wanted: str, scorers: Sequence[str], cases: Sequence[EvaluatedCase], request: ImportRequest
) -> SuccessScore:
    known = {*scorers, *(column for case in cases for column in case.cells)}
    threshold = None if wanted in known else parse_threshold(wanted)
    scorer = wanted if threshold is None else threshold.column
    if scorer not in known:
        raise EvidenceError(f"{request.path} has no score {scorer!r}; it has {', '.join(scorers) or 'none'}.")
    success_score = SuccessScore(scorer=scorer, by_user=True, threshold=threshold)
    if unreadable := success_score.unreadable_values(cases):
        raise EvidenceError(
            f"{request.path}: {scorer!r} is {quote_names(unreadable)}, which is neither a pass nor a failure; say "
            f"where a success begins, such as --map 'success={scorer}>=0.8', or name another score with "
            f"--map success=SCORE. It has {', '.join(scorers)}."
        )
    return success_score


def _says_pass(scorer: str, cases: Iterable[EvaluatedCase]) -> bool:
    values = [case.assessments[scorer].value for case in cases if scorer in case.assessments]
    known = [value for value in values if value is not None]
    return bool(known) and all(stated_pass(value) is not None for value in known)


def _arm(case: EvaluatedCase, request: ImportRequest) -> str:
    if request.arm is not None:
        return request.arm
    wanted = request.columns.get("arm")
    return stable_id(_cell_name(case, wanted) if wanted is not None else case.arm or case.run_id)


def _titles(cases: Sequence[EvaluatedCase], request: ImportRequest) -> dict[tuple[str, str], str]:
    """A title for every task; tasks with the same title that differ also get a part of their hash."""
    sharing: dict[str, set[str]] = defaultdict(set)
    for case in cases:
        sharing[_task_title(case, request.columns)].add(case.checksum)
    named = {case.task for case in cases}
    return {
        (checksum, title): title
        if len(checksums) == 1 or "task_id" in request.columns or title in named
        else f"{title}#{checksum[:8]}"
        for title, checksums in sharing.items()
        for checksum in checksums
    }


def _task_title(case: EvaluatedCase, columns: Mapping[str, str]) -> str:
    """The column that the user mapped to the task, the source's name for it, or the input in short."""
    wanted = columns.get("task_id")
    if wanted is not None:
        return stable_id(_cell_name(case, wanted))
    if case.task is not None:
        return case.task
    asked = case.inputs
    if asked is None:
        shown = ", ".join(case.cells) or "nothing else"
        raise EvidenceError(
            f"{case.place} has no input, such as a column `inputs` or `request`; say what tells the tasks apart: "
            f"--map task_id=COLUMN. It has {shown}."
        )
    if isinstance(asked, dict) and len(asked) == 1:
        asked = next(iter(asked.values()))
    text = asked if isinstance(asked, str) else msgspec.json.encode(asked, order="deterministic").decode()
    return " ".join(text.split())[:_TITLE_CHARACTERS] or "empty"


def _cell_name(case: EvaluatedCase, column: str) -> str:
    if column not in case.cells:
        raise EvidenceError(f"{case.place} has no column {column!r}; it has {', '.join(case.cells) or 'none'}.")
    try:
        found = read_label(case.cells[column])
    except ValueError:
        found = None
    if found is None:
        raise EvidenceError(f"{case.place} has no name in its column {column!r}.")
    return found


def _case_run(
    case: EvaluatedCase,
    *,
    run_id: str,
    task_id: str,
    arm: str,
    success_score: SuccessScore,
    columns: Mapping[str, str],
) -> RunRecord:
    """The run of a case. A case that ended in an error was not a full attempt; its message says whose error it was."""
    failed = None if case.failure is None else failure_from_text(case.failure, FailureKind.CRASH)
    figures = {field: case.cells.get(columns[field]) for field in FIGURE_FIELDS if field in columns}
    duration, cost = as_amount(figures.get("duration_seconds")), as_amount(figures.get("cost_usd"))
    tokens = {kind: as_count(figures[kind]) for kind in ("input_tokens", "output_tokens") if kind in figures}
    return imported_run(
        run_id=run_id,
        task_id=task_id,
        arm=arm,
        repeat=case.repeat or 1,
        status=Status.COMPLETED if failed is None else failed.kind.status,
        status_detail=None if failed is None else failed.detail[:_DETAIL_CHARACTERS],
        agent=case.agent,
        arm_fingerprint=fingerprint(case.settings) if case.settings else None,
        task_checksum=case.checksum,
        started_at=case.started_at,
        duration_seconds=case.duration_seconds if duration is None else duration,
        usage=msgspec.structs.replace(case.usage, **tokens),
        cost=case.cost if cost is None else reported_cost(cost),
        step_count=case.step_count,
        tool_call_count=case.tool_call_count,
        checks=None if failed is not None else _checks(case, success_score),
        extra=extra_fields(
            {
                "trace_id": case.trace_id,
                "scores": {scorer: each.value for scorer, each in case.assessments.items()} or None,
                **case.kept,
            }
        ),
    )


def _checks(case: EvaluatedCase, success_score: SuccessScore) -> tuple[CheckResult, ...] | None:
    if success_score.scorer is None:
        return None
    assessed = case.assessments.get(success_score.scorer, Assessment(value=None))
    others = [
        outcome_check(stable_id(scorer), stated_pass(each.value), _explain(each), required=False)
        for scorer, each in case.assessments.items()
        if scorer != success_score.scorer and stated_pass(each.value) is not None
    ]
    return (outcome_check(stable_id(success_score.scorer), success_score.passed(case), _explain(assessed)), *others)


def _explain(assessed: Assessment) -> str | None:
    found = assessed.error or assessed.rationale
    return None if found is None else found[:_DETAIL_CHARACTERS]
