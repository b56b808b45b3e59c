"""One run of a skill's evaluation, whatever wrote it down: its assertions are checks, and all must hold."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from outweigh.adapters.importers.identity import fingerprint, stable_id
from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, outcome
from outweigh.record.check_result import CheckResult
from outweigh.record.run_record import RunRecord
from outweigh.record.status import Status
from outweigh.record.usage import NO_USAGE, Usage
from outweigh.transcript.foreign import count, mapping, name, sequence, text


@dataclass(frozen=True, slots=True, kw_only=True)
class SkillRun:
    """`assertions` are graded ones; where only their number is known, `passed` of `total` held."""

    skill: str
    task: str
    arm: str
    repeat: int
    model: str | None
    assertions: Sequence[Mapping[str, Any]] | None
    passed: int | None
    total: int | None
    seconds: float | None
    usage: Usage = NO_USAGE
    tool_calls: int | None = None
    status: Status = Status.COMPLETED
    status_detail: str | None = None
    extra: Mapping[str, Any] = field(default_factory=dict)

    @property
    def asserted(self) -> int | None:
        """How many assertions there were."""
        return self.total if self.assertions is None else len(self.assertions)


def task_name(raw: Mapping[str, Any], fallback: str) -> str:
    """An evaluation by its name, else by its id, else as its place is called."""
    known = name(raw.get("eval_name")) or name(raw.get("name"))
    number = raw.get("eval_id", raw.get("id"))
    if known is None and isinstance(number, int) and not isinstance(number, bool):
        known = f"eval-{number}"
    return known or name(number) or fallback


def graded(raw: object) -> list[dict[str, Any]] | None:
    """Assertions that say whether they held; None where there are none."""
    found = [mapping(each) for each in sequence(raw)]
    return found if found and all(isinstance(each.get("passed"), bool) for each in found) else None


def counted(raw: Mapping[str, Any]) -> tuple[int | None, int | None]:
    """How many held, of how many; both or neither, and only what is possible."""
    passed = count(raw.get("passed", raw.get("assertions_passed")))
    total = count(raw.get("total", raw.get("assertions_total")))
    return (None, None) if passed is None or total is None or passed > total else (passed, total)


def skill_record(run: SkillRun) -> RunRecord:
    """The record of a run. Another number of assertions is another task, so it is part of the checksum."""
    content = fingerprint([run.passed, run.total, run.seconds, list(run.assertions or ()), dict(run.extra)])
    return imported_run(
        run_id=stable_id("skill", run.skill, run.arm, run.task, run.repeat, content[:12]),
        task_id=run.task,
        arm=run.arm,
        repeat=run.repeat,
        status=run.status,
        status_detail=run.status_detail,
        agent=agent(None, None, run.model),
        task_checksum=None if run.asserted is None else fingerprint([run.skill, run.task, run.asserted]),
        duration_seconds=run.seconds,
        usage=run.usage,
        tool_call_count=run.tool_calls,
        checks=_checks(run),
        extra=kept_fields({"skill": run.skill, **run.extra}),
    )


def _checks(run: SkillRun) -> tuple[CheckResult, ...] | None:
    if run.assertions is not None:
        return tuple(_check(number, raw) for number, raw in enumerate(run.assertions, start=1))
    if run.passed is None or run.total is None:
        return None
    if not run.total:
        return ()
    return (
        CheckResult(
            name="assertions",
            required=True,
            passed=run.passed == run.total,
            cases_passed=run.passed,
            cases_total=run.total,
            exit_code=None,
            detail=None,
        ),
    )


def _check(number: int, raw: Mapping[str, Any]) -> CheckResult:
    evidence = text(raw.get("evidence"))
    shown = (name(raw.get("text")) or name(raw.get("name")) or "assertion")[:200]
    return outcome(f"{number} {shown}", raw["passed"], None if evidence is None else evidence[:500])
