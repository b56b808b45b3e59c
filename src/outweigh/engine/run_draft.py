"""What is known about an attempt so far, and the `RunRecord` it becomes wherever it breaks off.

Stored text is bounded and free of secrets.
"""

from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime

from msgspec.structs import replace

from outweigh.engine.trial_plan import PlannedRun, run_id_of
from outweigh.model.arm import Arm
from outweigh.model.base import Json
from outweigh.model.failure import Status
from outweigh.model.redact import storable_text
from outweigh.model.run_record import AgentIdentity, AgentKind, CheckResult, Milestone, RunRecord, SimulatedUserUse
from outweigh.model.task import Task
from outweigh.model.trigger_case import trigger_label
from outweigh.model.usage import Metering, ReportedUsage
from outweigh.ports.agents import AttemptOutcome, build_outcome
from outweigh.ports.gateways import MeteredCalls


def storable_check(result: CheckResult, secrets: Collection[str]) -> CheckResult:
    """A check result whose detail can be stored."""
    return replace(result, detail=storable_text(result.detail, secrets))


@dataclass(slots=True, kw_only=True)
class RunDraft:
    """An attempt under way. A `failure` takes precedence over the agent's own outcome.

    `started` says that a command of the agent may have run, and `filled_disk` that its files explain a full disk.
    """

    planned: PlannedRun
    number: int
    task: Task
    arm: Arm
    started_at: datetime | None
    started: bool = False
    filled_disk: bool = False
    setup_seconds: float | None = None
    checks_seconds: float | None = None
    outcome: AttemptOutcome | None = None
    account: MeteredCalls | None = None
    metering: Metering | None = None
    reported: ReportedUsage | None = None
    failure: tuple[Status, str] | None = None
    checks: tuple[CheckResult, ...] | None = None
    artifacts: dict[str, bytes] = field(default_factory=dict)
    labels: Json = field(default_factory=dict)
    simulated_user: SimulatedUserUse | None = None

    @property
    def run_id(self) -> str:
        """The attempt's id."""
        return run_id_of(self.planned.trial, self.number)

    def mark_started(self) -> None:
        """Note that the agent has the workspace: what breaks from now on may be its doing."""
        self.started = True


def build_record(draft: RunDraft, kept: dict[str, str], secrets: Collection[str]) -> RunRecord:
    """The record of the draft; `kept` are the hashes of its artifacts, by name."""
    outcome = draft.outcome or unknown_outcome(draft.arm)
    status, detail = draft.failure or (outcome.status, outcome.status_detail)
    checks = None if draft.checks is None else tuple(storable_check(check, secrets) for check in draft.checks)
    return RunRecord(
        run_id=draft.run_id,
        trial=draft.planned.trial,
        attempt=draft.number,
        status=status,
        status_detail=storable_text(detail, secrets),
        agent=outcome.agent,
        arm_fingerprint=draft.arm.fingerprint,
        task_checksum=draft.task.checksum,
        family=draft.task.family,
        position=draft.planned.position,
        started_at=draft.started_at,
        duration_seconds=outcome.duration_seconds,
        setup_seconds=draft.setup_seconds,
        checks_seconds=draft.checks_seconds,
        usage=outcome.usage,
        cost=outcome.cost,
        step_count=outcome.step_count,
        tool_call_count=outcome.tool_call_count,
        check_command_count=None if checks is None else len(checks),
        checks=checks,
        steps=outcome.steps,
        components=outcome.components,
        milestones=_milestones(draft.task, draft.outcome),
        actions=outcome.actions,
        metering=draft.metering,
        reported=draft.reported,
        loaded=outcome.loaded,
        warnings=tuple(storable_text(warning, secrets) or "" for warning in outcome.warnings),
        artifacts=kept,
        extra={**draft.labels, **({} if draft.task.trigger is None else trigger_label(draft.task.trigger))},
        simulated_user=draft.simulated_user,
    )


def unknown_outcome(arm: Arm) -> AttemptOutcome:
    """The outcome of an attempt that failed before the agent reported anything, even its version."""
    identity = AgentIdentity(kind=AgentKind.REAL, name=arm.agent, version=None, model=arm.model)
    return build_outcome(identity, Status.INFRA_ERROR)


def _milestones(task: Task, outcome: AttemptOutcome | None) -> tuple[Milestone, ...] | None:
    if not task.expected_steps or outcome is None or outcome.reached_steps is None:
        return None  # steps that an agent does not report are unknown, not missed
    reached = outcome.reached_steps
    return tuple(
        Milestone(name=step.name, weight=step.weight, achieved=step.name in reached) for step in task.expected_steps
    )
