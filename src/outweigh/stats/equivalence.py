"""Better, not worse, or the same within a margin: one-sided t tests on a mean delta or a mean log ratio."""

import math

from outweigh.stats.alternative import Alternative
from outweigh.stats.estimate import Estimate, Interval, Significance
from outweigh.stats.special import t_cdf, t_sf
from outweigh.stats.unknown import unknown_significance


def one_sided_p(mean: float, se: float, df: float, null: float, direction: Alternative) -> float | None:
    """P-value of `mean` lying beyond `null` in the direction; None when the error is zero or a number is missing."""
    if direction is Alternative.TWO_SIDED:
        raise ValueError("a one-sided test needs a direction")
    statistic = _t_statistic(mean, se, null)
    if statistic is None or not df > 0:
        return None
    return t_sf(statistic, df) if direction is Alternative.GREATER else t_cdf(statistic, df)


def superiority(estimate: Estimate, *, df: float, better: Alternative) -> Significance:
    """Test that the mean lies beyond zero on the better side."""
    return _test_beyond(estimate, df=df, null=0.0, direction=better, method="superiority, one-sided t")


def non_inferiority(estimate: Estimate, *, df: float, margin: float, better: Alternative) -> Significance:
    """Test that the mean is not worse than zero by the margin or more."""
    _require_margin(margin)
    null = -margin if better is Alternative.GREATER else margin
    method = f"non-inferiority, one-sided t, margin {margin:.4g}"
    return _test_beyond(estimate, df=df, null=null, direction=better, method=method)


def non_inferiority_ratio(log_estimate: Estimate, *, df: float, margin: float, better: Alternative) -> Significance:
    """Test on the log scale that a ratio is not worse than 1 by the factor 1 + margin or more."""
    return non_inferiority(log_estimate, df=df, margin=math.log1p(margin), better=better)


def equivalence(estimate: Estimate, *, df: float, margin: float) -> Significance:
    """Two one-sided tests that the mean lies within ± margin; the larger p-value counts."""
    _require_margin(margin)
    method = f"equivalence, two one-sided t, margin {margin:.4g}"
    above = _test_beyond(estimate, df=df, null=-margin, direction=Alternative.GREATER, method=method)
    below = _test_beyond(estimate, df=df, null=margin, direction=Alternative.LESS, method=method)
    if above.p_value is None or below.p_value is None:
        return above
    return max(above, below, key=lambda test: test.p_value or 0.0)


def equivalence_ratio(log_estimate: Estimate, *, df: float, margin: float) -> Significance:
    """Two one-sided tests on the log scale that a ratio lies between 1 / (1 + margin) and 1 + margin."""
    return equivalence(log_estimate, df=df, margin=math.log1p(margin))


def excludes(interval: Interval | None, value: float) -> bool:
    """Whether the interval lies wholly on one side of the value; an unknown interval or a NaN excludes nothing."""
    return interval is not None and (interval.low > value or interval.high < value)


def _test_beyond(estimate: Estimate, *, df: float, null: float, direction: Alternative, method: str) -> Significance:
    mean, error = estimate.point, estimate.standard_error
    p_value = None if mean is None or error is None else one_sided_p(mean, error, df, null, direction)
    if mean is None or error is None or p_value is None:
        reason = "; ".join(estimate.warnings) or "mean, standard error or degrees of freedom are unusable"
        return unknown_significance(reason, n=estimate.n, unit=estimate.unit, method=method)
    return Significance(
        p_value=p_value,
        statistic=_t_statistic(mean, error, null),
        n=estimate.n,
        unit=estimate.unit,
        method=method,
        warnings=estimate.warnings,
    )


def _t_statistic(mean: float, se: float, null: float) -> float | None:
    if not (math.isfinite(mean) and math.isfinite(null) and math.isfinite(se) and se > 0):
        return None
    return (mean - null) / se


def _require_margin(margin: float) -> None:
    if not margin > 0:
        raise ValueError(f"a margin is positive, got {margin}")
