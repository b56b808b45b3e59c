"""How large an effect is, free of units: dominance of task deltas, d_z, and Cliff's delta of separate samples."""

import dataclasses
import math
from dataclasses import dataclass
from enum import StrEnum

import numpy as np

from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.mean import mean_interval, t_estimate
from outweigh.stats.paired_proportion import paired_difference_interval
from outweigh.stats.sample import Sample, Values, as_sample, clear_dust, find_defect
from outweigh.stats.unknown import unknown_estimate

_CLIFF_METHOD = "Cliff's delta, DeLong placement error, t with Satterthwaite df"


class Magnitude(StrEnum):
    """A word for the size of a dominance or of Cliff's delta."""

    NEGLIGIBLE = "negligible"
    SMALL = "small"
    MEDIUM = "medium"
    LARGE = "large"


@dataclass(frozen=True, slots=True, kw_only=True)
class MagnitudeScale:
    """Where small, medium and large begin, and whose convention that is."""

    name: str
    small: float
    medium: float
    large: float


ROMANO = MagnitudeScale(name="Romano", small=0.147, medium=0.33, large=0.474)
SCYLLA = MagnitudeScale(name="ProjectScylla", small=0.11, medium=0.28, large=0.43)


def dominance(deltas: Values, *, level: float, unit: Unit) -> Estimate:
    """P(delta > 0) - P(delta < 0) over tasks, with a score interval."""
    sample = as_sample(deltas)
    n, method = int(sample.size), "dominance, Tango score"
    if defect := find_defect(sample):
        return unknown_estimate(defect, n=n, unit=unit, method=method, point=None)
    signs = np.sign(clear_dust(sample))
    wins, losses = int((signs > 0).sum()), int((signs < 0).sum())
    return dataclasses.replace(paired_difference_interval(wins, losses, n, level=level, unit=unit), method=method)


def standardized_mean(deltas: Values, *, level: float, unit: Unit) -> Estimate:
    """d_z: the mean delta in standard deviations of the deltas, with a large-sample interval."""
    method = "d_z, large-sample error"
    mean = mean_interval(deltas, level=level, unit=unit)
    if mean.point is None or mean.standard_error is None:
        reason = "; ".join(mean.warnings)
        return unknown_estimate(reason, n=mean.n, unit=unit, method=method, point=None)
    point = mean.point / mean.standard_error / math.sqrt(mean.n)
    error = math.sqrt(1 / mean.n + point**2 / (2 * mean.n))
    return t_estimate(point, error, df=mean.n - 1, level=level, n=mean.n, unit=unit, method=method)


def cliff_delta(a: Values, b: Values, *, level: float, unit: Unit) -> Estimate:
    """P(A > B) - P(A < B) over separate samples; O(n log n)."""
    sample_a, sample_b = as_sample(a), as_sample(b)
    n = int(sample_a.size + sample_b.size)
    if defect := find_defect(sample_a, sample_b):
        return unknown_estimate(defect, n=n, unit=unit, method=_CLIFF_METHOD, point=None)
    placements = [_placements(sample_a, sample_b), -_placements(sample_b, sample_a)]
    point = float(placements[0].mean())
    if reason := _cliff_defect(placements):
        return unknown_estimate(reason, n=n, unit=unit, method=_CLIFF_METHOD, point=point)
    parts = np.array([float(placement.var(ddof=1)) / placement.size for placement in placements])
    freedoms = np.array([placement.size - 1 for placement in placements])
    df = float(parts.sum() ** 2 / (parts**2 / freedoms).sum())
    error = math.sqrt(float(parts.sum()))
    return _within_unit(t_estimate(point, error, df=df, level=level, n=n, unit=unit, method=_CLIFF_METHOD))


def magnitude(effect: float, scale: MagnitudeScale) -> Magnitude | None:
    """The word for an effect on a scale; None for NaN, which is no size at all."""
    size = abs(effect)
    if math.isnan(size):
        return None
    words = (Magnitude.SMALL, scale.small), (Magnitude.MEDIUM, scale.medium), (Magnitude.LARGE, scale.large)
    reached = [word for word, threshold in words if size >= threshold]
    return reached[-1] if reached else Magnitude.NEGLIGIBLE


def describe_magnitude(effect: float) -> str:
    """The words of both conventions with their thresholds, because they differ."""
    return "; ".join(
        f"{magnitude(effect, scale) or 'unknown'} ({scale.name}: {scale.small}/{scale.medium}/{scale.large})"
        for scale in (ROMANO, SCYLLA)
    )


def _placements(values: Sample, others: Sample) -> Sample:
    """For each value, the share of the others below it minus the share above it."""
    ordered = np.sort(others)
    below, up_to = np.searchsorted(ordered, values, "left"), np.searchsorted(ordered, values, "right")
    shares: Sample = (below + up_to - others.size) / others.size
    return shares


def _cliff_defect(placements: list[Sample]) -> str | None:
    if min(placement.size for placement in placements) < 2:
        return "need >= 2 values in each sample for an interval"
    if all(placement.max() == placement.min() for placement in placements):
        return "the samples do not overlap or are all tied, so the data do not show how far delta could be off"
    return None


def _within_unit(estimate: Estimate) -> Estimate:
    """Cut the interval at -1 and 1, beyond which no delta can lie."""
    interval = estimate.interval
    if interval is None:
        return estimate
    cut = dataclasses.replace(interval, low=max(-1.0, interval.low), high=min(1.0, interval.high))
    return dataclasses.replace(estimate, interval=cut)
