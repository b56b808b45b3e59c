"""The stored evidence of one attempt at a trial: coordinates, status, checks, steps and the set-up that was observed.

What nobody measured is None, never 0. The labels that the engine writes into `extra` are defined here too.
"""

import re
from collections.abc import Callable
from enum import StrEnum
from math import isfinite

from msgspec import Struct, ValidationError, convert

from outweigh.model.base import (
    Amount,
    Count,
    Fraction,
    Json,
    Moment,
    Name,
    Ordinal,
    RunId,
    Sha256,
    Stored,
    require_finite,
)
from outweigh.model.failure import Status
from outweigh.model.usage import ComponentTokens, Cost, Metering, ReportedUsage, Usage

REPEAT_LABEL = "repeat_label"
ARBITRARY_REPEAT = "arbitrary"
"""The label in `extra` of a run whose repeat was numbered by an importer; such numbers do not make pairs."""


TrialKey = tuple[str, str, int]
"""Task, arm and repeat: what tells trials apart, whatever their seeds."""


class Trial(Stored, frozen=True):
    """One task, one arm, one repeat. outweigh counts repeats from 1; foreign records may start at 0."""

    task_id: Name
    arm: Name
    repeat: Count
    seed: int | None

    @property
    def key(self) -> TrialKey:
        """The trial without its seed."""
        return self.task_id, self.arm, self.repeat


class CheckResult(Stored, frozen=True, omit_defaults=True):
    """`passed` is None when the check itself could not be evaluated. A check that counts cases states both counts.

    A check of weight 0 is recorded and not scored.
    """

    name: Name
    required: bool
    passed: bool | None
    cases_passed: Count | None
    cases_total: Count | None
    exit_code: int | None
    detail: str | None
    weight: Amount = 1.0

    def __post_init__(self) -> None:
        """Refuse counts that contradict each other or the outcome, and a weight that is no number."""
        if not isfinite(self.weight):
            require_finite("check", weight=self.weight)
        if (self.cases_passed is None) != (self.cases_total is None):
            raise ValueError("a check states both cases_passed and cases_total, or neither")
        if self.cases_passed is None or self.cases_total is None:
            return
        if self.cases_passed > self.cases_total:
            raise ValueError(f"{self.cases_passed} of {self.cases_total} cases passed is impossible")
        if (
            self.cases_total
            and self.passed is not None
            and self.cases_passed == (0 if self.passed else self.cases_total)
        ):
            raise ValueError(
                f"passed is {str(self.passed).lower()}, yet {self.cases_passed} of {self.cases_total} cases passed; "
                "leave the counts null where they do not decide"
            )


class ObservedServer(Stored, frozen=True):
    """A tool server and what became of it, in the agent's own word: connected, failed, pending."""

    name: Name
    state: str


class ObservedSetup(Stored, frozen=True):
    """What was seen to be loaded; None if unknown. `seen_by` names the sources, such as "init event".

    Of sub-agents (`agents`), commands, plugins and hooks, records have those that an arm of the experiment declares.
    Hooks are named by the moment at which they ran.
    """

    skills: tuple[Name, ...] | None
    skills_used: tuple[Name, ...] | None
    mcp_servers: tuple[ObservedServer, ...] | None
    tools: tuple[Name, ...] | None
    memory_files: tuple[str, ...] | None
    seen_by: tuple[Name, ...]
    agents: tuple[Name, ...] | None = None
    commands: tuple[Name, ...] | None = None
    plugins: tuple[Name, ...] | None = None
    hooks: tuple[Name, ...] | None = None


class StepSource(StrEnum):
    """Who spoke in a step."""

    SYSTEM = "system"
    USER = "user"
    AGENT = "agent"


class ToolCall(Stored, frozen=True):
    """One tool invocation; `succeeded` is None where the agent does not say."""

    name: Name
    succeeded: bool | None


