"""What the evidence policy can gate on, and how each metric is measured."""

from dataclasses import dataclass
from enum import StrEnum
from math import log1p


class Scale(StrEnum):
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
    scale: Scale
    margin: float
    only_when_named: bool = False

    def on_scale(self, margin: float) -> float:
        """The margin where the test happens: as it is for points, as a log for ratios."""
        return margin if self.scale is Scale.POINTS else log1p(margin)


PASS_RATE = "pass_rate"
JUDGE_SCORE = "judge_score"

GATED = {
    gated.name: gated
    for gated in (
        GatedMetric(name=PASS_RATE, metric="passed", scale=Scale.POINTS, margin=0.05),
        GatedMetric(name="duration", metric="duration_seconds", scale=Scale.RATIO, margin=0.05),
        GatedMetric(name="non_cache_tokens", metric="non_cache_tokens", scale=Scale.RATIO, margin=0.05),
        GatedMetric(name="cost", metric="cost_usd", scale=Scale.RATIO, margin=0.05),
        # What judges say decides only where a suite has nothing better, and says so before it runs.
        GatedMetric(
            name=JUDGE_SCORE, metric="deciding_judge_score", scale=Scale.POINTS, margin=0.05, only_when_named=True
        ),
    )
}
