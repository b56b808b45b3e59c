"""How certain the numbers of a comparison are: intervals of rates, deltas and ratios, and tests.

Loaded only by commands that show intervals, because of the bootstrap.
"""

from collections.abc import Mapping
from enum import StrEnum
from math import isfinite

import numpy as np
from msgspec import Struct
from msgspec.structs import replace
from numpy.typing import NDArray

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import task_deltas, task_families
from outweigh.compare.task_alignment import align_tasks
from outweigh.compare.task_variance import task_moments
from outweigh.stats.bootstrap import bootstrap_means, expanded_percentile_interval
from outweigh.stats.estimate import (
    Alternative,
    Estimate,
    Interval,
    Significance,
    Unit,
    unknown_estimate,
    unknown_significance,
)
from outweigh.stats.hypothesis_tests import mcnemar_exact
from outweigh.stats.means import fixed_suite_interval, mean_interval, median_interval
from outweigh.stats.proportions import dominance, wilson_interval
from outweigh.stats.rank_tests import wilcoxon_test
from outweigh.stats.ratios import (
    exponentiate,
    fieller_interval,
    geometric_ratio,
    mean_logs,
    ratio_interval,
    ratio_of_ratios_interval,
)
from outweigh.stats.sign_flip import sign_flip_test
from outweigh.stats.variance import cluster_interval, sum_clusters

LEVEL = 0.95
DRAWS = 10_000
RELIABILITY_KS = (1, 3, 5)


def pass_rate_estimate(arm: ArmTable) -> Estimate:
    """Wilson for one run per task, or where every task always did the same; else the task means are observations."""
    attempts, means = arm.known_per_task("passed"), arm.mean_per_task("passed")
    means = means[~np.isnan(means)]
    alike = means.size > 0 and means.min() == means.max() and means.max() in (0.0, 1.0)
    if alike or (attempts.size and attempts.max() == 1):
        return wilson_interval(int(means.sum()), int(means.size), level=LEVEL, unit=Unit.TASK)
    return _within_rate(mean_interval(means, level=LEVEL, unit=Unit.TASK))


def cost_of_pass_estimate(arm: ArmTable) -> Estimate:
    """Pooled dollars per pass with a log-scale interval, and a warning where Fieller's exact one has no end."""
    cost, passed = arm.mean_per_task("cost_usd"), arm.mean_per_task("passed")
    known = ~np.isnan(cost) & ~np.isnan(passed)
    estimate = ratio_interval(cost[known], passed[known], level=LEVEL, unit=Unit.TASK)
    exact = fieller_interval(cost[known], passed[known], level=LEVEL, unit=Unit.TASK).interval
    if estimate.interval is None or exact is None or isfinite(exact.high):
        return estimate
    doubt = "passes are so rare that the cost of one cannot be bounded from above"
    return replace(estimate, warnings=(*estimate.warnings, doubt))


def _within_rate(estimate: Estimate) -> Estimate:
    """A rate lies between 0 and 1, and so does what we say about it."""
    inside = estimate.interval
    if inside is None:
        return estimate
    return replace(estimate, interval=replace(inside, low=max(0.0, inside.low), high=min(1.0, inside.high)))


def reliability_intervals(arm: ArmTable, seed: int, *, every: bool) -> dict[int, Interval | None]:
    """Task bootstrap of pass^k (every) or pass@k, for the usual k that all tasks can answer."""
    attempts, passes = arm.known_per_task("passed").astype(np.float64), arm.sum_per_task("passed")
    ks = [k for k in RELIABILITY_KS if attempts.size > 1 and k <= attempts.min()]
    if not ks:
        return {}
    columns = np.column_stack([_k_of_task(attempts, passes, k, every=every) for k in ks])
    draws = bootstrap_means(columns, DRAWS, seed)
    return {
        k: expanded_percentile_interval(draws[:, place], float(columns[:, place].mean()), len(attempts), LEVEL).interval
        for place, k in enumerate(ks)
    }


def _k_of_task(attempts: Column, passes: Column, k: int, *, every: bool) -> Column:
    hits = passes if every else attempts - passes
    chance = np.ones(len(attempts))
    for drawn in range(k):
        chance *= np.maximum(hits - drawn, 0) / (attempts - drawn)
    return chance if every else 1.0 - chance


Labels = NDArray[np.object_]

RATIOS = {
    "cost": "cost_usd",
    "duration": "duration_seconds",
    "total_tokens": "total_tokens",
    "non_cache_tokens": "non_cache_tokens",
}