class Step(Stored, frozen=True):
    """One turn of the trajectory. Long texts live in artifacts; `message` is a short excerpt."""

    index: Count
    source: StepSource
    message: str | None
    tool_calls: tuple[ToolCall, ...]
    usage: Usage | None
    cost_usd: Amount | None
    duration_seconds: Amount | None

    def __post_init__(self) -> None:
        """Only finite amounts are stored."""
        if not (isfinite(self.cost_usd or 0.0) and isfinite(self.duration_seconds or 0.0)):
            require_finite("step", cost_usd=self.cost_usd, duration_seconds=self.duration_seconds)


class Milestone(Stored, frozen=True):
    """A step the task expects, and whether the trajectory reached it."""

    name: Name
    weight: Amount
    achieved: bool

    def __post_init__(self) -> None:
        """Only finite weights are stored."""
        require_finite("milestone", weight=self.weight)


class AlignedAction(Stored, frozen=True):
    """An action of the agent with how far it served the goal."""

    name: Name
    alignment: Fraction
    weight: Amount

    def __post_init__(self) -> None:
        """Only finite weights are stored."""
        require_finite("action", alignment=self.alignment, weight=self.weight)


class AgentKind(StrEnum):
    """What kind of agent made the run; only runs of real agents can be promoted."""

    REAL = "real"
    SCRIPTED = "scripted"
    REPLAYED = "replayed"


class AgentIdentity(Stored, frozen=True):
    """Which agent attempted the trial."""

    kind: AgentKind
    name: str | None
    version: str | None
    model: str | None


class SimulatedUserUse(Stored, frozen=True):
    """The model that played the user of a run, how often it spoke, and what it took, apart from the agent's own use."""

    model: Name
    messages: Count
    usage: Usage
    cost: Cost


class RunRecord(Stored, frozen=True, tag_field="schema", tag="outweigh.run/1"):
    """The stored result of one attempt. What was not measured is None, never 0.

    `duration_seconds` is the agent's own time; set-up and checks have fields of their own, judging is in the Judgment.
    `checks` is None when they were not evaluated and empty when the task has none.
    `artifacts` are the hashes of what is kept beside the record: transcript, final diff, output of checks.
    `family` names a cluster above the task (a repository, a suite family).
    `usage` and `cost` are the best known; where they were measured between the agent and its model, `metering` says
    how, and `reported` keeps what the agent says. `loaded` is the set-up that was observed.
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
    reported: ReportedUsage | None
    loaded: ObservedSetup | None
    warnings: tuple[str, ...]
    artifacts: dict[Name, Sha256]
    extra: Json
    simulated_user: SimulatedUserUse | None = None

    def __post_init__(self) -> None:
        """Only finite durations are stored."""
        # Checked inline first: this runs for every record that is read, and the call is slow.
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


REUSED_LABEL = "reused"
"""The label of a record that is a copy of one from an earlier experiment."""


LATE_LABEL = "late"
"""The label of a record that came after its attempt had been closed without it: the host that made it was gone. It has
the id that the attempt was closed under, and what was counted for it then."""

HOST_LABEL = "host"
"""The label of a record that a host of a cluster made: its node, kernel and load."""


class LateLabel(Struct, frozen=True, kw_only=True, gc=False):
    """What is known of a late record's attempt: the `run_id` that it was closed under, the dollars that this counted,
    and the status that it had where another attempt had settled the trial.
    """

    run_id: str
    counted_usd: float
    status: str | None = None


def was_paid_here(run: RunRecord) -> bool:
    """Whether the run could have cost anything: not if it failed before the agent started, or was reused.

    Only the engine, whose runs have a position in its plan, is known to record the set-up before it starts the agent.
    """
    if run.cost.usd is None:
        set_up = run.position is None or run.started_at is None or run.setup_seconds is not None
        unmade = run.status is Status.INFRA_ERROR and not set_up
        if unmade or run.status is Status.NOT_RUN:
            return False
    return REUSED_LABEL not in run.extra


def amount_paid(run: RunRecord) -> float | None:
    """The cost of an attempt and its simulated user: 0 where nothing could be charged, None where it is unknown.

    Of a late record, what was not counted when its attempt was closed.
    """
    return _not_counted_before(run, _with_user(run, run.cost.usd, high=False)) if was_paid_here(run) else 0.0


def _not_counted_before(run: RunRecord, usd: float | None) -> float | None:
    if usd is None or (label := run.extra.get(LATE_LABEL)) is None:
        return usd
    try:
        return max(0.0, usd - convert(label, LateLabel).counted_usd)
    except ValidationError:  # a foreign record may use the word for something else
        return usd


def _with_user(run: RunRecord, usd: float | None, *, high: bool) -> float | None:
    if run.simulated_user is None or usd is None:
        return usd
    cost = run.simulated_user.cost
    of_user = cost.high_usd if high and cost.high_usd is not None else cost.usd
    return None if of_user is None else usd + of_user


def most_paid(run: RunRecord) -> float | None:
    """What an attempt may have cost at most, for budgets: the high end of an estimate, else `amount_paid`."""
    if not was_paid_here(run):
        return 0.0
    most = run.cost.usd if run.cost.high_usd is None else run.cost.high_usd
    return _not_counted_before(run, _with_user(run, most, high=True))


DIFF_ARTIFACT = "diff.patch"
TRAJECTORY_ARTIFACT = "trajectory.json"
STDOUT_ARTIFACT = "stdout.txt"
TRANSCRIPT_ARTIFACT = "transcript.txt"
"""Names of the artifacts that checks, judges and pages look for."""

ArtifactReader = Callable[[str], bytes]
"""Reads a stored artifact by its hash; raises EvidenceError where it is missing or damaged."""


def changed_nothing(run: RunRecord) -> bool:
    """Whether a missing diff means that nothing changed: the engine stores no empty artifacts.

    That holds only for the engine's own runs, which alone count the commands of checks.
    """
    return DIFF_ARTIFACT not in run.artifacts and run.check_command_count is not None and run.setup_seconds is not None


TIER_LABEL = "tier"
TIER_NAME_LABEL = "tier_name"
"""The labels under which an importer stores the number and the name of the tier that a run's arm is on."""

