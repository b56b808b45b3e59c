"""How the runs of a task scatter: what passing changes, how much tasks differ in scatter, and in what shape."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from outweigh.stats.variance import TaskMoments, summarize_runs
from outweigh.verdict.evidence_settings import GATED_METRICS, PASS_RATE, EffectScale

Values = NDArray[np.float64]

SLOPE_PRIOR = 1.0
"""Weight of the guess that passing makes no difference, in runs of which half pass, times a quarter."""
LEAST_SHARE_OF_VARIANCE = 0.001
"""A task whose runs hardly differ counts as if they had this share of the usual variance."""
MOST_UNEVEN = 1.0
FEWEST_FOR_UNEVEN = 5


class PilotRuns(Struct, frozen=True, kw_only=True, eq=False):
    """Runs that know every gate, of tasks that both arms ran; baseline first.

    `values` are runs × gates: passes as 0 and 1, scores as they are, resources as logs. `owners` are the places of
    the runs' tasks.
    """

    gates: tuple[str, ...]
    values: tuple[Values, Values]
    owners: tuple[NDArray[np.intp], NDArray[np.intp]]
    tasks: int

    def moments(self, place: int) -> tuple[TaskMoments, TaskMoments]:
        """Each task's runs on one gate, by arm."""
        before, after = (
            summarize_runs(values[:, place], owners, self.tasks)
            for values, owners in zip(self.values, self.owners, strict=True)
        )
        return before, after


class RunScatter(Struct, frozen=True, kw_only=True, eq=False):
    """How a single run differs from its task, by gate; the pass rate's own entries are not used.

    A run that passes differs by `passing` from one that fails. What is left has the deviation of its arm
    (`deviations`, arms × gates), times a factor of the task whose logarithm has the deviation `uneven`, times a whole
    row of the arm's `residuals` (runs × gates), which keeps the correlation between gates.
    """

    passing: Values
    deviations: Values
    uneven: Values
    residuals: tuple[NDArray[np.float32], NDArray[np.float32]]

    def alike(self) -> "RunScatter":
        """The same for both arms, as both together are."""
        both = np.concatenate(self.residuals)
        deviation = np.sqrt((self.deviations**2).mean(axis=0))
        return RunScatter(
            passing=self.passing,
            deviations=np.stack([deviation, deviation]),
            uneven=self.uneven,
            residuals=(both, both),
        )


def fit_scatter(pilot: PilotRuns) -> RunScatter:
    """Estimate the scatter of a pilot whose tasks were run more than once."""
    passing = _passing_slopes(pilot)
    rest = _without_passing(pilot, passing)
    moments = [rest.moments(place) for place in range(len(pilot.gates))]
    uneven, factors = _uneven(pilot.gates, moments)
    deviations = [[_run_deviation(arm) for arm in arms] for arms in moments]
    residuals = _residuals(rest, moments, factors)
    return RunScatter(
        passing=passing, deviations=np.array(deviations).T, uneven=uneven, residuals=(residuals[0], residuals[1])
    )


def no_scatter(gates: int) -> RunScatter:
    """Where tasks were run once: their runs are what varies between tasks."""
    nothing = np.zeros((1, gates), dtype=np.float32)
    return RunScatter(
        passing=np.zeros(gates),
        deviations=np.zeros((2, gates)),
        uneven=np.zeros(gates),
        residuals=(nothing, nothing),
    )


def _run_deviation(arm: TaskMoments) -> float:
    return float(np.sqrt(arm.variances[arm.counts > 1].mean()))


def _passing_slopes(pilot: PilotRuns) -> Values:
    """By how much runs that pass differ from runs of the same task and arm that fail, drawn towards 0."""
    gates = len(pilot.gates)
    if PASS_RATE not in pilot.gates:
        return np.zeros(gates)
    place = pilot.gates.index(PASS_RATE)
    products, squares = np.zeros(gates), SLOPE_PRIOR
    for values, owners in zip(pilot.values, pilot.owners, strict=True):
        within = values - _task_means(values, owners, pilot.tasks)[owners]
        products += within[:, place] @ within
        squares += float(within[:, place] @ within[:, place])
    slopes: Values = products / squares
    slopes[place] = 0.0
    return slopes


