"""What one run cost, and what a pass cost."""

from math import inf

from outweigh.record.cost import Cost
from outweigh.record.pricing import FirstKnown
from outweigh.record.run_record import RunRecord
from outweigh.stats.quantity import Quantity, known, unknown


def run_cost(run: RunRecord, prices: FirstKnown) -> tuple[Cost, str]:
    """The recorded cost where there is one, else tokens times prices; the reason is empty when it is known."""
    if run.cost.usd is not None:
        return run.cost, ""
    priced, reason = prices.cost(run.agent.model, run.usage, run.started_at)
    return (run.cost, reason) if priced is None else (priced, "")


def cost_of_pass(cost_usd: float | None, pass_rate: float | None) -> Quantity:
    """cost / pass rate, for one run (rate 0 or 1) or an arm; infinite when it never passes."""
    if cost_usd is None:
        return unknown("the cost is unknown")
    if pass_rate is None:
        return unknown("whether it passes is unknown")
    return known(inf if pass_rate == 0 else cost_usd / pass_rate)
