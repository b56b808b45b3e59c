"""The page and the JSON of `outweigh doctor`: what is installed, what is missing, and which tasks can show anything."""

from collections.abc import Iterator, Sequence
from enum import StrEnum

from msgspec import Struct
from msgspec.structs import asdict

from outweigh.model.run_record import CheckResult
from outweigh.report.document import BulletList, Report, Table, Tone
from outweigh.report.json_output import Payload

MOST_TASK_NAMES = 5
CheckResults = tuple[CheckResult, ...]


class RunRequirement(Struct, frozen=True, kw_only=True):
    """Something a run may need. `missing` is what is wrong, with the way out; None when nothing is.

    `detail` is what was found; `startup_seconds` is known for sandboxes that could be started.
    """

    kind: str
    name: str
    missing: str | None
    required: bool
    detail: str
    startup_seconds: float | None = None

    @property
    def blocks(self) -> bool:
        """Whether nothing can be run as things are."""
        return self.required and self.missing is not None


class TaskFinding(Struct, frozen=True, kw_only=True):
    """Something to know about a task; a blocking one means that its runs would show nothing."""

    kind: str
    blocking: bool
    message: str


class CheatOutcome(Struct, frozen=True, kw_only=True):
    """What a task's checks made of a cheat: `passes` is None where it had nothing to change, or could not be tried."""

    cheat: str
    summary: str
    remedy: str
    passes: bool | None
    fault: str | None
    checks: CheckResults | None

    @property
    def blocks(self) -> bool:
        """Whether the cheat is not known to fail."""
        return bool(self.passes) or self.fault is not None


class CheckedTask(Struct, frozen=True, kw_only=True):
    """What the checks of a task said without any agent; None where there was nothing to try, or it broke.

    `cheats` is None where none were to be tried.
    """

    task_id: str
    untouched: CheckResults | None
    noop: CheckResults | None
    oracle: CheckResults | None
    remarks: tuple[TaskFinding, ...]
    cheats: tuple[CheatOutcome, ...] | None = None

    @property
    def fit(self) -> bool:
        """Whether its runs can show anything."""
        return not any(remark.blocking for remark in self.remarks)


class LiveEstimate(Struct, frozen=True, kw_only=True):
    """Whom a live check asks, and about how much that costs; `unpriced` are those whose price is not known."""

    asked: tuple[str, ...]
    usd: float
    unpriced: int

    def __str__(self) -> str:
        if not self.asked:
            return "nothing"
        if self.unpriced == len(self.asked):
            return "a few cents (the price of the models is not known)"
        rest = f" and what {self.unpriced} of them cost, whose price is not known" if self.unpriced else ""
        return f"about ${max(self.usd, 0.01):.2f}{rest}"


class DoctorState(StrEnum):
    """How far a suite is: what is free has been checked, and agents and judges have answered."""

    NOT_SET_UP = "not_set_up"
    SET_UP = "set_up"
    NOT_READY = "not_ready"
    READY = "ready"


class DoctorResult(Struct, frozen=True, kw_only=True):
    """Everything `outweigh doctor` looked at; without a suite there are no tasks.

    `live` are the answers of agents and judges, None where they were not asked. `estimate` is what asking costs.
    """

    suite: str | None
    parts: tuple[RunRequirement, ...]
    tasks: tuple[CheckedTask, ...] | None
    live: tuple[RunRequirement, ...] | None = None
    estimate: LiveEstimate | None = None

    @property
    def state(self) -> DoctorState:
        """Ready only after a live check: what is free cannot show that a login works."""
        if self.live is None:
            return DoctorState.NOT_SET_UP if self.blocked else DoctorState.SET_UP
        return DoctorState.NOT_READY if self.blocked else DoctorState.READY

    @property
    def all_parts(self) -> tuple[RunRequirement, ...]:
        """What was checked for free, and after it the answers."""
        return (*self.parts, *(self.live or ()))

    @property
    def blocked(self) -> bool:
        """Whether something must be fixed first."""
        tasks = self.tasks or ()
        cheats = (outcome for task in tasks for outcome in task.cheats or ())
        return (
            any(part.blocks for part in self.all_parts)
            or any(not task.fit for task in tasks)
            or any(outcome.blocks for outcome in cheats)
        )