class IntervalMethod(StrEnum):
    """Where intervals over tasks come from."""

    T = "t"
    BOOTSTRAP = "bootstrap"


class DeltaInference(Struct, frozen=True, kw_only=True):
    """Both answers about one delta, over tasks like these and on this suite; beside them what no outlier can move.

    `dominance` is the share of tasks that gained minus the share that lost.
    """

    over_tasks: Estimate
    on_suite: Estimate
    median_of_tasks: Estimate
    dominance: Estimate


def infer_deltas(
    baseline: ArmTable, candidate: ArmTable, method: IntervalMethod, seed: int
) -> dict[str, DeltaInference]:
    """Both estimands of every delta, by the delta's name."""
    rows = align_tasks(baseline, candidate)
    labels = _labels(baseline, candidate)
    by_task = {
        metric.name: candidate.mean_per_task(metric.name)[rows[:, 1]] - baseline.mean_per_task(metric.name)[rows[:, 0]]
        for metric in baseline.metrics
    }
    draws = _bootstrap(by_task, labels, seed) if method is IntervalMethod.BOOTSTRAP and len(rows) > 1 else None
    return {
        metric.delta: DeltaInference(
            over_tasks=_over_tasks(by_task[metric.name], labels, None if draws is None else draws[metric.name]),
            on_suite=_on_suite(metric.name, baseline, candidate),
            median_of_tasks=median_interval(_known(by_task[metric.name]), level=LEVEL, unit=Unit.TASK),
            dominance=dominance(_known(by_task[metric.name]), level=LEVEL, unit=Unit.TASK),
        )
        for metric in baseline.metrics
    }


def _known(deltas: Column) -> Column:
    return deltas[~np.isnan(deltas)]


def _over_tasks(deltas: Column, labels: Labels | None, draws: Column | None) -> Estimate:
    known = ~np.isnan(deltas)
    if draws is not None and known.any():
        units = int(known.sum()) if labels is None else len(set(labels[known].tolist()))
        return expanded_percentile_interval(draws, float(deltas[known].mean()), units, LEVEL)
    if labels is not None and len(set(labels[known].tolist())) > 1:
        return cluster_interval(deltas[known], labels[known], LEVEL)
    return mean_interval(deltas[known], level=LEVEL, unit=Unit.TASK)


def _bootstrap(by_task: Mapping[str, Column], labels: Labels | None, seed: int) -> dict[str, Column]:
    """One set of weights for all metrics; a task that does not know a metric weighs nothing in it.

    Families, where there are any, are drawn whole.
    """
    parts = [part for deltas in by_task.values() for part in (np.nan_to_num(deltas), (~np.isnan(deltas)).astype(float))]
    columns = parts if labels is None else [sum_clusters(part, labels).sums for part in parts]
    means = bootstrap_means(np.column_stack(columns), DRAWS, seed)
    with np.errstate(invalid="ignore", divide="ignore"):
        return {name: means[:, 2 * place] / means[:, 2 * place + 1] for place, name in enumerate(by_task)}


def _on_suite(metric: str, baseline: ArmTable, candidate: ArmTable) -> Estimate:
    rows = align_tasks(baseline, candidate)
    after, before = (task_moments(arm, metric, logs=False) for arm in (candidate, baseline))
    shared = np.isfinite(after.means[rows[:, 1]]) & np.isfinite(before.means[rows[:, 0]])
    ours, theirs = rows[shared, 0], rows[shared, 1]
    if not len(ours):
        return unknown_estimate("no task is known in both arms", n=0, unit=Unit.RUN, method="fixed suite", point=None)
    return fixed_suite_interval(
        mean_a=after.means[theirs],
        var_a=after.variances[theirs],
        n_a=after.counts[theirs].astype(np.float64),
        mean_b=before.means[ours],
        var_b=before.variances[ours],
        n_b=before.counts[ours].astype(np.float64),
        level=LEVEL,
    )


def infer_ratios(baseline: ArmTable, candidate: ArmTable) -> dict[str, Estimate]:
    """Candidate over baseline: geometric means of task ratios, and the ratio of the costs of a pass."""
    rows, labels = align_tasks(baseline, candidate), _labels(baseline, candidate)
    found = {}
    for name, metric in RATIOS.items():
        before, after = (_mean_logs(arm, metric) for arm in (baseline, candidate))
        logs = after[rows[:, 1]] - before[rows[:, 0]]
        # A task without a measurement is left out; a zero, which has no logarithm, makes the ratio unknown.
        measured = ~np.isnan(candidate.mean_per_task(metric)[rows[:, 1]] + baseline.mean_per_task(metric)[rows[:, 0]])
        found[name] = _ratio(logs[measured], None if labels is None else labels[measured])
    found["cost_of_pass"] = _cost_of_pass_ratio(baseline, candidate)
    return found


