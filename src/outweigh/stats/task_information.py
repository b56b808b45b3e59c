"""What the tasks of a suite tell about arms: how far their outcomes are open, and how they move when arms get better.

A verdict compares the mean of task deltas with their scatter. A task helps it by its *gain*, how many points its pass
rate moves when arms are one point better on the whole suite, and disturbs it by its *pass variance*, which every
delta carries. A subset S of the tasks therefore keeps

    (sum of gains over S / sqrt(sum of variances over S)) / (the same over all tasks)

of the t statistic. Both figures are estimates from few runs, so both are shrunk to what the other tasks are like.
"""

from collections.abc import Sequence
from math import sqrt

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

Values = NDArray[np.float64]
Counts = NDArray[np.intp]

LEAST_CORRELATION, MOST_CORRELATION = 0.05, 0.95
"""Limits of how alike two runs of one task are, where few tasks leave that open."""

LEAST_RELIABILITY = 0.5
"""Which arms are better must be known at least so well before a task is said to follow them or not."""

LEAST_EXCESS = 0.5
"""Residuals are taken for at least this part of the noise of runs, however well so few of them fit."""

ROUNDS = 20
"""More than enough for the scatter of slopes to settle."""


class TaskInformation(Struct, frozen=True, kw_only=True):
    """Figures by task, in the order of the rows that they were estimated from.

    `variance` is the expected p (1 - p) of a run. `gain` is on average about 1, and below 0 where better arms do worse.
    `slope` is the same without shrinkage, NaN where arms are not told apart; `slope_error` is its standard error.
    """

    variance: Values
    gain: Values
    slope: Values
    slope_error: Values

    @property
    def shares(self) -> Values:
        """The part of the suite's information that each task has: gain² / variance, 0 where better arms do worse."""
        useful = (self.gain > 0) & (self.variance > 0)
        each = np.zeros(len(self.gain))
        each[useful] = self.gain[useful] ** 2 / self.variance[useful]
        total = each.sum()
        return each / total if total > 0 else each


def estimate_information(passes: Counts, runs: Counts, strata: Sequence[str | None] = ()) -> TaskInformation:
    """From the passes and the runs of every task (row) and arm (column); every task has a run, not every arm of it.

    `strata` are the families of the tasks: where families differ, few runs of a task count beside those of its family.
    """
    variance = expected_variance(passes.sum(axis=1), runs.sum(axis=1), strata)
    mean = float(variance.mean())
    usual = variance / mean if mean > 0 else np.zeros(len(variance))
    slope, error, excess = _slopes(passes, runs, variance)
    # Two arms leave nothing to see how far slopes scatter beyond the noise of runs.
    several = (runs > 0).sum(axis=1) > 2
    gain = _shrink(np.where(several, slope, np.nan), error * sqrt(max(LEAST_EXCESS, excess)), usual)
    return TaskInformation(variance=variance, gain=gain, slope=slope, slope_error=error * sqrt(max(1.0, excess)))


def expected_variance(passes: Counts, runs: Counts, strata: Sequence[str | None] = ()) -> Values:
    """The posterior mean of p (1 - p) for every task, under beta priors that are fitted to all tasks by moments.

    Their means are those of the families, as far as these differ beyond chance.
    """
    rates = passes / runs
    if not 0 < float(rates.mean()) < 1:
        return np.zeros(len(rates))
    mean = usual_rates(rates, strata)
    per_run = float(np.mean(1 / runs))
    scatter = (
        float(((rates - mean) ** 2).sum() / (mean * (1 - mean)).mean()) / (len(rates) - 1) if len(rates) > 1 else 1.0
    )
    alike = (scatter - per_run) / (1 - per_run) if per_run < 1 else (LEAST_CORRELATION + MOST_CORRELATION) / 2
    strength = 1 / min(max(alike, LEAST_CORRELATION), MOST_CORRELATION) - 1
    first, second = mean * strength + passes, (1 - mean) * strength + runs - passes
    total = first + second
    expected: Values = first * second / (total * (total + 1))
    return expected


