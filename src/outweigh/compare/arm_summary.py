"""One arm in numbers: counts, totals, descriptive statistics, reliability."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import partial

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column, estimated_runs
from outweigh.compare.run_columns import Computed, count_reasons, count_values, numbers_of, running_total
from outweigh.model.failure import Status
from outweigh.score.composite import SEED_GRADES, GradeScale, grade
from outweigh.score.objective import Change, change_fail_percentage, pr_revert_rate
from outweigh.score.resource_usage import ComponentShare, cost_of_pass
from outweigh.stats.estimate import Quantity, known, unknown
from outweigh.stats.sample import Description, reliability_curves

NO_CHECKED_RUN = unknown("no counted run had checks")


class ArmSummary(Struct, frozen=True, kw_only=True):
    """Counts, totals, medians and reliability of an arm's counted runs; a total needs every run to know its part.

    `paid_usd` is of all attempts, excluded and superseded ones too: what to look for on a bill. `checked_objective` is
    the mean objective of runs that had checks to fail; by formula the others score 1, which nobody earned.
    `estimated_runs` counts runs whose tokens or cost are estimated, `estimated_costs` those of estimated cost; the
    total then lies between `total_cost_ends`.
    """

    name: str
    runs: int
    tasks: int
    excluded: Mapping[Status, int]
    successes: int
    pass_rate: Quantity
    total_cost_usd: Quantity
    known_cost_usd: float
    paid_usd: Quantity
    known_paid_usd: float
    solved_per_dollar: Quantity
    cost_of_pass_usd: Quantity
    pass_at_k: Mapping[int, float]
    pass_hat_k: Mapping[int, float]
    metrics: Mapping[str, Description]
    unknown_because: Mapping[str, str]
    components: Sequence[ComponentShare]
    scale: GradeScale
    change_fail_percentage: Quantity
    pr_revert_rate: Quantity
    checked_objective: Quantity = NO_CHECKED_RUN
    estimated_runs: int = 0
    estimated_costs: int = 0
    total_cost_ends: tuple[float, float] | None = None

    @property
    def grade(self) -> str | None:
        """The grade of the median composite."""
        return grade(self.metrics["composite_even"].median, self.scale)


def summarise(
    table: ArmTable, changes: Collection[Change], components: Sequence[ComponentShare], scale: GradeScale = SEED_GRADES
) -> ArmSummary:
    """Aggregate one arm."""
    metrics = Computed({metric.name: partial(_describe, table, metric.name) for metric in table.metrics})
    passed, cost = _totalled(table, "passed"), _totalled(table, "cost_usd")
    known_cost, successes = cost.total, int(passed.total)
    total_cost = _total(cost, known_cost)
    paid = np.concatenate([numbers_of(runs, "paid_usd") for runs in (table.runs, table.excluded, table.superseded)])
    at_k, hat_k = _reliability(table)
    return ArmSummary(
        name=table.name,
        runs=len(table.runs),
        tasks=len(table.tasks),
        excluded=count_values(table.excluded, "status"),
        successes=successes,
        pass_rate=unknown("no counted run has a known result") if passed.mean is None else known(passed.mean),
        total_cost_usd=total_cost,
        known_cost_usd=known_cost,
        paid_usd=_paid(paid),
        known_paid_usd=running_total(paid[~np.isnan(paid)] if np.isnan(paid).any() else paid),
        solved_per_dollar=_solved_per_dollar(successes, passed, total_cost),
        cost_of_pass_usd=_arm_cost_of_pass(passed, cost, total_cost),
        pass_at_k=at_k,
        pass_hat_k=hat_k,
        metrics=metrics,
        unknown_because=_unknown_because(table),
        components=components,
        scale=scale,
        change_fail_percentage=change_fail_percentage(changes),
        pr_revert_rate=pr_revert_rate(changes),
        checked_objective=_checked_objective(table),
        estimated_runs=estimated_runs(table),
        estimated_costs=estimated_runs(table, "cost_usd"),
        total_cost_ends=_cost_ends(table) if total_cost.value is not None else None,
    )


class Totalled(Struct, frozen=True, kw_only=True):
    """What is known of a metric, added up over the runs; it is needed of every arm, so the runs are taken once."""

    total: float
    count: int
    unknown: int

    @property
    def mean(self) -> float | None:
        """The mean of the runs that know it."""
        return self.total / self.count if self.count else None


def _totalled(table: ArmTable, metric: str) -> Totalled:
    column = table.columns[metric]
    unknown = int(np.count_nonzero(np.isnan(column)))
    total = float(np.nansum(column) if unknown else column.sum())
    return Totalled(total=total, count=len(column) - unknown, unknown=unknown)


def _cost_ends(table: ArmTable) -> tuple[float, float] | None:
    """The least and the most that all counted runs together cost; None where no cost is estimated."""
    if "cost_usd" not in table.ranges:
        return None
    low, high = (
        float(np.where(np.isnan(end), table.columns["cost_usd"], end).sum()) for end in table.ranges["cost_usd"]
    )
    return low, high


def _describe(table: ArmTable, metric: str) -> Description:
    return Description(lambda: table.columns[metric])


def _checked_objective(table: ArmTable) -> Quantity:
    scores = table.columns["objective"]
    rated = ~np.isnan(scores)
    if set(count_values(table.runs, "vacuous")) != {False}:
        rated &= numbers_of(table.runs, "vacuous") == 0
    found = scores if rated.all() else scores[rated]
    return known(float(np.mean(found))) if len(found) else NO_CHECKED_RUN


def _unknown_because(table: ArmTable) -> dict[str, str]:
    """The most common reason why each metric is missing from some runs."""
    reasons: dict[str, Counter[str]] = {}
    for mapping, runs in count_reasons(table.runs):
        for metric, reason in mapping.items():
            reasons.setdefault(metric, Counter())[reason] += runs
    return {metric: counts.most_common(1)[0][0] for metric, counts in reasons.items()}


def _total(cost: Totalled, known_sum: float) -> Quantity:
    if cost.count == 0:
        return unknown("the cost of every run is unknown")
    if cost.unknown:
        return unknown(f"the cost of {cost.unknown} of {cost.unknown + cost.count} runs is unknown")
    return known(known_sum)


def _paid(attempts: Column) -> Quantity:
    silent = int(np.isnan(attempts).sum())
    if silent:
        return unknown(f"the cost of {silent} of {len(attempts)} attempts is unknown")
    return known(running_total(attempts))


def _solved_per_dollar(successes: int, passed: Totalled, total_cost: Quantity) -> Quantity:
    if (ignorance := _pass_ignorance(passed)) is not None:
        return unknown(ignorance)
    if total_cost.value is None:
        return total_cost
    return unknown("the total cost is zero") if total_cost.value == 0 else known(successes / total_cost.value)


def _arm_cost_of_pass(passed: Totalled, cost: Totalled, total_cost: Quantity) -> Quantity:
    if total_cost.value is None:
        return total_cost
    if (ignorance := _pass_ignorance(passed)) is not None:
        return unknown(ignorance)
    return cost_of_pass(cost.mean, passed.mean)


def _pass_ignorance(passed: Totalled) -> str | None:
    if not passed.count:
        return "no counted run has a known result"
    return f"whether they passed is unknown for {passed.unknown} runs" if passed.unknown else None


def _reliability(table: ArmTable) -> tuple[dict[int, float], dict[int, float]]:
    """Both estimators for every k that all tasks can answer, averaged over tasks with equal weight."""
    attempts, passes = table.known_per_task("passed"), table.sum_per_task("passed")
    # Many tasks share an outcome such as "4 of 5"; each is computed once.
    most = int(attempts.max(initial=0)) + 1
    found, first, tasks = np.unique(attempts * most + passes.astype(np.intp), return_index=True, return_counts=True)
    outcomes = Counter({divmod(int(found[place]), most): int(tasks[place]) for place in np.argsort(first)})
    largest = min((made for made, _ in outcomes), default=0)
    sums = np.zeros((2, largest))
    for (made, passed), number in outcomes.items():
        sums += number * np.stack(reliability_curves(made, passed, largest))
    at_k, hat_k = (sums / max(1, outcomes.total())).tolist()
    return dict(enumerate(at_k, start=1)), dict(enumerate(hat_k, start=1))
