"""What a policy answers: a decision with its gates, regressions and reasons."""

from collections.abc import Callable, Mapping
from enum import StrEnum
from functools import cached_property

from msgspec import Struct


class Decision(StrEnum):
    """*neutral* is evidence of no meaningful change; *inconclusive* is lack of evidence.

    *trade_off* is better on quality by more than chance explains, and costs more beyond the margin; you decide.
    """

    IMPROVED = "improved"
    TRADE_OFF = "trade_off"
    NEUTRAL = "neutral"
    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"

    @property
    def words(self) -> str:
        """As people read it; the value is what the JSON has."""
        return self.value.replace("_", "-")


class GateState(StrEnum):
    """A gate on an unknown is unknown, and unknown never passes.

    A literal rule that compares two numbers *fails*. A test *holds*, shows that the candidate is *worse*, or does not
    show either.
    """

    HOLDS = "holds"
    NOT_SHOWN = "not_shown"
    WORSE = "worse"
    FAILS = "fails"
    UNKNOWN = "unknown"

    @property
    def words(self) -> str:
        """As people read it; the value is what the JSON has."""
        return self.value.replace("_", " ")


class Chances(Struct, frozen=True, kw_only=True):
    """How likely the candidate is better, and how likely it is worse by more than the margin.

    `gain_if_repeated` is how likely an experiment of the same size on other tasks shows a gain, by however little. It
    is nearer to one half, because the other experiment has an error of its own. All are read off the t distribution of
    the effect, as if every effect had been equally likely before. None where the data were not tested by t.
    """

    better: float | None
    worse_beyond_margin: float | None
    gain_if_repeated: float | None


class ArmMeans(Struct, frozen=True, kw_only=True):
    """One figure for each arm; None where it is unknown."""

    baseline: float | None
    candidate: float | None


class TotalEffect(Struct, frozen=True, kw_only=True):
    """The change of a resource's total, the ratio of the arms' means, with the ends of its 90 % interval."""

    effect: float | None
    low: float | None
    high: float | None
    means: ArmMeans
    chances: Chances


class GateEvidence(Struct, frozen=True, kw_only=True):
    """What a tested gate rests on: the effect (points, dollars, or a ratio), the bounds of its tests, their p-values.

    For a resource, `effect` is that of the typical run, the ratio of the arms' geometric means, and `total` that of the
    bill; `tolerance` is what an improvement must be shown to stay below.
    """

    scale: str
    margin: float
    tolerance: float | None
    effect: float | None
    low: float | None
    high: float | None
    geometric_means: ArmMeans | None
    total: TotalEffect | None
    chances: Chances
    tasks: int
    p_values: Mapping[str, float | None]


class Gate(Struct, frozen=True, kw_only=True):
    """A named condition with the two figures it compares; a literal rule has no evidence beyond them."""

    name: str
    state: GateState
    baseline: float | None
    candidate: float | None
    detail: str
    evidence: GateEvidence | None


class RegressionKind(StrEnum):
    """The named reasons that alone forbid promotion."""

    OBJECTIVE_DROP = "objective_drop"
    COMPOSITE_DROP = "composite_drop"
    MISSING_TASK = "missing_task"
    NON_FINITE_SCORE = "non_finite_score"


class Regression(Struct, frozen=True, kw_only=True):
    """One hard regression, on one task."""

    kind: RegressionKind
    task_id: str
    detail: str


class RequiredSample(Struct, frozen=True, kw_only=True):
    """What it would probably take to decide; None where nothing can be said.

    `more_tasks` are enough whether the arms are alike or not, `more_tasks_as_seen` if the effects are what they look
    like now. `in_the_way` is the gate that would most often keep an experiment undecided.
    """

    more_tasks: int | None
    more_tasks_as_seen: int | None
    more_repeats: int | None
    cost_usd: float | None
    in_the_way: str | None
    detail: str


class Sensitivity(Struct, frozen=True, kw_only=True):
    """How easily the decision would have been another one.

    `if_missing_hurt` and `if_missing_helped` have missing values filled in, and estimated ones at their ends.
    """

    missing_runs: int
    estimated_runs: int
    if_missing_hurt: Decision
    if_missing_helped: Decision
    margins: Mapping[str, tuple[float, float]]
    tasks_that_decide: Mapping[str, Decision]


class BreakEven(Struct, frozen=True, kw_only=True):
    """What one more solved task costs, in dollars: the value of a solved task at which both arms are worth the same.

    `low` and `high` are the ends of the 90 % interval; None on both where it is unbounded, because the pass rates may
    be equal.
    """

    usd: float | None
    low: float | None
    high: float | None
    detail: str


class Obstacle(Struct, frozen=True, kw_only=True):
    """What is in the way of a decision: the name of the gate, and a sentence about it."""

    gate: str
    detail: str


class Verdict(Struct, frozen=True, kw_only=True, dict=True):
    """A decision about a candidate. `blockers` are the reasons why even an improvement would not be promoted.

    `evidence_sha256_v1` is the hash by which earlier releases entered the same evidence in a ledger; None where it is
    not known. `policy_version` is the version of the rule that decided. `superiority_p` is the p-value of the gain that
    an improvement rests on; None where nothing was improved, and for rules that test nothing. `alarm_p` is that of the
    alarms that a regression rests on. `measure_sensitivity` decides again many times, which takes longer than the
    decision; it is called when somebody reads `sensitivity`.
    """

    policy: str
    decision: Decision
    seed_wording: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    gates: tuple[Gate, ...]
    regressions: tuple[Regression, ...]
    blockers: tuple[str, ...]
    needs: RequiredSample | None
    settings: Mapping[str, object]
    evidence_sha256: str
    evidence_sha256_v1: str | None = None
    policy_version: int = 1
    superiority_p: float | None = None
    alarm_p: float | None = None
    break_even: BreakEven | None = None
    in_the_way: Obstacle | None = None
    measure_sensitivity: Callable[[], Sensitivity] | None = None

    @property
    def evidence_hashes(self) -> tuple[str, ...]:
        """The hash of its evidence by every version that is known, the one that is shown first."""
        known = (self.evidence_sha256, self.evidence_sha256_v1)
        return tuple(each for each in known if each is not None)

    @cached_property
    def sensitivity(self) -> Sensitivity | None:
        """How easily the decision would have been another one; None where the rule does not say."""
        return None if self.measure_sensitivity is None else self.measure_sensitivity()


class PolicySource(StrEnum):
    """Where the policy with its gates and margins comes from, in the words that people read."""

    DEFAULT = "default"
    SUITE = "suite"
    COMMAND_LINE = "command line"
    SUITE_AND_COMMAND_LINE = "suite and command line"