STATED_LABEL = "stated"
"""The label under which an importer stores what the source states about a run as a whole (a `StatedResult`)."""


class StatedResult(Struct, frozen=True, gc=False):
    """What the harness that made a run states about it: its score, its grade, whether it passed, and the share of what
    was asked that it implemented.
    """

    score: float | None = None
    grade: str | None = None
    passed: bool | None = None
    implementation_rate: float | None = None


def stated_result(run: RunRecord) -> StatedResult | None:
    """What the source of an imported run states about it; None where it states nothing that can be read."""
    if (label := run.extra.get(STATED_LABEL)) is None:
        return None
    try:
        return convert(label, StatedResult)
    except ValidationError:
        return None


NamedTier = tuple[int, str | None]


_TIER_TEXT = re.compile(r"[Tt]?([0-9]{1,4})")


def named_tier(run: RunRecord) -> NamedTier | None:
    """The number and the name of the tier that a run says its arm is on; None where it does not say.

    A table that was imported may have it as a text, such as `3` or `T3`.
    """
    label, name = run.extra.get(TIER_LABEL), run.extra.get(TIER_NAME_LABEL)
    if isinstance(label, str) and (found := _TIER_TEXT.fullmatch(label.strip())) is not None:
        label = int(found[1])
    if not isinstance(label, int) or isinstance(label, bool) or label < 0:
        return None
    return label, name if isinstance(name, str) and name else None


RULES_LABEL = "rules_sha256"
"""The label under which the engine stores the hash of its store's rules."""

POLICY_VERSION_LABEL = "policy_version"
"""The label under which the engine stores the version of the rule that its store is decided by."""


def named_policy_version(run: RunRecord) -> int | None:
    """The version of the rule that a run was made for; the first one where its store had rules and no version."""
    version = run.extra.get(POLICY_VERSION_LABEL)
    if isinstance(version, int):
        return version
    return 1 if RULES_LABEL in run.extra else None
