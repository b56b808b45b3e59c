"""One arm in numbers: counts, totals, descriptive statistics, reliability."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from functools import cached_property, partial

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column, TaskSums, estimated_runs
from outweigh.compare.run_columns import Computed, count_reasons, count_values, numbers_of, running_total
from outweigh.model.failure import Status
from outweigh.score.composite import SEED_GRADES, GradeScale, grade
from outweigh.score.objective import Change, change_fail_percentage, pr_revert_rate
from outweigh.score.resource_usage import ComponentShare, cost_of_pass
from outweigh.stats.estimate import Quantity, known, unknown
from outweigh.stats.sample import Description, reliability_curves

NO_CHECKED_RUN = unknown("no counted run had checks")


class ArmSummary(Struct, frozen=True, kw_only=True, dict=True):
    """Counts, totals, medians and reliability of an arm's counted runs; a total needs every run to know its part.

    Figures that few ask for are computed when they are asked for, because there may be millions of runs.
    """

    name: str
    runs: int
    tasks: int
    excluded: Mapping[Status, int]
    successes: int
    pass_rate: Quantity
    total_cost_usd: Quantity
    known_cost_usd: float
    solved_per_dollar: Quantity
    cost_of_pass_usd: Quantity
    metrics: Mapping[str, Description]
    components: Sequence[ComponentShare]
    scale: GradeScale
    change_fail_percentage: Quantity
    pr_revert_rate: Quantity
    table: ArmTable

    @property
    def grade(self) -> str | None:
        """The grade of the median composite."""
        return grade(self.metrics["composite_even"].median, self.scale)

    @property
    def paid_usd(self) -> Quantity:
        """What was paid for all attempts, excluded and superseded ones too: what to look for on a bill."""
        paid = self._paid
        if paid.unknown:
            return unknown(f"the cost of {paid.unknown} of {paid.unknown + paid.count} attempts is unknown")
        return known(paid.total)

    @property
    def known_paid_usd(self) -> float:
        """What was paid for the attempts of which that is known."""
        return self._paid.total

    @property
    def pass_at_k(self) -> Mapping[int, float]:
        """The chance that one of k runs of a task passes."""
        return self._reliability[0]

    @property
    def pass_hat_k(self) -> Mapping[int, float]:
        """The chance that all of k runs of a task pass."""
        return self._reliability[1]

    @cached_property
    def unknown_because(self) -> Mapping[str, str]:
        """The most common reason why each metric is missing from some runs."""
        return _unknown_because(self.table)

    @cached_property
    def checked_objective(self) -> Quantity:
        """The mean objective of runs that had checks to fail; by formula the others score 1, which nobody earned."""
        return _checked_objective(self.table)

    @cached_property
    def estimated_runs(self) -> int:
        """How many runs have tokens or a cost that is estimated."""
        return estimated_runs(self.table)

    @cached_property
    def estimated_costs(self) -> int:
        """How many runs have an estimated cost; the total then lies between `total_cost_ends`."""
        return estimated_runs(self.table, "cost_usd")

    @cached_property
    def total_cost_ends(self) -> tuple[float, float] | None:
        """The least and the most that all runs together cost, where some costs are estimated and all are known."""
        return _cost_ends(self.table) if self.total_cost_usd.value is not None else None

    @cached_property
    def _paid(self) -> "Totalled":
        return _paid(self.table)

    @cached_property
    def _reliability(self) -> tuple[dict[int, float], dict[int, float]]:
        return _reliability(self.table)


def summarise(
    table: ArmTable, changes: Collection[Change], components: Sequence[ComponentShare], scale: GradeScale = SEED_GRADES
) -> ArmSummary:
    """Aggregate one arm."""
    passed, cost = _totalled(table, "passed"), _totalled(table, "cost_usd")
    successes, total_cost = int(passed.total), _total(cost, cost.total)
    return ArmSummary(
        name=table.name,
        runs=len(table.runs),
        tasks=len(table.tasks),
        excluded=count_values(table.excluded, "status"),
        successes=successes,
        pass_rate=unknown("no counted run has a known result") if passed.mean is None else known(passed.mean),
        total_cost_usd=total_cost,
        known_cost_usd=cost.total,
        solved_per_dollar=_solved_per_dollar(successes, passed, total_cost),
        cost_of_pass_usd=_arm_cost_of_pass(passed, cost, total_cost),
        metrics=Computed({metric.name: partial(_describe, table, metric.name) for metric in table.metrics}),
        components=components,
        scale=scale,
        change_fail_percentage=change_fail_percentage(changes),
        pr_revert_rate=pr_revert_rate(changes),
        table=table,
    )


class Totalled(Struct, frozen=True, kw_only=True):
    """What is known of a metric, added up over the runs."""

    total: float
    count: int
    unknown: int

    @property
    def mean(self) -> float | None:
        """The mean of the runs that know it."""
        return self.total / self.count if self.count else None


def _totalled(table: ArmTable, metric: str) -> Totalled:
    return _added_up(table, table.sums(metric))


def _added_up(table: ArmTable, sums: TaskSums) -> Totalled:
    """By the sums of the tasks, which are the same to the last bit wherever the runs are."""
    known = int(sums.counts.sum())
    return Totalled(total=float(sums.sums.sum()), count=known, unknown=len(table.runs) - known)


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


def _paid(table: ArmTable) -> Totalled:
    """All attempts together, whatever became of them."""
    counted = _added_up(table, *table.add_up(("paid_usd",), lambda part: (numbers_of(part.runs, "paid_usd"),)))
    others = (_paid_for(numbers_of(attempts, "paid_usd")) for attempts in (table.excluded, table.superseded))
    found = [counted, *others]
    return Totalled(
        total=sum(each.total for each in found),
        count=sum(each.count for each in found),
        unknown=sum(each.unknown for each in found),
    )


def _paid_for(attempts: Column) -> Totalled:
    known = ~np.isnan(attempts)
    count = int(np.count_nonzero(known))
    total = running_total(attempts if count == len(attempts) else attempts[known])
    return Totalled(total=total, count=count, unknown=len(attempts) - count)


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
