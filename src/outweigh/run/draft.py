"""What is known about an attempt so far, and the record that it becomes, wherever it breaks off."""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from outweigh.ports.agents import AttemptOutcome
from outweigh.record.check_result import CheckResult
from outweigh.record.cost import UNKNOWN_COST
from outweigh.record.metering import Metering, Reported
from outweigh.record.rules import RULES_LABEL
from outweigh.record.run_record import AgentIdentity, AgentKind, RunRecord
from outweigh.record.status import Status
from outweigh.record.trajectory import Milestone
from outweigh.record.usage import NO_USAGE
from outweigh.run.plan import PlannedRun
from outweigh.run.redaction import storable, storable_check
from outweigh.task.arm import Arm
from outweigh.task.task import Task
from outweigh.transcript.model_call import Account


@dataclass(slots=True, kw_only=True)
class Draft:
    """An attempt under way. `failure` outranks what the agent said: it went wrong around it."""

    planned: PlannedRun
    number: int
    task: Task
    arm: Arm
    started_at: datetime | None
    setup_seconds: float | None = None
    checks_seconds: float | None = None
    outcome: AttemptOutcome | None = None
    account: Account | None = None
    metering: Metering | None = None
    reported: Reported | None = None
    failure: tuple[Status, str] | None = None
    checks: tuple[CheckResult, ...] | None = None
    artifacts: dict[str, bytes] = field(default_factory=dict)
    rules_sha256: str | None = None

    @property
    def run_id(self) -> str:
        """The name of an attempt: readable, and unique within a store."""
        trial = self.planned.trial
        return f"{trial.task_id}/{trial.arm}/{trial.repeat}#{self.number}"


def record_of(draft: Draft, kept: dict[str, str], secrets: Collection[str]) -> RunRecord:
    """The draft as evidence; `kept` are the hashes of its artifacts."""
    said = draft.outcome or nothing_said(draft.arm)
    status, detail = draft.failure or (said.status, said.status_detail)
    checks = None if draft.checks is None else tuple(storable_check(check, secrets) for check in draft.checks)
    return RunRecord(
        run_id=draft.run_id,
        trial=draft.planned.trial,
        attempt=draft.number,
        status=status,
        status_detail=storable(detail, secrets),
        agent=said.agent,
        arm_fingerprint=draft.arm.fingerprint,
        task_checksum=draft.task.checksum,
        family=draft.task.family,
        position=draft.planned.position,
        started_at=draft.started_at,
        duration_seconds=said.duration_seconds,
        setup_seconds=draft.setup_seconds,
        checks_seconds=draft.checks_seconds,
        usage=said.usage,
        cost=said.cost,
        step_count=said.step_count,
        tool_call_count=said.tool_call_count,
        check_command_count=None if checks is None else len(checks),
        checks=checks,
        steps=said.steps,
        components=said.components,
        milestones=_milestones(draft.task, draft.outcome),
        actions=said.actions,
        metering=draft.metering,
        reported=draft.reported,
        loaded=said.loaded,
        warnings=tuple(storable(warning, secrets) or "" for warning in said.warnings),
        artifacts=kept,
        extra={} if draft.rules_sha256 is None else {RULES_LABEL: draft.rules_sha256},
    )


def nothing_said(arm: Arm) -> AttemptOutcome:
    """The attempt broke before the agent could say anything, not even who it is."""
    return AttemptOutcome(
        status=Status.INFRA_ERROR,
        status_detail=None,
        agent=AgentIdentity(kind=AgentKind.REAL, name=arm.agent, version=None, model=arm.model),
        duration_seconds=None,
        usage=NO_USAGE,
        cost=UNKNOWN_COST,
        step_count=None,
        tool_call_count=None,
        steps=None,
        components=None,
        actions=None,
        reached_steps=None,
        failure=None,
        retry_after_seconds=None,
        request_count=None,
        loaded=None,
        warnings=(),
        artifacts={},
    )


def _milestones(task: Task, outcome: AttemptOutcome | None) -> tuple[Milestone, ...] | None:
    if not task.expected_steps or outcome is None or outcome.reached_steps is None:
        return None  # an agent that tells nothing about its steps has not missed them
    reached = outcome.reached_steps
    return tuple(
        Milestone(name=step.name, weight=step.weight, achieved=step.name in reached) for step in task.expected_steps
    )