def _task_means(values: Values, owners: NDArray[np.intp], tasks: int) -> Values:
    counts = np.maximum(np.bincount(owners, minlength=tasks), 1)
    sums = [np.bincount(owners, weights=column, minlength=tasks) for column in values.T]
    means: Values = np.stack(sums, axis=1) / counts[:, None]
    return means


def _without_passing(pilot: PilotRuns, slopes: Values) -> PilotRuns:
    if not slopes.any():
        return pilot
    place = pilot.gates.index(PASS_RATE)
    before, after = (values - values[:, [place]] * slopes for values in pilot.values)
    return PilotRuns(gates=pilot.gates, values=(before, after), owners=pilot.owners, tasks=pilot.tasks)


def _uneven(gates: Sequence[str], moments: Sequence[tuple[TaskMoments, TaskMoments]]) -> tuple[Values, Values]:
    """How much the log of the scatter differs between tasks, and each task's factor (tasks × gates).

    What the logs of both arms' variances have in common is not chance, whatever shape the scatter has. All resources
    are taken to share it.
    """
    found, factors = np.zeros(len(gates)), np.ones((len(moments[0][0].counts), len(gates)))
    resources = [place for place, gate in enumerate(gates) if GATED_METRICS[gate].scale is EffectScale.RATIO]
    known = np.all([arm.counts > 1 for arm in moments[0]], axis=0)
    if not resources or known.sum() < FEWEST_FOR_UNEVEN:
        return found, factors
    logs = np.mean([[_log_variances(arm.variances[known]) for arm in moments[place]] for place in resources], axis=0)
    shared = max(float(np.cov(logs)[0, 1]), 0.0)
    both = logs.mean(axis=0)
    trust = shared / max(float(both.var(ddof=1)), shared, 1e-12)
    found[resources] = min(MOST_UNEVEN, np.sqrt(shared) / 2)
    factors[np.ix_(known, resources)] = np.exp(trust * (both - both.mean()) / 2)[:, None]
    return found, factors


def _log_variances(variances: Values) -> Values:
    least = max(LEAST_SHARE_OF_VARIANCE * float(variances.mean()), 1e-12)
    logs: Values = np.log(np.maximum(variances, least))
    return logs


def _residuals(
    rest: PilotRuns, moments: Sequence[tuple[TaskMoments, TaskMoments]], factors: Values
) -> list[NDArray[np.float32]]:
    """Standardised, of the tasks that were run more than once."""
    centres, found = _centres(rest, moments), []
    for arm, (values, owners) in enumerate(zip(rest.values, rest.owners, strict=True)):
        repeated = moments[0][arm].counts[owners] > 1
        residuals = ((values - centres[owners]) / factors[owners])[repeated]
        residuals = residuals - residuals.mean(axis=0)
        residuals = residuals / np.maximum(np.sqrt((residuals**2).mean(axis=0)), 1e-12)
        found.append(residuals.astype(np.float32))
    return found


def _centres(rest: PilotRuns, moments: Sequence[tuple[TaskMoments, TaskMoments]]) -> Values:
    """Where each task's runs lie (tasks × gates): the median over both arms, which a single long run does not move."""
    owners = np.concatenate(rest.owners)
    first = np.flatnonzero(np.diff(np.sort(owners), prepend=-1))
    size = np.diff(first, append=len(owners))
    centres = np.empty((rest.tasks, len(rest.gates)))
    for place, (before, after) in enumerate(moments):
        # The arms' mean effect is taken out, so that they scatter around the same point.
        shifts = before.means.mean(), after.means.mean()
        values = np.concatenate([arm[:, place] - shift for arm, shift in zip(rest.values, shifts, strict=True)])
        ranked = values[np.lexsort((values, owners))]
        centres[:, place] = (ranked[first + (size - 1) // 2] + ranked[first + size // 2]) / 2
    return centres