def doctor_report(examination: DoctorResult) -> Report:
    """The page of `outweigh doctor`."""
    tone = Tone.BAD if examination.blocked else Tone.GOOD
    blocks: list[Table | BulletList] = [_requirement_table(examination.all_parts)]
    if examination.tasks:
        blocks.append(_task_table(examination.tasks))
        blocks.extend(_cheat_table(examination.tasks))
    blocks.extend(_optional_list("To fix", tuple(_blocking_findings(examination)), Tone.BAD))
    blocks.extend(_optional_list("Next", tuple(_live_hint(examination)), Tone.UNSURE))
    blocks.extend(_optional_list("To know", tuple(_other_findings(examination)), Tone.UNSURE))
    return Report(headline=_headline(examination), tone=tone, blocks=tuple(blocks), payload=doctor_payload(examination))


def doctor_payload(examination: DoctorResult) -> Payload:
    """`doctor --format json`."""
    return {
        "schema": "outweigh.doctor/1",
        "suite": examination.suite,
        "blocked": examination.blocked,
        "state": examination.state.value,
        "parts": [asdict(part) for part in examination.all_parts],
        "tasks": None if examination.tasks is None else [_task_payload(task) for task in examination.tasks],
    }


def _task_payload(task: CheckedTask) -> Payload:
    return {
        "task_id": task.task_id,
        "fit": task.fit,
        "untouched": _checks_payload(task.untouched),
        "noop": _checks_payload(task.noop),
        "oracle": _checks_payload(task.oracle),
        "findings": [asdict(remark) for remark in task.remarks],
        "cheats": None if task.cheats is None else [_cheat_payload(outcome) for outcome in task.cheats],
    }


def _cheat_payload(outcome: CheatOutcome) -> Payload:
    return {
        "cheat": outcome.cheat,
        "summary": outcome.summary,
        "passes": outcome.passes,
        "fault": outcome.fault,
        "checks": _checks_payload(outcome.checks),
    }


def _checks_payload(checks: CheckResults | None) -> list[Payload] | None:
    if checks is None:
        return None
    return [
        {"name": check.name, "required": check.required, "passed": check.passed, "detail": check.detail}
        for check in checks
    ]


def _headline(examination: DoctorResult) -> str:
    if examination.blocked:
        count = len(tuple(_blocking_findings(examination)))
        word = "not set up" if examination.live is None else "not ready"
        return f"{word}: {count} {'problem' if count == 1 else 'problems'} to fix"
    if examination.suite is None:
        return "set up; name a suite with -c to try its tasks"
    tried = "" if examination.tasks is None else f": {_count(len(examination.tasks), 'task')} tried"
    if examination.live is None:
        return f"{examination.suite} is set up{tried}"
    answers = f" and {_count(len(examination.live), 'answer')}" if examination.live else ""
    return f"ready to run {examination.suite}{tried}{answers}"


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _live_hint(examination: DoctorResult) -> Iterator[str]:
    """What is left to find out, and what that costs."""
    estimate = examination.estimate
    if estimate is None or examination.live is not None or examination.blocked:
        return
    if not estimate.asked:
        yield "No arm asks a model, and there is no judge: `outweigh doctor --live` costs nothing."
        return
    asked = ", ".join(estimate.asked)
    yield f"No model has been asked yet. `outweigh doctor --live` asks {asked} once each, for {estimate}."


def _requirement_table(parts: Sequence[RunRequirement]) -> Table:
    return Table(
        title="Here",
        columns=("", "state", "found", "start-up"),
        rows=tuple(
            (f"{part.kind} {part.name}".strip(), _requirement_state(part), part.detail, _format_startup(part))
            for part in parts
        ),
    )


