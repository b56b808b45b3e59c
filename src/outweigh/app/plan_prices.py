"""What the runs of a plan cost: as stated, or as a typical run's tokens at the prices of each arm's model."""

from collections.abc import Iterator
from statistics import fmean

from outweigh.engine.load_suite import LoadedSuite
from outweigh.model.pricing import PriceTables
from outweigh.model.usage import Usage
from outweigh.plugins import load_adapter
from outweigh.report.formatting import format_dollars
from outweigh.stats.power import DesignPrices

Priced = tuple[DesignPrices | None, tuple[str, ...]]
"""What tasks and runs cost, None where that is unknown, and what to know about it."""

TYPICAL_USAGE = Usage(input_tokens=15_000, output_tokens=8_000, cache_read_tokens=300_000, cache_write_tokens=40_000)
"""An assumption: a coding task of medium size, in some thirty turns with a prompt cache. A pilot measures it."""


def stated_prices(run_usd: float | None, task_usd: float) -> Priced:
    """Every run at the stated cost."""
    if run_usd is None:
        return None, ("costs are unknown: set the cost of a run with --run-cost USD.",)
    return DesignPrices(task_usd=task_usd, candidate_run_usd=run_usd, baseline_run_usd=run_usd), ()


def suite_prices(suite: LoadedSuite, run_usd: float | None, task_usd: float, prices: PriceTables) -> Priced:
    """What a run costs: as stated, else as a typical run at the price list, else at most its cap."""
    if run_usd is not None:
        return stated_prices(run_usd, task_usd)
    typical, cap = _typical_prices(suite, prices, task_usd), suite.spec.limits.budget_usd
    if typical is not None:
        return typical
    if cap is not None:
        capped, _ = stated_prices(cap, task_usd)
        return capped, (f"costs are the most it could cost: every run at its cap of ${cap:g}.",)
    return stated_prices(None, task_usd)


def _typical_prices(suite: LoadedSuite, prices: PriceTables, task_usd: float) -> Priced | None:
    """The price of a run in the baseline and, on average, in the candidates; None where a model has no known price."""
    costs = {name: _run_cost(suite, name, prices) for name in suite.arms}
    baseline = suite.spec.baseline or next(iter(suite.arms))
    candidates = [cost for name, cost in costs.items() if name != baseline] or [costs[baseline]]
    if costs[baseline] is None or None in candidates:
        return None
    before, after = costs[baseline] or 0.0, fmean(cost or 0.0 for cost in candidates)
    cap = suite.spec.limits.budget_usd
    if cap is not None:
        before, after = min(before, cap), min(after, cap)
    note = "".join(_note(suite, before, after))
    return DesignPrices(task_usd=task_usd, candidate_run_usd=after, baseline_run_usd=before), (note,)


def _run_cost(suite: LoadedSuite, name: str, prices: PriceTables) -> float | None:
    arm = suite.arms[name]
    if arm.model is None or not load_adapter("agent", arm.agent).uses_model(arm):
        return None
    cost, _ = prices.cost(arm.model, TYPICAL_USAGE, None)
    return None if cost is None else cost.usd


def _note(suite: LoadedSuite, before: float, after: float) -> Iterator[str]:
    models = ", ".join(dict.fromkeys(arm.model for arm in suite.arms.values() if arm.model is not None))
    runs = (
        format_dollars(before)
        if format_dollars(before) == format_dollars(after)
        else (f"{format_dollars(before)} (baseline) and {format_dollars(after)} (candidate)")
    )
    yield f"costs are an estimate: {runs} a run, for the tokens of a typical run at the prices of {models}. "
    if suite.spec.limits.budget_usd is not None:
        yield f"At most, every run costs its cap of ${suite.spec.limits.budget_usd:g}. "
    yield "Set your own with --run-cost USD, or measure it with a pilot."
