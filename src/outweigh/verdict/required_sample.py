"""What it would take to decide: tasks, repeats, dollars, found by simulating the rule on more tasks like these.

For planning, never power after the fact.
"""

from collections.abc import Iterator, Sequence
from functools import cache
from math import ceil, sqrt

import numpy as np
from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.comparison import Comparison
from outweigh.compare.task_alignment import count_shared_tasks
from outweigh.stats.distributions import normal_quantile
from outweigh.stats.means import suite_error
from outweigh.stats.variance import cluster_errors
from outweigh.verdict.decision import RequiredSample
from outweigh.verdict.evidence_settings import ERROR_RATES, MINIMUM_TASKS, EvidenceSettings
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.p_values import AnytimePValues
from outweigh.verdict.planned_looks import look_rates
from outweigh.verdict.rule_on_arrays import SimulatedRule, rule_of_version
from outweigh.verdict.task_search import MOST_TASKS, POWER, TaskSearch, tasks_at_hand

MOST_REPEATS = 100


def required_sample(
    gates: Sequence[GateSample], comparison: Comparison, settings: EvidenceSettings
) -> RequiredSample | None:
    """Enough for a decision four times in five, whether the arms are alike or the effects are what they look like."""
    counts = [len(gate.benefits) for gate in gates]
    have = min(counts, default=0)
    unknown = any(gate.unknown is not None for gate in gates)
    if unknown or have < 2:
        # More tasks do not make a metric known; below the minimum they are the first thing to ask for.
        if unknown:
            have = max(*counts, count_shared_tasks(comparison.baseline_table, comparison.candidate_table))
        return _describe(_Need(tasks=MINIMUM_TASKS - have), comparison) if have < MINIMUM_TASKS else None
    if settings.fixed_suite:
        return _describe(_Need(repeats=_repeats_for_this_suite(gates, comparison)), comparison)
    tasks = tasks_at_hand(gates)
    if not tasks:
        return None
    search = TaskSearch(tasks, _rule_that_decides(settings), np.random.default_rng(settings.seed))
    enough, as_seen = _tasks_for_a_decision(search, gates)
    need = _Need(
        tasks=enough,
        tasks_as_seen=as_seen,
        repeats=search.repeats_if_alike(comparison.fewest_repeats),
        in_the_way=search.in_the_way(),
    )
    return _describe(need, comparison)


def tasks_for_a_decision(gates: Sequence[GateSample], settings: EvidenceSettings) -> tuple[int | None, int | None]:
    """Tasks to add: enough whether the arms are alike or not, and enough if the effects are what they look like."""
    search = TaskSearch(tasks_at_hand(gates), _rule_that_decides(settings), np.random.default_rng(settings.seed))
    return _tasks_for_a_decision(search, gates)


def _tasks_for_a_decision(search: TaskSearch, gates: Sequence[GateSample]) -> tuple[int | None, int | None]:
    have, spread = min(len(gate.benefits) for gate in gates), _family_effect(gates)
    as_seen, alike = search.tasks_as_seen(), search.tasks_if_alike()
    return _largest([alike, as_seen], spread, have), _largest([as_seen], spread, have)


class _Need(Struct, frozen=True, kw_only=True):
    tasks: int | None = None
    tasks_as_seen: int | None = None
    repeats: int | None = None
    in_the_way: str | None = None


def _largest(tasks: Sequence[int | None], spread: float, have: int) -> int | None:
    known = [ceil(spread * number) for number in tasks if number is not None]
    return max(*known, MINIMUM_TASKS - have) if len(known) == len(tasks) else None


def _describe(need: _Need, comparison: Comparison) -> RequiredSample | None:
    tasks = need.tasks if need.tasks is not None else need.tasks_as_seen
    if not tasks and not need.repeats:
        return None
    dollars = _price_of_a_task(comparison)
    cost = None if dollars is None or not tasks else tasks * dollars
    return RequiredSample(
        more_tasks=tasks or None,
        more_tasks_as_seen=need.tasks_as_seen,
        more_repeats=need.repeats,
        cost_usd=cost,
        in_the_way=need.in_the_way,
        # Dollars that an agent only pretended to spend are for the JSON, and not for people.
        detail="".join(_words(need, tasks or 0, None if comparison.simulated else cost)),
    )


