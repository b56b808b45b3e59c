"""What it would take to decide: tasks, repeats, dollars. For planning, never power after the fact."""

from collections.abc import Sequence
from math import ceil

import numpy as np

from outweigh.compare.comparison import Comparison
from outweigh.stats.distributions import binomial_cdf
from outweigh.stats.power import tasks_by_normal
from outweigh.stats.sample import has_no_spread
from outweigh.stats.variance import VarianceComponents, cluster_errors, estimate_components
from outweigh.verdict.decision import RequiredSample
from outweigh.verdict.evidence_settings import ERROR_RATES, MINIMUM_TASKS, EffectScale
from outweigh.verdict.gate_sample import SPARSE_BELOW_TASKS, GateSample

POWER = 0.8
MOST_TASKS = 2_000
# The planning functions take a two-sided alpha.
ALPHA = 2 * ERROR_RATES.non_inferiority


def required_sample(gates: Sequence[GateSample], comparison: Comparison) -> RequiredSample | None:
    """Enough to show with 80 % power, if the arms are in truth alike, that the candidate is not worse on any gate."""
    tasks = [_tasks_needed(gate) for gate in gates]
    have = min((len(gate.benefits) for gate in gates), default=0)
    known = [number for number in tasks if number is not None]
    if not known:
        return _more(max(0, MINIMUM_TASKS - have), None, comparison) if have < MINIMUM_TASKS else None
    wanted = max(*known, MINIMUM_TASKS)
    return _more(max(0, wanted - have), _repeats_needed(gates, comparison), comparison)


def _more(tasks: int, repeats: int | None, comparison: Comparison) -> RequiredSample | None:
    if tasks == 0:
        return None
    dollars = _price_of_a_task(comparison)
    cost = None if dollars is None else tasks * dollars
    instead = f", or {repeats} more repeats of every task" if repeats else "; more repeats alone would not do"
    price = "" if cost is None else f", about ${cost:,.2f} at this suite's prices"
    return RequiredSample(
        more_tasks=tasks,
        more_repeats=repeats,
        cost_usd=cost,
        detail=f"about {tasks} more tasks{price}{instead} (for 80 % power if the arms are alike)",
    )


def _tasks_needed(gate: GateSample) -> int | None:
    """Tasks at which non-inferiority could be shown, by the test that the data call for."""
    benefits, bounded = gate.benefits, gate.gated.scale is EffectScale.POINTS
    if len(benefits) < 2:
        return None
    losses = int(np.count_nonzero(benefits < 0))
    if bounded and losses + int(np.count_nonzero(benefits > 0)) < SPARSE_BELOW_TASKS:
        return _tasks_for_counting(losses, len(benefits), gate.limit)
    if has_no_spread(benefits, 1.0):
        return None
    if gate.families is not None:
        return _tasks_in_families(gate, gate.families)
    return ceil(tasks_by_normal(gate.limit, float(np.var(benefits, ddof=1)), ALPHA, POWER))


def _tasks_for_counting(losses: int, tasks: int, limit: float) -> int | None:
    """Tasks at which so many losses, and no more, would exclude a mean loss beyond the limit."""
    if losses >= limit * tasks and losses:
        return None
    return next(
        (
            number
            for number in range(2, MOST_TASKS)
            if binomial_cdf(losses, number, limit) <= ERROR_RATES.non_inferiority
        ),
        None,
    )


def _tasks_in_families(gate: GateSample, labels: tuple[str, ...]) -> int:
    """As many families as bring the clustered error down far enough, each with as many tasks as now."""
    errors = cluster_errors(gate.benefits, labels)
    families = tasks_by_normal(gate.limit, errors.cr2**2 * errors.clusters, ALPHA, POWER)
    return ceil(families * len(gate.benefits) / errors.clusters)


def _repeats_needed(gates: Sequence[GateSample], comparison: Comparison) -> int | None:
    """Repeats to add at the same tasks; None where the tasks differ too much for that to help."""
    wanted = [_repeats_of(gate) for gate in gates if len(gate.benefits) >= 2]
    if not wanted or None in wanted:
        return None
    more = max(number for number in wanted if number is not None) - comparison.fewest_repeats
    return more if more > 0 else None


def _repeats_of(gate: GateSample) -> int | None:
    if gate.noise is None or has_no_spread(gate.benefits, 1.0):
        return None
    components: VarianceComponents = estimate_components(gate.noise[1], gate.noise[0])
    if components.true_deltas is None or components.candidate_runs is None or components.baseline_runs is None:
        return None
    affordable = len(gate.benefits) * gate.limit**2 / tasks_by_normal(1.0, 1.0, ALPHA, POWER)
    variance_of_runs = affordable - components.true_deltas
    return (
        ceil((components.candidate_runs + components.baseline_runs) / variance_of_runs)
        if variance_of_runs > 0
        else None
    )


def _price_of_a_task(comparison: Comparison) -> float | None:
    """Both arms' runs of one task, at the repeats and mean costs of this comparison."""
    arms = (comparison.baseline, comparison.candidate)
    costs = [arm.metrics["cost_usd"].mean for arm in arms]
    if any(cost is None for cost in costs):
        return None
    return sum((cost or 0.0) * arm.runs / arm.tasks for cost, arm in zip(costs, arms, strict=True))
