"""What works here, and which tasks can show anything."""

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass

from outweigh.record.check_result import CheckResult
from outweigh.report.document import Bullets, Report, Table, Tone
from outweigh.report.payload import Payload

SHOWN_TASKS = 5
Checked = tuple[CheckResult, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Remark:
    """Something to know about a task; a blocking one means that its runs would show nothing."""

    kind: str
    blocking: bool
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class TriedTask:
    """What the checks of a task said without any agent; None where there was nothing to try, or it broke."""

    task_id: str
    untouched: Checked | None
    noop: Checked | None
    oracle: Checked | None
    remarks: tuple[Remark, ...]

    @property
    def fit(self) -> bool:
        """Whether its runs can show anything."""
        return not any(remark.blocking for remark in self.remarks)


@dataclass(frozen=True, slots=True, kw_only=True)
class Examination:
    """Everything `outweigh doctor` looked at; without a suite there are no tasks."""

    suite: str | None
    parts: tuple[Part, ...]
    tasks: tuple[TriedTask, ...] | None

    @property
    def blocked(self) -> bool:
        """Whether something must be mended first."""
        return any(part.blocks for part in self.parts) or any(not task.fit for task in self.tasks or ())


def doctor_report(examination: Examination) -> Report:
    """The page of `outweigh doctor`."""
    tone = Tone.BAD if examination.blocked else Tone.GOOD
    blocks: list[Table | Bullets] = [_parts(examination.parts)]
    if examination.tasks:
        blocks.append(_tasks(examination.tasks))
    blocks.extend(_bullets("To mend", tuple(_to_mend(examination)), Tone.BAD))
    blocks.extend(_bullets("To know", tuple(_to_know(examination)), Tone.UNSURE))
    return Report(headline=_headline(examination), tone=tone, blocks=tuple(blocks), payload=doctor_payload(examination))


def doctor_payload(examination: Examination) -> Payload:
    """`doctor --format json`."""
    return {
        "schema": "outweigh.doctor/1",
        "suite": examination.suite,
        "blocked": examination.blocked,
        "parts": [asdict(part) for part in examination.parts],
        "tasks": None if examination.tasks is None else [_task(task) for task in examination.tasks],
    }


def _task(task: TriedTask) -> Payload:
    return {
        "task_id": task.task_id,
        "fit": task.fit,
        "untouched": _checks(task.untouched),
        "noop": _checks(task.noop),
        "oracle": _checks(task.oracle),
        "findings": [asdict(remark) for remark in task.remarks],
    }


def _checks(checks: Checked | None) -> list[Payload] | None:
    if checks is None:
        return None
    return [
        {"name": check.name, "required": check.required, "passed": check.passed, "detail": check.detail}
        for check in checks
    ]


def _headline(examination: Examination) -> str:
    if examination.blocked:
        return f"not ready: {len(tuple(_to_mend(examination)))} to mend"
    if examination.suite is None:
        return "ready; name a suite with -c to try its tasks"
    tried = "" if examination.tasks is None else f": {len(examination.tasks)} tasks tried"
    return f"ready to run {examination.suite}{tried}"


def _parts(parts: Sequence[Part]) -> Table:
    return Table(
        title="Here",
        columns=("", "state", "found", "start-up"),
        rows=tuple((f"{part.kind} {part.name}".strip(), _state(part), part.detail, _startup(part)) for part in parts),
    )


def _state(part: Part) -> str:
    if part.missing is None:
        return "works"
    return "missing" if part.required else "missing, not needed"


def _startup(part: Part) -> str:
    return "" if part.startup_seconds is None else f"{1000 * part.startup_seconds:.0f} ms"


def _tasks(tasks: Sequence[TriedTask]) -> Table:
    return Table(
        title="Tasks without an agent: untouched and left alone they must fail, solved they must pass",
        columns=("", "untouched", "noop", "oracle", "fit"),
        rows=tuple(
            (
                task.task_id,
                _outcome(task.untouched),
                _outcome(task.noop),
                _outcome(task.oracle),
                "yes" if task.fit else "no",
            )
            for task in tasks
        ),
    )


def _outcome(checks: Checked | None) -> str:
    if checks is None:
        return "not tried"
    if not checks:
        return "no checks"
    required = [check.passed for check in checks if check.required]
    word = "passes" if required and all(required) else "fails"
    return f"{word} ({sum(check.passed is True for check in checks)} of {len(checks)})"


def _to_mend(examination: Examination) -> Iterator[str]:
    yield from (f"{part.kind} {part.name}: {part.missing}" for part in examination.parts if part.blocks)
    for task in examination.tasks or ():
        yield from (f"task {task.task_id}: {remark.message}" for remark in task.remarks if remark.blocking)


def _to_know(examination: Examination) -> Iterator[str]:
    """What holds for many tasks is said once: fifty evals without a solution are one thing to know."""
    others = (part for part in examination.parts if part.missing is not None and not part.required)
    yield from (f"{part.kind} {part.name}: {part.missing}" for part in others)
    tasks: dict[str, list[str]] = {}
    for task in examination.tasks or ():
        for remark in task.remarks:
            if not remark.blocking:
                tasks.setdefault(remark.message, []).append(task.task_id)
    yield from (f"{_named(names)}: {message}" for message, names in tasks.items())


def _named(tasks: Sequence[str]) -> str:
    more = f" and {len(tasks) - SHOWN_TASKS} more" if len(tasks) > SHOWN_TASKS else ""
    return f"{'task' if len(tasks) == 1 else 'tasks'} {', '.join(tasks[:SHOWN_TASKS])}{more}"


def _bullets(title: str, items: tuple[str, ...], tone: Tone) -> list[Bullets]:
    return [Bullets(title=title, items=items, tone=tone)] if items else []