def _requirement_state(part: RunRequirement) -> str:
    if part.missing is None:
        return "works"
    return "missing" if part.required else "missing, not needed"


def _format_startup(part: RunRequirement) -> str:
    return "" if part.startup_seconds is None else f"{1000 * part.startup_seconds:.0f} ms"


def _task_table(tasks: Sequence[CheckedTask]) -> Table:
    return Table(
        title="Tasks without an agent: untouched and left alone they must fail, solved they must pass",
        columns=("", "untouched", "noop", "oracle", "fit"),
        rows=tuple(
            (
                task.task_id,
                _check_outcome(task.untouched),
                _check_outcome(task.noop),
                _check_outcome(task.oracle),
                "yes" if task.fit else "no",
            )
            for task in tasks
        ),
    )


def _cheat_table(tasks: Sequence[CheckedTask]) -> Iterator[Table]:
    tried = [(task.task_id, task.cheats) for task in tasks if task.cheats is not None]
    if not tried:
        return
    yield Table(
        title="Cheats on the unsolved workspace: none may pass",
        columns=("", "stopped", "nothing to change", "not tried", "pass"),
        rows=tuple((name, *_cheat_cells(outcomes)) for name, outcomes in tried),
    )


def _cheat_cells(outcomes: Sequence[CheatOutcome]) -> tuple[str, str, str, str]:
    broken = [outcome.cheat for outcome in outcomes if outcome.fault is not None]
    idle = sum(outcome.passes is None and outcome.fault is None for outcome in outcomes)
    stopped = sum(outcome.passes is False for outcome in outcomes)
    passing = [outcome.cheat for outcome in outcomes if outcome.passes]
    return str(stopped), str(idle), ", ".join(broken) or "0", ", ".join(passing) or "none"


def _check_outcome(checks: CheckResults | None) -> str:
    if checks is None:
        return "not tried"
    if not checks:
        return "no checks"
    required = [check.passed for check in checks if check.required]
    word = "passes" if required and all(required) else "fails"
    return f"{word} ({sum(check.passed is True for check in checks)} of {len(checks)})"


def _blocking_findings(examination: DoctorResult) -> Iterator[str]:
    yield from (f"{part.kind} {part.name}: {part.missing}" for part in examination.all_parts if part.blocks)
    for task in examination.tasks or ():
        yield from (f"task {task.task_id}: {remark.message}" for remark in task.remarks if remark.blocking)
        yield from (
            f"task {task.task_id}: {_explain_cheat(outcome)}" for outcome in task.cheats or () if outcome.blocks
        )


def _explain_cheat(outcome: CheatOutcome) -> str:
    if outcome.fault is not None:
        return f"the cheat {outcome.cheat} could not be tried: {outcome.fault}"
    return f"the cheat {outcome.cheat} passes ({outcome.summary}). {outcome.remedy}"


def _other_findings(examination: DoctorResult) -> Iterator[str]:
    """What holds for many tasks is said once: fifty evals without a solution are one thing to know."""
    others = (part for part in examination.all_parts if part.missing is not None and not part.required)
    yield from (f"{part.kind} {part.name}: {part.missing}" for part in others)
    tasks: dict[str, list[str]] = {}
    for task in examination.tasks or ():
        for remark in task.remarks:
            if not remark.blocking:
                tasks.setdefault(remark.message, []).append(task.task_id)
    yield from (f"{_join_tasks(names)}: {message}" for message, names in tasks.items())


def _join_tasks(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - MOST_TASK_NAMES} more" if len(tasks) > MOST_TASK_NAMES else ""
    return f"{'task' if len(tasks) == 1 else 'tasks'} {', '.join(tasks[:MOST_TASK_NAMES])}{more}"


def _optional_list(title: str, items: tuple[str, ...], tone: Tone) -> list[BulletList]:
    return [BulletList(title=title, items=items, tone=tone)] if items else []
