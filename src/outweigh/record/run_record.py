"""The stored evidence of one attempt at a trial."""

from datetime import datetime
from enum import StrEnum
from math import isfinite
from typing import Annotated

from msgspec import Meta

from outweigh.record.check_result import CheckResult
from outweigh.record.components import ComponentTokens
from outweigh.record.cost import Cost
from outweigh.record.loaded import Loaded
from outweigh.record.metering import Metering, Reported
from outweigh.record.status import Status
from outweigh.record.stored import Amount, Count, Json, Name, Ordinal, RunId, Stored, require_finite
from outweigh.record.trajectory import AlignedAction, Milestone, Step
from outweigh.record.trial import Trial
from outweigh.record.usage import Usage

Moment = Annotated[datetime, Meta(tz=True)]
Sha256 = Annotated[str, Meta(pattern="^[0-9a-f]{64}$")]


class AgentKind(StrEnum):
    """What stood behind the run; only real agents can earn a promotion."""

    REAL = "real"
    SCRIPTED = "scripted"
    REPLAYED = "replayed"


class AgentIdentity(Stored, frozen=True):
    """Which agent attempted the trial."""

    kind: AgentKind
    name: str | None
    version: str | None
    model: str | None


class RunRecord(Stored, frozen=True, tag_field="schema", tag="outweigh.run/1"):
    """Everything one attempt left behind. What nobody measured is None, never 0.

    `duration_seconds` is the agent's own time; set-up and checks have fields of their own, judging is in the Judgment.
    `checks` is None when they were not evaluated and empty when the task has none.
    `artifacts` are the hashes of what is kept beside the record: transcript, final diff, output of checks.
    `family` names a cluster above the task (a repository, a suite family).
    `usage` and `cost` are the best known; where they were measured between the agent and its model, `metering` says
    how, and `reported` keeps what the agent says. `loaded` is the proof of what the arm had at hand.
    """

    run_id: RunId
    trial: Trial
    attempt: Ordinal
    status: Status
    status_detail: str | None
    agent: AgentIdentity
    arm_fingerprint: str | None
    task_checksum: str | None
    family: str | None
    position: Count | None
    started_at: Moment | None
    duration_seconds: Amount | None
    setup_seconds: Amount | None
    checks_seconds: Amount | None
    usage: Usage
    cost: Cost
    step_count: Count | None
    tool_call_count: Count | None
    check_command_count: Count | None
    checks: tuple[CheckResult, ...] | None
    steps: tuple[Step, ...] | None
    components: tuple[ComponentTokens, ...] | None
    milestones: tuple[Milestone, ...] | None
    actions: tuple[AlignedAction, ...] | None
    metering: Metering | None
    reported: Reported | None
    loaded: Loaded | None
    warnings: tuple[str, ...]
    artifacts: dict[Name, Sha256]
    extra: Json

    def __post_init__(self) -> None:
        """Only finite durations are stored."""
        # Asked inline first: this runs for every record that is read, and a call with names is slow.
        if not (
            isfinite(self.duration_seconds or 0.0)
            and isfinite(self.setup_seconds or 0.0)
            and isfinite(self.checks_seconds or 0.0)
        ):
            require_finite(
                "run",
                duration_seconds=self.duration_seconds,
                setup_seconds=self.setup_seconds,
                checks_seconds=self.checks_seconds,
            )
