"""One arm in numbers."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.metric import METRICS
from outweigh.record.status import Status
from outweigh.score.changes import Change, change_fail_percentage, pr_revert_rate
from outweigh.score.cost import cost_of_pass
from outweigh.score.grade import SEED, GradeScale, grade
from outweigh.stats.describe import Description, describe
from outweigh.stats.quantity import Quantity, known, unknown
from outweigh.stats.reliability import pass_at_k, pass_hat_k


@dataclass(frozen=True, slots=True, kw_only=True)
class ArmSummary:
    """Counts, totals, medians and reliability of an arm's counted runs; a total needs every run to know its part."""

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
    pass_at_k: Mapping[int, float]
    pass_hat_k: Mapping[int, float]
    metrics: Mapping[str, Description]
    unknown_because: Mapping[str, str]
    grade: str | None
    change_fail_percentage: Quantity
    pr_revert_rate: Quantity

    @property
    def excluded_share(self) -> float:
        """The part of all recorded runs that says nothing about the arm."""
        excluded = sum(self.excluded.values())
        return excluded / (excluded + self.runs) if excluded else 0.0


def summarise(table: ArmTable, changes: Collection[Change], scale: GradeScale = SEED) -> ArmSummary:
    """Aggregate one arm."""
    metrics = {metric.name: describe(table.columns[metric.name]) for metric in METRICS}
    passed, cost = metrics["passed"], metrics["cost_usd"]
    known_costs = table.known("cost_usd", range(len(table.runs)))
    successes = sum(value == 1 for value in table.columns["passed"])
    total_cost = _total(cost, sum(known_costs))
    at_k, hat_k = _reliability(table)
    return ArmSummary(
        name=table.name,
        runs=len(table.runs),
        tasks=len(table.rows_by_task()),
        excluded=Counter(score.status for score in table.excluded),
        successes=successes,
        pass_rate=unknown("no counted run knows whether it passed") if passed.mean is None else known(passed.mean),
        total_cost_usd=total_cost,
        known_cost_usd=sum(known_costs),
        solved_per_dollar=_solved_per_dollar(successes, passed, total_cost),
        cost_of_pass_usd=_arm_cost_of_pass(passed, cost, total_cost),
        pass_at_k=at_k,
        pass_hat_k=hat_k,
        metrics=metrics,
        unknown_because=_unknown_because(table),
        grade=grade(metrics["composite_even"].median, scale),
        change_fail_percentage=change_fail_percentage(changes),
        pr_revert_rate=pr_revert_rate(changes),
    )


def _unknown_because(table: ArmTable) -> dict[str, str]:
    """The most common reason why each metric is missing from some runs."""
    reasons: dict[str, Counter[str]] = {}
    for run in table.runs:
        for metric, reason in run.reasons.items():
            reasons.setdefault(metric, Counter())[reason] += 1
    return {metric: counts.most_common(1)[0][0] for metric, counts in reasons.items()}


def _total(cost: Description, known_sum: float) -> Quantity:
    if cost.count == 0:
        return unknown("no run knows its cost")
    if cost.unknown:
        return unknown(f"{cost.unknown} of {cost.unknown + cost.count} runs do not know their cost")
    return known(known_sum)


def _solved_per_dollar(successes: int, passed: Description, total_cost: Quantity) -> Quantity:
    if passed.unknown or not passed.count:
        return unknown(f"{passed.unknown} runs do not know whether they passed")
    if total_cost.value is None:
        return total_cost
    return unknown("the total cost is zero") if total_cost.value == 0 else known(successes / total_cost.value)


def _arm_cost_of_pass(passed: Description, cost: Description, total_cost: Quantity) -> Quantity:
    if total_cost.value is None:
        return total_cost
    if passed.unknown or not passed.count:
        return unknown(f"{passed.unknown} runs do not know whether they passed")
    return cost_of_pass(cost.mean, passed.mean)


def _reliability(table: ArmTable) -> tuple[dict[int, float], dict[int, float]]:
    """Both estimators for every k that all tasks can answer, averaged over tasks with equal weight."""
    outcomes = [table.known("passed", rows) for rows in table.rows_by_task().values()]
    counts = [(len(known_passes), sum(value == 1 for value in known_passes)) for known_passes in outcomes]
    largest = min((attempts for attempts, _ in counts), default=0)
    ks = range(1, largest + 1)
    return (
        {k: _mean([pass_at_k(attempts, passes, k) for attempts, passes in counts]) for k in ks},
        {k: _mean([pass_hat_k(attempts, passes, k) for attempts, passes in counts]) for k in ks},
    )


def _mean(quantities: Sequence[Quantity]) -> float:
    values = [quantity.value for quantity in quantities if quantity.value is not None]
    return sum(values) / len(values)