def _words(need: _Need, tasks: int, cost: float | None) -> Iterator[str]:
    if not tasks:
        yield f"about {need.repeats} more {'repeat' if need.repeats == 1 else 'repeats'} of every task"
        return
    price = "" if cost is None else f", about ${cost:,.2f} at this suite's prices"
    yield f"about {tasks} more {'task' if tasks == 1 else 'tasks'}{price}"
    if need.tasks_as_seen is None and need.tasks is None:
        return
    if need.tasks is None:
        yield f", if the true effects are as observed (if the arms are equal, over {MOST_TASKS:,} tasks)"
    elif need.tasks_as_seen is not None and need.tasks_as_seen < tasks:
        yield f", or {need.tasks_as_seen} if the true effects are as observed"
    yield f", or {need.repeats} more repeats of every task" if need.repeats else "; more repeats alone are not enough"
    yield f" (for a decision in {100 * POWER:g} % of such experiments"
    yield f"; {need.in_the_way} is most often the obstacle)" if need.in_the_way else ")"


def _price_of_a_task(comparison: Comparison) -> float | None:
    """Both arms' runs of one task, at the repeats and mean costs of this comparison."""
    arms = (comparison.baseline, comparison.candidate)
    costs = [arm.metrics["cost_usd"].mean for arm in arms]
    if any(cost is None for cost in costs):
        return None
    return sum((cost or 0.0) * arm.runs / arm.tasks for cost, arm in zip(costs, arms, strict=True))


def _family_effect(gates: Sequence[GateSample]) -> float:
    """How many times the tasks it takes where tasks of a family are alike, on the gate where that is most."""
    ratios = [1.0]
    for gate in gates:
        if gate.families is not None and len(set(gate.families)) > 1 and float(gate.benefits.std()) > 0:
            error = cluster_errors(gate.benefits, gate.families).cr2
            ratios.append(error**2 * len(gate.benefits) / float(gate.benefits.var(ddof=1)))
    return max(ratios)


def _repeats_for_this_suite(gates: Sequence[GateSample], comparison: Comparison) -> int | None:
    """Repeats that would show every gate to be the same, if the arms are alike and only runs scatter."""
    wanted = 0.0
    for gate in gates:
        if gate.noise is None:
            return None
        variances, runs = (
            np.stack([getattr(arm, name).astype(np.float64) for arm in gate.noise]) for name in ("variances", "counts")
        )
        error, _ = suite_error(variances, runs)
        reach = normal_quantile(1 - ERROR_RATES.non_inferiority) + normal_quantile((1 + POWER) / 2)
        wanted = max(wanted, comparison.fewest_repeats * (reach * error / gate.limit) ** 2)
    more = ceil(wanted) - comparison.fewest_repeats
    return more if 0 < more <= MOST_REPEATS * comparison.fewest_repeats else None


def _rule_that_decides(settings: EvidenceSettings) -> SimulatedRule:
    """The version that the experiment is under; with wider limits where the data are looked at more than once."""
    rule = rule_of_version(settings.version)
    if settings.looks is not None:
        last = len(settings.looks.sizes) - 1
        return replace(rule, rates=look_rates(settings.looks, last, rule.rates))
    planned = settings.planned_tasks
    if planned is None:
        return rule
    return replace(rule, critical=lambda alpha, tasks: _anytime_critical_value(alpha, tasks, planned))


@cache
def _anytime_critical_value(alpha: float, tasks: int, planned: int) -> float:
    low, high = 0.0, 60.0
    for _ in range(40):
        middle = (low + high) / 2
        p_values = AnytimePValues(mean=middle / sqrt(tasks), deviation=1.0, tasks=tasks, planned_tasks=planned)
        p_value = p_values.above(0.0)
        low, high = (low, middle) if p_value is not None and p_value <= alpha else (middle, high)
    return high
