"""Settings of the evidence policy: what it can gate on, its error rates, gates and margins. Stored with every
verdict.

Needs no numpy: commands read it to check options.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from enum import StrEnum
from math import isfinite, log1p

from outweigh.errors import UsageError


class EffectScale(StrEnum):
    """How two arms differ: by points of a rate, or by a ratio."""

    POINTS = "points"
    RATIO = "ratio"


@dataclass(frozen=True, slots=True, kw_only=True)
class GatedMetric:
    """A gate's metric. `margin` is in points of a rate (0.05 is five points) or as a relative change (0.05 is 5 %).

    One that is `only_when_named` is no gate unless somebody asks for it.
    """

    name: str
    metric: str
    scale: EffectScale
    margin: float
    only_when_named: bool = False

    def on_scale(self, margin: float) -> float:
        """The margin where the test happens: as it is for points, as a log for ratios."""
        return margin if self.scale is EffectScale.POINTS else log1p(margin)


PASS_RATE = "pass_rate"
JUDGE_SCORE = "judge_score"

GATED_METRICS = {
    gated.name: gated
    for gated in (
        GatedMetric(name=PASS_RATE, metric="passed", scale=EffectScale.POINTS, margin=0.05),
        GatedMetric(name="duration", metric="duration_seconds", scale=EffectScale.RATIO, margin=0.05),
        GatedMetric(name="non_cache_tokens", metric="non_cache_tokens", scale=EffectScale.RATIO, margin=0.05),
        GatedMetric(name="cost", metric="cost_usd", scale=EffectScale.RATIO, margin=0.05),
        # What judges say decides only where a suite has nothing better, and says so before it runs.
        GatedMetric(
            name=JUDGE_SCORE, metric="deciding_judge_score", scale=EffectScale.POINTS, margin=0.05, only_when_named=True
        ),
    )
}


MINIMUM_TASKS = 6
UNPAIRED_TOLERANCE = 0.05
UNKNOWN_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRates:
    """How often each kind of mistake may happen, all one-sided.

    The alarms add up to 8 % at the very worst. Resources are only overspent beyond a margin and single tasks are
    tested exactly, so identical arms are called regressed less often; docs/calibration.md has the measured rates.
    """

    non_inferiority: float
    superiority: float
    pass_rate_alarm: float
    resource_alarm: float
    task_alarm: float


ERROR_RATES = ErrorRates(
    non_inferiority=0.05, superiority=0.02, pass_rate_alarm=0.05, resource_alarm=0.02, task_alarm=0.01
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSettings:
    """Which gates, with which margins, over which population. `planned_tasks` is set for a sequential verdict."""

    gates: tuple[str, ...] | None
    margins: Mapping[str, float]
    fixed_suite: bool
    planned_tasks: int | None
    seed: int

    def margin(self, gate: str) -> float:
        """The margin of a gate: the user's own or the default."""
        return self.margins.get(gate, GATED_METRICS[gate].margin)


def evidence_settings(
    *,
    gates: Sequence[str] | None = None,
    margins: Mapping[str, float] | None = None,
    fixed_suite: bool = False,
    planned_tasks: int | None = None,
    seed: int = 0,
) -> EvidenceSettings:
    """Check what the user asked for. No gates means the default: all, cost only where an arm knows it."""
    for name in (*(gates or ()), *(margins or {})):
        if name not in GATED_METRICS:
            near = get_close_matches(name, GATED_METRICS, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"policy evidence has no gate {name!r}; it has {', '.join(GATED_METRICS)}.{hint}")
    for name, margin in (margins or {}).items():
        if not isfinite(margin) or not 0 < margin < 1:
            raise UsageError(f"margin {name} must lie between 0 and 1 (0.05 is five points, or 5 %), not {margin}.")
    if fixed_suite and planned_tasks is not None:
        raise UsageError("--sequential counts tasks and --infer runs counts runs of fixed tasks; use one of them.")
    if foreign := [name for name in margins or {} if gates is not None and name not in gates]:
        raise UsageError(f"margin {foreign[0]} belongs to a gate that is left out; name the gate too, or drop it.")
    if gates is not None and len(set(gates)) < len(gates):
        raise UsageError("a gate is named twice.")
    return EvidenceSettings(
        gates=None if gates is None else tuple(gates),
        margins=dict(margins or {}),
        fixed_suite=fixed_suite,
        planned_tasks=planned_tasks,
        seed=seed,
    )
