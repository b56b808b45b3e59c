"""What a policy answers: a decision with its reasons."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum


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
class Gate:
    """A named condition with the two figures it compares."""

    name: str
    state: GateState
    baseline: float | None
    candidate: float | None
    detail: str


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
    settings: Mapping[str, float]
    evidence_sha256: str
