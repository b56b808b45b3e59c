"""What a gain in passes costs, and what it is worth: the break-even value of a solved task, and worth over values."""

from collections.abc import Sequence
from math import expm1, isfinite

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.task_alignment import align_tasks
from outweigh.stats.estimate import Unit
from outweigh.stats.means import mean_interval
from outweigh.stats.ratios import fieller_interval
from outweigh.verdict.decision import BreakEven
from outweigh.verdict.evidence_settings import COST_OF_PASS, GATED_METRICS
from outweigh.verdict.gate_sample import sample_cost_of_pass

LEVEL = 0.90
"""Each end of an interval is a one-sided 5 % bound, as everywhere in a verdict."""


class WorthAtValue(Struct, frozen=True, kw_only=True):
    """What the candidate is worth more per task, if one solved task is worth so many dollars."""

    value_usd: float
    worth_usd: float
    low: float
    high: float


class PassCostChange(Struct, frozen=True, kw_only=True):
    """By how much the price of a pass changes (−0.1 is 10 % less), with the ends of its 90 % interval."""

    change: float
    low: float
    high: float


def pass_cost_change(baseline: ArmTable, candidate: ArmTable) -> PassCostChange | None:
    """The change of dollars per pass; None where an arm never passes or costs nothing, or no interval is known."""
    gated = GATED_METRICS[COST_OF_PASS]
    sample = sample_cost_of_pass(gated, gated.margin, baseline, candidate, None)
    if not len(sample.benefits):
        return None
    estimate = mean_interval(sample.benefits, level=LEVEL, unit=Unit.TASK)
    if estimate.point is None or estimate.interval is None:
        return None
    inside = estimate.interval
    # Benefits are minus the logs of ratios, so the ends change places.
    return PassCostChange(change=expm1(-estimate.point), low=expm1(-inside.high), high=expm1(-inside.low))


def break_even(baseline: ArmTable, candidate: ArmTable) -> BreakEven | None:
    """The price of one more solved task: dollars more over passes more. None where cost or passes are unknown."""
    deltas = _deltas(baseline, candidate)
    if deltas is None:
        return None
    dollars, passes = deltas
    if not passes.mean() > 0:
        return None
    estimate = fieller_interval(dollars, passes, level=LEVEL, unit=Unit.TASK)
    if estimate.point is None:
        return None
    inside = estimate.interval
    if inside is None or not (isfinite(inside.low) and isfinite(inside.high)):
        return BreakEven(
            usd=estimate.point,
            low=None,
            high=None,
            detail=f"one more solved task costs {_dollars(estimate.point)} (90 % interval unbounded: the pass rates "
            "may be equal)",
        )
    span = f"90 % interval {_dollars(inside.low)} to {_dollars(inside.high)}"
    return BreakEven(
        usd=estimate.point,
        low=inside.low,
        high=inside.high,
        detail=f"one more solved task costs {_dollars(estimate.point)} ({span})",
    )


def worth_over_values(baseline: ArmTable, candidate: ArmTable, values: Sequence[float]) -> tuple[WorthAtValue, ...]:
    """The worth per task with its 90 % interval, for each of these values of a solved task."""
    deltas = _deltas(baseline, candidate)
    if deltas is None:
        return ()
    dollars, passes = deltas
    found = []
    for value in values:
        estimate = mean_interval(value * passes - dollars, level=LEVEL, unit=Unit.TASK)
        if estimate.point is not None and estimate.interval is not None:
            inside = estimate.interval
            found.append(WorthAtValue(value_usd=value, worth_usd=estimate.point, low=inside.low, high=inside.high))
    return tuple(found)


def _deltas(baseline: ArmTable, candidate: ArmTable) -> tuple[Column, Column] | None:
    """Dollars and passes more, per task that knows both in both arms."""
    rows = align_tasks(baseline, candidate)
    dollars, passes = (
        candidate.mean_per_task(metric)[rows[:, 1]] - baseline.mean_per_task(metric)[rows[:, 0]]
        for metric in ("cost_usd", "passed")
    )
    known = np.isfinite(dollars) & np.isfinite(passes)
    return (dollars[known], passes[known]) if np.count_nonzero(known) >= 2 else None


def _dollars(amount: float) -> str:
    sign = "-" if amount < 0 else ""
    return f"{sign}${abs(amount):,.2f}"
