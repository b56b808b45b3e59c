"""What a bill costs: by tier, speed, size, region and hosted tools; unknown where a price is missing."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from outweigh.model.bill import Charge, group_bills, price_bill, price_bills, request_bill, sum_charges
from outweigh.model.pricing import LongContextPrices, ModelPrices, PriceTables, TierPrices, UserPriceTable
from outweigh.model.usage import BilledUsage, Usage
from outweigh.prices import read_prices

PRICES = ModelPrices(
    input_usd_per_million=2.0,
    output_usd_per_million=10.0,
    cache_read_usd_per_million=0.2,
    cache_write_usd_per_million=2.5,
    long_context=(
        LongContextPrices(above_tokens=1000, input_usd_per_million=4.0, output_usd_per_million=20.0),
        LongContextPrices(above_tokens=5000, input_usd_per_million=6.0, output_usd_per_million=30.0),
    ),
    tiers={"flex": TierPrices(input_usd_per_million=1.0, output_usd_per_million=5.0)},
    tier_factors={"fast": 6.0},
    region_factors={"us": 1.1},
    hosted_usd={"web_search": 0.01},
    hosted_usd_per_request={"google_search": 0.035},
)
TABLES = PriceTables(UserPriceTable("mine", {"m": PRICES}))


def usage(sent: int, got: int = 0, read: int = 0, written: int = 0) -> Usage:
    return Usage(input_tokens=sent, output_tokens=got, cache_read_tokens=read, cache_write_tokens=written)


def charge(bill: BilledUsage) -> Charge:
    return price_bill(bill, TABLES, None)


@pytest.mark.parametrize(
    ("bill", "usd_per_million"),
    [
        (BilledUsage(model="m", usage=usage(1000, 100)), 1000 * 2 + 100 * 10),
        (BilledUsage(model="m", usage=usage(1001, 100)), 1001 * 4 + 100 * 20),
        (BilledUsage(model="m", usage=usage(5001, 100)), 5001 * 6 + 100 * 30),
        (BilledUsage(model="m", usage=usage(100, 100), service_tier="flex"), 100 * 1 + 100 * 5),
        (BilledUsage(model="m", usage=usage(2000, 100), service_tier="flex"), 2000 * 1 + 100 * 5),
        (BilledUsage(model="m", usage=usage(100, 100), speed="fast"), 6 * (100 * 2 + 100 * 10)),
        (BilledUsage(model="m", usage=usage(2000, 100), speed="fast"), 6 * (2000 * 4 + 100 * 20)),
        (BilledUsage(model="m", usage=usage(100), speed="fast", region="us"), 1.1 * 6 * 100 * 2),
        (BilledUsage(model="m", usage=usage(100), service_tier="DEFAULT", speed="standard", region="global"), 200),
        (BilledUsage(model="m", usage=usage(0, written=300), hour_write_tokens=100), 200 * 2.5 + 100 * 4),
        (BilledUsage(model="m", usage=usage(0), hosted_uses={"web_search": 3}), 3 * 0.01 * 1e6),
        (BilledUsage(model="m", usage=usage(0), hosted_uses={"google_search": 3}), 0.035 * 1e6),
        (BilledUsage(model="m", usage=usage(0), hosted_uses={"unlisted": 0}), 0),
    ],
)
def test_a_bill_is_priced_by_what_it_states(bill: BilledUsage, usd_per_million: float) -> None:
    found = charge(bill)

    assert found.usd == pytest.approx(usd_per_million / 1e6)
    assert found.low_usd == found.high_usd == found.usd
    assert not found.by_provider


def test_what_the_provider_charged_wins_over_the_listed_prices() -> None:
    found = charge(BilledUsage(model="m", usage=usage(1000), provider_usd=0.5, hosted_uses={"web_search": 3}))

    assert (found.usd, found.by_provider, found.tables) == (0.5, True, ())


@pytest.mark.parametrize(
    ("bill", "reason"),
    [
        (BilledUsage(model="m", usage=usage(100), service_tier="scale"), "service tier 'scale'"),
        (BilledUsage(model="m", usage=usage(100), speed="warp"), "speed 'warp'"),
        (BilledUsage(model="m", usage=usage(100), speed="fast", service_tier="flex"), "with speed 'fast'"),
        (BilledUsage(model="m", usage=usage(100), region="eu"), "region 'eu'"),
        (BilledUsage(model="m", usage=usage(100), hosted_uses={"painting": 1}), "'painting'"),
        (BilledUsage(model="other", usage=usage(100)), "no price is known for model 'other'"),
        (BilledUsage(model=None, usage=usage(100)), "the model is not recorded"),
    ],
)
def test_what_is_not_listed_is_unknown_and_never_the_standard_price(bill: BilledUsage, reason: str) -> None:
    found = charge(bill)

    assert found.usd is None
    assert reason in found.explanation


def test_an_unlisted_tier_lies_between_the_cheapest_and_the_most_expensive_that_are_listed() -> None:
    found = charge(BilledUsage(model="m", usage=usage(100), service_tier="scale"))

    assert found.low_usd == pytest.approx(100e-6)
    assert found.high_usd == pytest.approx(1200e-6)
    assert "between $0.0001 and $0.0012" in found.explanation


def test_a_model_with_one_price_gives_no_range_for_another_tier() -> None:
    tables = PriceTables(UserPriceTable("mine", {"m": ModelPrices(input_usd_per_million=1, output_usd_per_million=1)}))

    found = price_bill(BilledUsage(model="m", usage=usage(100), service_tier="flex"), tables, None)

    assert (found.usd, found.low_usd, found.high_usd) == (None, None, None)


def test_a_free_model_is_free_in_every_tier() -> None:
    tables = PriceTables(UserPriceTable("mine", {"m": ModelPrices(input_usd_per_million=0, output_usd_per_million=0)}))

    found = price_bill(BilledUsage(model="m", usage=usage(100), service_tier="local", region="here"), tables, None)

    assert (found.usd, found.reason) == (0.0, "")


def test_requests_of_one_kind_are_joined_and_those_of_another_tier_are_not() -> None:
    small, large = (replace(request_bill("m", usage(size)), hosted_uses={"web_search": 1}) for size in (10, 20))
    flex = replace(request_bill("m", usage(5)), service_tier="flex")

    joined = group_bills([small, flex, large])

    assert [(bill.requests, bill.usage.input_tokens, bill.largest_prompt_tokens) for bill in joined] == [
        (2, 30, 20),
        (1, 5, 5),
    ]
    assert joined[0].hosted_uses == {"web_search": 2}
    assert price_bills(joined, TABLES, None).usd == pytest.approx(30 * 2e-6 + 5e-6 + 2 * 0.01)


def test_requests_on_both_sides_of_a_published_size_are_not_joined() -> None:
    joined = group_bills(request_bill("m", usage(size)) for size in (1, 200_000, 200_001, 300_000, 2, 272_001))

    assert [(bill.smallest_prompt_tokens, bill.largest_prompt_tokens) for bill in joined] == [
        (1, 2),
        (200_000, 200_000),
        (200_001, 200_001),
        (272_001, 300_000),
    ]


def test_joined_requests_that_are_all_long_are_priced_as_long_ones() -> None:
    joined = group_bills(request_bill("m", usage(size)) for size in (6000, 7000))

    assert price_bills(joined, TABLES, None).usd == pytest.approx(13_000 * 6 / 1e6)


def test_joined_requests_of_which_one_is_long_have_a_range() -> None:
    joined = BilledUsage(model="m", usage=usage(3000), requests=2, largest_prompt_tokens=2000)

    found = charge(joined)

    assert found.usd is None
    assert found.low_usd == pytest.approx(6000e-6)
    assert found.high_usd == pytest.approx(12000e-6)


def test_tokens_of_an_unknown_number_of_requests_have_the_ordinary_prices() -> None:
    assert charge(BilledUsage(model="m", usage=usage(1_000_000), requests=None)).usd == pytest.approx(2.0)


def test_one_unknown_part_makes_a_sum_unknown_and_keeps_its_bounds() -> None:
    total = sum_charges(
        [
            Charge(usd=1.0, low_usd=1.0, high_usd=1.0, by_provider=True),
            Charge(usd=None, reason="why", low_usd=2.0, high_usd=3.0),
        ]
    )

    assert (total.usd, total.reason, total.low_usd, total.high_usd) == (None, "why", 3.0, 4.0)
    assert not total.by_provider


def test_the_users_file_can_state_tiers_sizes_regions_and_tools(tmp_path: Path) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(
        """
        name = "mine"
        [models.m]
        input_usd_per_million = 2.0
        output_usd_per_million = 10.0
        cache_write_usd_per_million = 2.5
        cache_write_hour_usd_per_million = 5.0
        tier_factors = { fast = 3.0 }
        region_factors = { eu = 1.2 }
        hosted_usd = { web_search = 0.02 }
        [[models.m.long_context]]
        above_tokens = 1000
        input_usd_per_million = 4.0
        output_usd_per_million = 15.0
        [models.m.tiers.flex]
        input_usd_per_million = 1.0
        output_usd_per_million = 5.0
        """
    )
    tables = PriceTables(read_prices(str(path)))

    def usd(bill: BilledUsage) -> float | None:
        return price_bill(bill, tables, None).usd

    assert usd(BilledUsage(model="m", usage=usage(1001))) == pytest.approx(1001 * 4 / 1e6)
    assert usd(BilledUsage(model="m", usage=usage(10), service_tier="flex")) == pytest.approx(10 / 1e6)
    assert usd(BilledUsage(model="m", usage=usage(10), speed="fast", region="eu")) == pytest.approx(72 / 1e6)
    assert usd(BilledUsage(model="m", usage=usage(0, written=10), hour_write_tokens=10)) == pytest.approx(50 / 1e6)
    assert usd(BilledUsage(model="m", usage=usage(0), hosted_uses={"web_search": 2})) == pytest.approx(0.04)
