"""How often an interval that promises 95 % holds the truth."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.truth import cost_of_pass_ratio, duration_ratio, pass_delta
from calibration.worlds import Draw, World, draw
from outweigh.stats.bootstrap import bootstrap_means, expanded_percentile_interval, percentile_interval
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.means import mean_interval
from outweigh.stats.ratios import geometric_ratio, ratio_of_ratios_interval

LEVEL = 0.95
RESAMPLES = 10_000
EXPANDED = "expanded percentile"
_BLOCK = 100
Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class Coverage:
    """The share of intervals that held the truth, of those that could be computed at all."""

    statistic: str
    method: str
    world: str
    tasks: int
    repeats: int
    intervals: int
    covered: float
    unknown: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Statistic:
    """What is estimated, its truth, and its everyday interval."""

    name: str
    truth: Callable[[World], float]
    estimate: Callable[[Draw], Estimate]


def pass_estimate(experiment: Draw) -> Estimate:
    """Mean of the tasks' deltas of the pass rate."""
    return mean_interval(_pass_deltas(experiment), level=LEVEL, unit=Unit.TASK)


def duration_estimate(experiment: Draw) -> Estimate:
    """Geometric mean of the tasks' ratios of time."""
    before, after = experiment.times
    return geometric_ratio(after.mean(axis=0) - before.mean(axis=0), level=LEVEL, unit=Unit.TASK)


def cost_of_pass_estimate(experiment: Draw) -> Estimate:
    """Dollars per pass, candidate over baseline."""
    cost_after, pass_after, cost_before, pass_before = _costs_and_passes(experiment)
    return ratio_of_ratios_interval(
        numerators_a=cost_after,
        denominators_a=pass_after,
        numerators_b=cost_before,
        denominators_b=pass_before,
        level=LEVEL,
        unit=Unit.TASK,
    )


PASS_DELTA = Statistic(name="pass-rate delta", truth=pass_delta, estimate=pass_estimate)
DURATION_RATIO = Statistic(name="duration ratio", truth=duration_ratio, estimate=duration_estimate)
COST_OF_PASS_RATIO = Statistic(name="cost-of-pass ratio", truth=cost_of_pass_ratio, estimate=cost_of_pass_estimate)
STATISTICS = (PASS_DELTA, DURATION_RATIO, COST_OF_PASS_RATIO)


def t_coverage(world: World, tasks: int, repeats: int, draws: int, seed: int) -> list[Coverage]:
    """Coverage of the t intervals of all three statistics over the same experiments."""
    dice = np.random.default_rng(seed)
    tallies = [Tally(statistic, "t", world) for statistic in STATISTICS]
    for _ in range(draws):
        experiment = draw(world, tasks, repeats, dice)
        for tally in tallies:
            tally.add(tally.statistic.estimate(experiment))
    return [tally.coverage(tasks, repeats) for tally in tallies]


def bootstrap_coverage(world: World, tasks: int, repeats: int, draws: int, seed: int) -> list[Coverage]:
    """Coverage of t and of two bootstrap intervals over the same experiments."""
    dice = np.random.default_rng(seed)
    found = []
    for statistic, resample in ((PASS_DELTA, _resampled_deltas), (COST_OF_PASS_RATIO, _resampled_ratios)):
        usual, plain, expanded = (Tally(statistic, method, world) for method in ("t", "percentile", EXPANDED))
        for start in range(0, draws, _BLOCK):
            experiments = [draw(world, tasks, repeats, dice) for _ in range(min(_BLOCK, draws - start))]
            # Experiments of one block share their resamples, as the metrics of one comparison do.
            for experiment, sample in zip(experiments, resample(experiments, seed + start).T, strict=True):
                estimate = statistic.estimate(experiment)
                point = np.nan if estimate.point is None else estimate.point
                usual.add(estimate)
                plain.add(percentile_interval(sample, point, tasks, LEVEL))
                expanded.add(expanded_percentile_interval(sample, point, tasks, LEVEL))
        found += [tally.coverage(tasks, repeats) for tally in (usual, plain, expanded)]
    return found


class Tally:
    """Counts how often intervals of one kind hold the truth of a world."""

    def __init__(self, statistic: Statistic, method: str, world: World) -> None:
        self.statistic = statistic
        self._method = method
        self._world = world
        self._truth = statistic.truth(world)
        self._estimates = self._intervals = self._hits = 0

    def add(self, estimate: Estimate) -> None:
        """Count one estimate."""
        interval = estimate.interval
        self._estimates += 1
        self._intervals += interval is not None
        self._hits += interval is not None and interval.low <= self._truth <= interval.high

    def coverage(self, tasks: int, repeats: int) -> Coverage:
        """What was counted."""
        return Coverage(
            statistic=self.statistic.name,
            method=self._method,
            world=self._world.name,
            tasks=tasks,
            repeats=repeats,
            intervals=self._intervals,
            covered=self._hits / self._intervals if self._intervals else float("nan"),
            unknown=1 - self._intervals / self._estimates,
        )


def _pass_deltas(experiment: Draw) -> Floats:
    before, after = experiment.passes
    deltas: Floats = after.mean(axis=0) - before.mean(axis=0)
    return deltas


def _costs_and_passes(experiment: Draw) -> tuple[Floats, Floats, Floats, Floats]:
    (cost_before, cost_after), (pass_before, pass_after) = experiment.costs, experiment.passes
    return (
        np.exp(cost_after).mean(axis=0),
        pass_after.mean(axis=0),
        np.exp(cost_before).mean(axis=0),
        pass_before.mean(axis=0),
    )


def _resampled_deltas(experiments: list[Draw], seed: int) -> Floats:
    """Resampled means of the deltas, resamples × experiments."""
    return bootstrap_means(np.column_stack([_pass_deltas(each) for each in experiments]), RESAMPLES, seed)


def _resampled_ratios(experiments: list[Draw], seed: int) -> Floats:
    """Resampled ratios of cost of pass, resamples × experiments; never a pass is a NaN or an infinity."""
    columns = np.column_stack([column for each in experiments for column in _costs_and_passes(each)])
    means = bootstrap_means(columns, RESAMPLES, seed).reshape(RESAMPLES, len(experiments), 4)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratios: Floats = means[..., 0] / means[..., 1] * means[..., 3] / means[..., 2]
    return ratios