def usual_rates(rates: Values, strata: Sequence[str | None]) -> Values:
    """The mean rate of each task's family, drawn to the mean of all tasks by the components of variance (one-way)."""
    overall = float(rates.mean())
    usual = np.full(len(rates), overall)
    names = np.array(["" if name is None else f"={name}" for name in strata])
    groups = [np.flatnonzero(names == name) for name in np.unique(names) if name]
    sizes = np.array([len(group) for group in groups])
    total = int(sizes.sum())
    if len(groups) < 2 or total <= len(groups):
        return usual
    means = np.array([rates[group].mean() for group in groups])
    within = sum(float(((rates[group] - rates[group].mean()) ** 2).sum()) for group in groups) / (total - len(groups))
    centre = float((sizes * means).sum()) / total
    beyond = float((sizes * (means - centre) ** 2).sum()) - (len(groups) - 1) * within
    between = max(0.0, beyond / (total - float((sizes**2).sum()) / total))
    if between == 0:
        return usual
    for group, own in zip(groups, means, strict=True):
        weight = between / (between + within / len(group))
        usual[group] = overall + weight * (own - overall)
    # A family that always passed so far is not certain to.
    least = 1 / (4 * len(rates))
    clipped: Values = np.clip(usual, least, 1 - least)
    return clipped


def _slopes(passes: Counts, runs: Counts, variance: Values) -> tuple[Values, Values, float]:
    """The regression of each task's pass rates on what the same arms reach on the other tasks, its error, the excess.

    The error is that of the runs. The excess is how many times the residuals of all tasks together have the variance
    that runs explain: more where arms are good at some tasks and not at others, less where much of the pass variance is
    between arms and so on the line.
    """
    known = runs > 0
    rates = np.divide(passes, runs, out=np.zeros(runs.shape), where=known)
    others = np.maximum(known.sum(axis=0) - known, 1)
    level = (rates.sum(axis=0) - rates) / others
    arms = known.sum(axis=1)
    centred, moved = _centre(level, known, arms), _centre(rates, known, arms)
    spread = (centred**2).sum(axis=1)
    told_apart = level_reliability(passes, runs, variance) >= LEAST_RELIABILITY
    usable = (arms > 1) & (spread > np.finfo(float).eps) & told_apart
    slope = np.full(len(arms), np.nan)
    np.divide((centred * moved).sum(axis=1), spread, out=slope, where=usable)
    per_run = np.divide(1.0, runs, out=np.zeros(runs.shape), where=known)
    residual = ((moved - np.nan_to_num(slope)[:, None] * centred) ** 2).sum(axis=1)
    free = np.where(usable, arms - 2, 0)
    expected = float((variance * per_run.sum(axis=1) * free / np.maximum(arms, 1)).sum())
    excess = float(residual[free > 0].sum()) / expected if expected > 0 else 1.0
    error = np.full(len(arms), np.nan)
    noise = variance * (centred**2 * per_run).sum(axis=1)
    np.divide(np.sqrt(noise), spread, out=error, where=usable)
    return slope, error, excess


def level_reliability(passes: Counts, runs: Counts, variance: Values) -> float:
    """The part of the variance between the arms' mean pass rates that is not noise of runs; 0 without two arms."""
    known = runs > 0
    tasks = np.maximum(known.sum(axis=0), 1)
    rates = np.divide(passes, runs, out=np.zeros(runs.shape), where=known)
    noise = (np.divide(variance[:, None], runs, out=np.zeros(runs.shape), where=known)).sum(axis=0) / tasks**2
    levels = (rates.sum(axis=0) / tasks)[known.any(axis=0)]
    observed = float(levels.var(ddof=1)) if len(levels) > 1 else 0.0
    return max(0.0, 1 - float(noise[known.any(axis=0)].mean()) / observed) if observed > 0 else 0.0


def _centre(values: Values, known: NDArray[np.bool_], arms: Counts) -> Values:
    mean = (values * known).sum(axis=1) / np.maximum(arms, 1)
    centred: Values = np.where(known, values - mean[:, None], 0.0)
    return centred


def _shrink(slope: Values, error: Values, usual: Values) -> Values:
    """Each slope, drawn to what a task of its variance usually has, as far as error explains how far it is off.

    Slopes scatter in proportion to what is usual: a task that is nearly always passed cannot follow arms by much. The
    scatter is the one that makes the deviations, weighted by how well they are known, as large as they are (moments).
    """
    known = np.isfinite(slope) & (error > 0) & (usual > 0)
    if not known.any():
        return usual
    off = (slope[known] - usual[known]) / usual[known]
    noise = (error[known] / usual[known]) ** 2
    scatter = 0.0
    for _ in range(ROUNDS):
        weight = 1 / (scatter + noise) ** 2
        scatter = max(0.0, float((weight * (off**2 - noise)).sum() / weight.sum()))
    gain: Values = usual.copy()
    gain[known] *= 1 + scatter / (scatter + noise) * off
    return gain


def kept_share(information: TaskInformation, chosen: Counts) -> float:
    """The part of the whole suite's t statistic that these tasks are expected to keep."""
    gain, variance = information.gain, information.variance
    every = gain.sum() / np.sqrt(variance.sum())
    return float(gain[chosen].sum() / np.sqrt(variance[chosen].sum()) / every)
