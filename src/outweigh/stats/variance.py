"""Where the variance of a task's delta comes from: real differences between tasks, or noise between repeats.

Method of moments on paired tasks: the variance of the deltas is that of the true deltas plus the noise of two means.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class TaskMoments:
    """One arm's runs, task by task: mean, sample variance (NaN below two runs) and count."""

    means: Floats
    variances: Floats
    counts: NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True)
class VarianceComponents:
    """Variances of the true task deltas and of single runs; `None` means unknown, and `warnings` says why."""

    true_deltas: float | None
    candidate_runs: float | None
    baseline_runs: float | None
    observed_deltas: float | None
    tasks: int
    warnings: tuple[str, ...]

    def delta_variance(self, candidate_repeats: int, baseline_repeats: int) -> float | None:
        """Return the variance that one task's delta would have with these repeats, if every component is known."""
        if self.true_deltas is None or self.candidate_runs is None or self.baseline_runs is None:
            return None
        return self.true_deltas + self.candidate_runs / candidate_repeats + self.baseline_runs / baseline_repeats


def summarize_runs(values: ArrayLike, task_indices: ArrayLike, tasks: int) -> TaskMoments:
    """Reduce one arm's runs to moments per task; `task_indices` says which task (from 0) each run belongs to."""
    runs, owners = np.asarray(values, dtype=np.float64), np.asarray(task_indices, dtype=np.int64)
    counts = np.bincount(owners, minlength=tasks)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = np.bincount(owners, weights=runs, minlength=tasks) / counts
        squares = np.bincount(owners, weights=(runs - means[owners]) ** 2, minlength=tasks)
        variances = np.where(counts > 1, squares / (counts - 1), np.nan)
    return TaskMoments(means=means, variances=variances, counts=counts)


def estimate_components(candidate: TaskMoments, baseline: TaskMoments) -> VarianceComponents:
    """Separate the variance of the task deltas into components, from the tasks that both arms ran."""
    paired = (candidate.counts > 0) & (baseline.counts > 0)
    deltas = (candidate.means - baseline.means)[paired]
    warnings = [] if paired.all() else [f"{int((~paired).sum())} tasks were run by one arm only and are left out"]
    if len(deltas) < 2 or not np.isfinite(deltas).all():
        reason = "fewer than 2 paired tasks" if len(deltas) < 2 else "a run is not a finite number"
        return _components(None, None, None, None, len(deltas), [*warnings, reason])
    observed = float(deltas.var(ddof=1))
    noises = [_run_variance(arm, paired) for arm in (candidate, baseline)]
    if noises[0] is None or noises[1] is None:
        reason = "no task has 2 repeats in each arm, so repeat noise cannot be told from differences between tasks"
        return _components(None, noises[0], noises[1], observed, len(deltas), [*warnings, reason])
    expected = _mean_noise(candidate, paired, noises[0]) + _mean_noise(baseline, paired, noises[1])
    if observed < expected:
        warnings.append("the deltas vary less than repeat noise explains; the variance of true deltas is taken as 0")
    return _components(max(0.0, observed - expected), noises[0], noises[1], observed, len(deltas), warnings)


def _run_variance(arm: TaskMoments, paired: NDArray[np.bool_]) -> float | None:
    """Average the sample variances with equal weight per task, as the estimand does."""
    variances = arm.variances[paired & (arm.counts > 1)]
    return float(variances.mean()) if len(variances) else None


def _mean_noise(arm: TaskMoments, paired: NDArray[np.bool_], run_variance: float) -> float:
    """Average the variance of a task's mean; a task run once is given the arm's average run variance."""
    variances = np.where(arm.counts > 1, arm.variances, run_variance)[paired]
    return float(np.mean(variances / arm.counts[paired]))


def _components(
    true_deltas: float | None,
    candidate_runs: float | None,
    baseline_runs: float | None,
    observed_deltas: float | None,
    tasks: int,
    warnings: list[str],
) -> VarianceComponents:
    return VarianceComponents(
        true_deltas=true_deltas,
        candidate_runs=candidate_runs,
        baseline_runs=baseline_runs,
        observed_deltas=observed_deltas,
        tasks=tasks,
        warnings=tuple(warnings),
    )
