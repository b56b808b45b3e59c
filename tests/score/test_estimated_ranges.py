"""A run with estimated tokens has a range of every metric that they enter, and of its cost however it was priced."""

from typing import Any

import numpy as np
import pytest

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.change_table import join_tables, keep_tasks
from outweigh.compare.comparison import compare_arms
from outweigh.model.pricing import ModelPrices, PriceTables, UserPriceTable
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import (
    UNKNOWN_COST,
    Cost,
    CostProvenance,
    Metering,
    Usage,
    UsageRange,
    reported_cost,
    usage_ends,
)
from outweigh.score.resource_usage import estimated_ranges, run_cost
from outweigh.testing.builders import a_run, evidence_of


def tokens(fresh: int, output: int, read: int = 0) -> Usage:
    return Usage(input_tokens=fresh, output_tokens=output, cache_read_tokens=read, cache_write_tokens=0)


LIKELY, LOW, HIGH = tokens(2_000_000, 1_000_000), tokens(0, 500_000, 1_000_000), tokens(3_000_000, 4_000_000)


def a_metered_run(cost: Cost = UNKNOWN_COST, **models: Usage) -> RunRecord:
    """A run of which the model "cut" is estimated, and any others are counted."""
    metering = Metering(
        requests=2,
        failed_requests=0,
        models={"cut": LIKELY, **models},
        time_to_first_token_seconds=None,
        model_seconds=1.0,
        estimated={"cut": UsageRange(requests=1, low=LOW, high=HIGH)},
    )
    return a_run(usage=LIKELY, cost=cost, metering=metering)


def priced(run: RunRecord, **more: Any) -> Cost:
    prices = ModelPrices(input_usd_per_million=2.0, output_usd_per_million=10.0, **more)
    return run_cost(run, PriceTables(UserPriceTable("mine", {"cut": prices, "whole": prices})))[0]


def test_a_cost_that_is_priced_later_has_the_ends_of_its_tokens() -> None:
    cost = priced(a_metered_run(whole=tokens(1_000_000, 0)), cache_read_usd_per_million=0.5)

    # 2 + 4 + 10 dollars; at least 2 + 0.5 + 5, at most 2 + 6 + 40.
    assert (cost.low_usd, cost.usd, cost.high_usd) == (7.5, 16.0, 48.0)
    assert cost.provenance is CostProvenance.PRICED


def test_what_has_no_price_when_read_from_a_cache_counts_as_fresh() -> None:
    cost = priced(a_metered_run())

    # One million tokens of the low end at 2 dollars, and 5 dollars of output.
    assert (cost.low_usd, cost.usd, cost.high_usd) == (7.0, 14.0, 46.0)


def test_a_counted_run_has_no_range() -> None:
    run = a_run(cost=reported_cost(0.1))

    assert usage_ends(run.metering) is None
    assert estimated_ranges(run, run.cost) == {}


def test_tokens_have_the_sums_of_their_ends() -> None:
    run = a_metered_run(whole=tokens(10, 20, 30))
    run_of_both = a_run(usage=tokens(2_000_010, 1_000_020, 30), metering=run.metering)

    assert estimated_ranges(run_of_both, UNKNOWN_COST) == {
        "total_tokens": (1_500_060, 7_000_060),
        "non_cache_tokens": (500_030, 7_000_030),
    }


@pytest.mark.parametrize(
    ("low", "usd", "high"),
    [(0.2, 0.1, 0.3), (0.0, 0.4, 0.3), (None, 0.1, 0.3), (0.1, 0.2, None), (0.1, None, 0.3)],
)
def test_a_range_that_does_not_hold_its_amount_is_refused(
    low: float | None, usd: float | None, high: float | None
) -> None:
    provenance = CostProvenance.UNKNOWN if usd is None else CostProvenance.METERED
    with pytest.raises(ValueError, match="low_usd"):
        Cost(usd=usd, provenance=provenance, price_table=None, low_usd=low, high_usd=high)


def table(*tasks: str) -> ArmTable:
    """One run of every task, of which those of "stopped" have a cost between 1 and 3 dollars."""
    cost = Cost(usd=2.0, provenance=CostProvenance.METERED, price_table=None, low_usd=1.0, high_usd=3.0)
    runs = [
        a_run(task, arm, cost=cost if task == "stopped" else reported_cost(0.5))
        for task in tasks
        for arm in ("old", "new")
    ]
    return compare_arms(evidence_of(runs), "old", "new").baseline_table


def ends_of(arm: ArmTable) -> list[list[float]]:
    return [np.nan_to_num(end, nan=-1.0).tolist() for end in arm.ranges["cost_usd"]]


def test_ranges_stay_with_their_runs_when_tasks_are_left_out_or_tables_are_joined() -> None:
    whole = table("plain", "stopped")

    assert ends_of(whole) == [[-1.0, 1.0], [-1.0, 3.0]]
    assert ends_of(keep_tasks(whole, {"stopped"})) == [[1.0], [3.0]]
    assert ends_of(join_tables(table("stopped"), table("plain"))) == [[1.0, -1.0], [3.0, -1.0]]
    assert table("plain").ranges == {}
