"""What a policy is and what it answers: a decision with its gates, regressions and reasons."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING

from outweigh.errors import UsageError

if TYPE_CHECKING:
    # Loads numpy, which code that only reads a decision does not need.
    from outweigh.compare.comparison import Comparison


class Decision(StrEnum):
    """*neutral* is evidence of no meaningful change; *inconclusive* is lack of evidence."""

    IMPROVED = "improved"
    NEUTRAL = "neutral"
    REGRESSED = "regressed"
    INCONCLUSIVE = "inconclusive"


class GateState(StrEnum):
    """A gate on an unknown is unknown, and unknown never passes."""

    HOLDS = "holds"
    FAILS = "fails"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True, kw_only=True)
class GateEvidence:
    """What a tested gate rests on: the effect (points, or a ratio), the bounds of its tests, and their p-values."""

    scale: str
    margin: float
    effect: float | None
    low: float | None
    high: float | None
    tasks: int
    p_values: Mapping[str, float | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Gate:
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Regression:
    """One hard regression, on one task."""

    kind: RegressionKind
    task_id: str
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class RequiredSample:
    """What it would probably take to decide; None where nothing can be said."""

    more_tasks: int | None
    more_repeats: int | None
    cost_usd: float | None
    detail: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Sensitivity:
    """How easily the decision would have been another one."""

    missing_runs: int
    if_missing_hurt: Decision
    if_missing_helped: Decision
    margins: Mapping[str, tuple[float, float]]
    tasks_that_decide: Mapping[str, Decision]


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """A decision about a candidate. `blockers` are the reasons why even an improvement would not be promoted."""

    policy: str
    decision: Decision
    seed_wording: str
    reasons: tuple[str, ...]
    warnings: tuple[str, ...]
    gates: tuple[Gate, ...]
    regressions: tuple[Regression, ...]
    blockers: tuple[str, ...]
    needs: RequiredSample | None
    sensitivity: Sensitivity | None
    settings: Mapping[str, object]
    evidence_sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyOpinion:
    """What a policy says about two arms, and what kept it from judging, if anything did."""

    decision: Decision
    obstacle: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PolicyArguments:
    """What a suite or a caller sets: gates, margins by name, and over which tasks and looks the error rate holds.

    `planned_tasks` is set where the data are looked at more than once.
    """

    gates: Sequence[str] | None = None
    margins: Mapping[str, float] = field(default_factory=dict)
    fixed_suite: bool = False
    planned_tasks: int | None = None
    seed: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ConfiguredPolicy:
    """A policy whose arguments were checked. `decide` takes every candidate of one baseline together.

    `opinion` is the decision alone, without what only explains it, for the many splits of the self-check.
    """

    name: str
    decide: Callable[[Sequence["Comparison"]], tuple[Verdict, ...]]
    opinion: Callable[["Comparison"], PolicyOpinion]


@dataclass(frozen=True, slots=True, kw_only=True)
class Policy:
    """One rule that decides. `configure` refuses arguments that the policy does not have.

    A policy that `infers` has gates, and its error rate depends on the population and on the number of looks; the
    others compare numbers as they are.
    """

    name: str
    infers: bool
    configure: Callable[[PolicyArguments], ConfiguredPolicy]


def refuse_gates(policy: str, arguments: PolicyArguments) -> None:
    """For policies that compare a fixed list of numbers."""
    if arguments.gates is not None:
        raise UsageError(f"gates belong to policy evidence; policy {policy} decides as the seed wrote it.")
