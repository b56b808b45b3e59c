from math import inf

import pytest
from msgspec.structs import replace

from outweigh.model.pricing import ModelPrices, PriceTables, UserPriceTable
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST, CostProvenance, Metering, ReportedUsage, Usage
from outweigh.score.resource_usage import cache_normalised_cost, cache_read_share, cost_of_pass, run_cost
from outweigh.testing.builders import a_run

LIST = UserPriceTable(
    "list",
    {
        "m": ModelPrices(
            input_usd_per_million=1.0,
            output_usd_per_million=1.0,
            cache_read_usd_per_million=1.0,
            cache_write_usd_per_million=1.0,
        )
    },
)
AGENT = AgentIdentity(kind=AgentKind.REAL, name="agent", version=None, model="m")


def test_a_recorded_cost_is_not_priced_again() -> None:
    cost, _ = run_cost(a_run(agent=AGENT), PriceTables(LIST))

    assert (cost.usd, cost.provenance) == (0.10, CostProvenance.REPORTED)


def test_a_missing_cost_is_priced_from_the_tokens_and_says_so() -> None:
    cost, reason = run_cost(a_run(agent=AGENT, cost=UNKNOWN_COST), PriceTables(LIST))

    assert cost.usd == pytest.approx(9900e-6)
    assert (cost.provenance, cost.price_table, reason) == (CostProvenance.PRICED, "list", "")


def test_a_cost_nobody_can_know_stays_unknown_with_the_reason() -> None:
    cost, reason = run_cost(a_run(cost=UNKNOWN_COST), PriceTables(LIST))

    assert cost.usd is None
    assert "model is not recorded" in reason


def test_a_pass_costs_its_run_and_a_failure_never_passes() -> None:
    assert cost_of_pass(0.5, 1).value == 0.5
    assert cost_of_pass(0.5, 0.25).value == 2.0
    assert cost_of_pass(0.5, 0).value == inf
    assert cost_of_pass(None, 1).value is None
    assert cost_of_pass(0.5, None).value is None


def test_what_came_through_the_gateway_is_not_priced_as_the_whole_when_the_agent_knows_of_more() -> None:
    metered = Usage(input_tokens=100, output_tokens=10, cache_read_tokens=0, cache_write_tokens=0)
    run = a_run(
        agent=AGENT,
        metering=Metering(
            requests=1,
            failed_requests=0,
            models={"m": metered},
            time_to_first_token_seconds=None,
            model_seconds=1.0,
        ),
        reported=ReportedUsage(usage=replace(metered, output_tokens=11), cost_usd=None, requests=None),
    )

    for recorded in (run, replace(run, cost=UNKNOWN_COST, usage=NO_USAGE)):
        cost, reason = run_cost(recorded, PriceTables(LIST))
        assert cost.usd is None
        assert "11 output tokens where 10 came through the gateway" in reason
        assert cache_normalised_cost(recorded, PriceTables(LIST)).value is None


def test_the_share_read_from_the_cache_is_of_everything_that_was_sent() -> None:
    usage = Usage(input_tokens=1000, output_tokens=7, cache_read_tokens=8000, cache_write_tokens=1000)

    assert cache_read_share(usage).value == pytest.approx(0.8)
    assert cache_read_share(replace(usage, cache_read_tokens=0)).value == 0
    nothing = Usage(input_tokens=0, output_tokens=7, cache_read_tokens=0, cache_write_tokens=0)
    assert cache_read_share(nothing).reason == "nothing was sent"


def test_what_the_provider_ran_is_part_of_the_price_and_unknown_without_one() -> None:
    usage = Usage(input_tokens=1000, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)
    metering = Metering(
        requests=1,
        failed_requests=0,
        models={"m": usage},
        time_to_first_token_seconds=None,
        model_seconds=1.0,
        hosted_uses={"web_search": 3},
    )
    run = replace(a_run(agent=AGENT, cost=UNKNOWN_COST), metering=metering)
    searches = UserPriceTable("searches", {}, {"web_search": 0.01})

    unpriced, reason = run_cost(run, PriceTables(LIST))
    priced, _ = run_cost(run, PriceTables(searches, LIST))

    assert unpriced.usd is None
    assert "'web_search'" in reason
    assert priced.usd == pytest.approx(0.001 + 0.03)