def _ratio(logs: Column, labels: Labels | None) -> Estimate:
    if labels is None or not np.isfinite(logs).all() or len(set(labels.tolist())) < 2:
        return geometric_ratio(logs, level=LEVEL, unit=Unit.TASK)
    return exponentiate(cluster_interval(logs, labels, LEVEL), method="geometric mean ratio, clustered t on logs")


def _labels(baseline: ArmTable, candidate: ArmTable) -> Labels | None:
    """The family of every task that both arms have, where the records name families."""
    families, rows = task_families(baseline, candidate), align_tasks(baseline, candidate)
    if families is None:
        return None
    return np.array([families[baseline.tasks[place]] for place in rows[:, 0].tolist()], dtype=object)


def _mean_logs(arm: ArmTable, metric: str) -> Column:
    known = ~np.isnan(arm.columns[metric])
    return mean_logs(arm.columns[metric][known], arm.task_of[known], len(arm.tasks))


def _cost_of_pass_ratio(baseline: ArmTable, candidate: ArmTable) -> Estimate:
    rows = align_tasks(baseline, candidate)
    parts = {
        f"{role}_{side}": arm.mean_per_task(metric)[places]
        for arm, side, places in ((candidate, "a", rows[:, 1]), (baseline, "b", rows[:, 0]))
        for role, metric in (("numerators", "cost_usd"), ("denominators", "passed"))
    }
    return ratio_of_ratios_interval(**parts, level=LEVEL, unit=Unit.TASK)


class Population(StrEnum):
    """What the numbers speak of: tasks like these, or this very suite."""

    TASKS = "tasks"
    RUNS = "runs"


class Inference(Struct, frozen=True, kw_only=True):
    """Everything uncertain about a comparison."""

    population: Population
    deltas: Mapping[str, DeltaInference]
    ratios: Mapping[str, Estimate]
    pass_rates: Mapping[str, Estimate]
    costs_of_pass: Mapping[str, Estimate]
    pass_at_k: Mapping[str, Mapping[int, Interval | None]]
    pass_hat_k: Mapping[str, Mapping[int, Interval | None]]
    mcnemar: Significance
    sign_flip: Significance
    wilcoxon: Significance
    seed: int


def infer(comparison: Comparison, *, population: Population, method: IntervalMethod, seed: int) -> Inference:
    """Put an interval or a p-value on everything that can carry one."""
    baseline, candidate = comparison.baseline_table, comparison.candidate_table
    arms = (baseline, candidate)
    return Inference(
        population=population,
        deltas=infer_deltas(baseline, candidate, method, seed),
        ratios=infer_ratios(baseline, candidate),
        pass_rates={arm.name: pass_rate_estimate(arm) for arm in arms},
        costs_of_pass={arm.name: cost_of_pass_estimate(arm) for arm in arms},
        pass_at_k={arm.name: reliability_intervals(arm, seed, every=False) for arm in arms},
        pass_hat_k={arm.name: reliability_intervals(arm, seed, every=True) for arm in arms},
        mcnemar=_mcnemar(comparison),
        sign_flip=_sign_flip(baseline, candidate, seed),
        wilcoxon=wilcoxon_test(
            task_deltas("passed", baseline, candidate), alternative=Alternative.TWO_SIDED, unit=Unit.TASK
        ),
        seed=seed,
    )


def _mcnemar(comparison: Comparison) -> Significance:
    table = comparison.discordance
    if table.unit != "task":
        return unknown_significance(
            "repeats of a task are not independent, so McNemar's test needs one run per task; sign_flip uses tasks",
            n=comparison.pairing.pairs,
            unit=Unit.PAIR,
            method="McNemar, exact",
        )
    return mcnemar_exact(table.only_candidate, table.only_baseline, alternative=Alternative.TWO_SIDED, unit=Unit.TASK)


def _sign_flip(baseline: ArmTable, candidate: ArmTable, seed: int) -> Significance:
    deltas = task_deltas("passed", baseline, candidate)
    return sign_flip_test(deltas, alternative=Alternative.TWO_SIDED, rng=np.random.default_rng(seed), unit=Unit.TASK)
