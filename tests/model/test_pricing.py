from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path
from types import MappingProxyType

import pytest

from outweigh.errors import UsageError
from outweigh.model.pricing import PRICES_NOT_INSTALLED, ModelPrices, PriceTables, UserPriceTable, price_usage
from outweigh.model.usage import NO_USAGE, CostProvenance, Usage
from outweigh.prices import GenaiPrices, read_prices

USAGE = Usage(input_tokens=300, output_tokens=100, cache_read_tokens=500, cache_write_tokens=200)


def test_every_kind_of_token_has_its_own_price() -> None:
    prices = ModelPrices(
        input_usd_per_million=3.0,
        output_usd_per_million=15.0,
        cache_read_usd_per_million=0.3,
        cache_write_usd_per_million=3.75,
    )

    assert price_usage(USAGE, prices).value == pytest.approx((300 * 3 + 100 * 15 + 500 * 0.3 + 200 * 3.75) / 1e6)


def test_the_two_term_formula_is_the_case_without_cache_traffic() -> None:
    usage = Usage(input_tokens=1000, output_tokens=200, cache_read_tokens=0, cache_write_tokens=0)
    prices = ModelPrices(input_usd_per_million=15.0, output_usd_per_million=75.0)

    assert price_usage(usage, prices).value == pytest.approx(0.03)


def test_an_unlisted_cache_price_or_an_unknown_count_makes_the_cost_unknown() -> None:
    prices = ModelPrices(input_usd_per_million=15.0, output_usd_per_million=75.0)

    assert price_usage(USAGE, prices).reason == "no cache_read price is listed"
    assert price_usage(NO_USAGE, prices).reason == "input tokens are unknown"


def bundled_cost(model: str, usage: Usage, at: datetime | None = None) -> float:
    cost, reason = PriceTables(GenaiPrices()).cost(model, usage, at)
    assert cost is not None, reason
    assert cost.usd is not None
    return cost.usd


def test_the_bundled_prices_count_cached_tokens_once() -> None:
    assert bundled_cost("claude-sonnet-4-5", USAGE) == pytest.approx(
        (300 * 3 + 100 * 15 + 500 * 0.3 + 200 * 3.75) / 1e6
    )


def test_a_long_run_is_not_priced_as_one_long_request() -> None:
    long_run = Usage(input_tokens=1_000_000, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)

    assert bundled_cost("claude-sonnet-4-5", long_run) == pytest.approx(3.0)


def test_an_undated_run_gets_no_discount_for_the_night() -> None:
    usage = Usage(input_tokens=100_000, output_tokens=0, cache_read_tokens=0, cache_write_tokens=0)

    assert bundled_cost("deepseek-chat", usage) == bundled_cost(
        "deepseek-chat", usage, datetime(2030, 1, 1, 12, tzinfo=UTC)
    )


def test_a_provider_prefix_is_understood() -> None:
    assert bundled_cost("anthropic/claude-sonnet-4-5", USAGE) == bundled_cost("claude-sonnet-4-5", USAGE)


def test_a_listed_model_without_a_cache_price_is_not_priced_by_somebody_else() -> None:
    own = UserPriceTable("mine", {"gpt-4o": ModelPrices(input_usd_per_million=1.0, output_usd_per_million=1.0)})

    assert PriceTables(own, GenaiPrices()).cost("gpt-4o", USAGE, None) == (None, "no cache_read price is listed")


def test_an_unknown_model_has_an_unknown_cost_never_zero() -> None:
    cost, reason = PriceTables(GenaiPrices()).cost("no-such-model", USAGE, None)

    assert cost is None
    assert "no price is known for model 'no-such-model'" in reason


def test_the_users_own_prices_win_and_are_named_on_the_cost() -> None:
    own = UserPriceTable("mine", {"gpt-4o": ModelPrices(input_usd_per_million=1.0, output_usd_per_million=1.0)})
    usage = Usage(input_tokens=10, output_tokens=10, cache_read_tokens=0, cache_write_tokens=0)

    cost, _ = PriceTables(own, GenaiPrices()).cost("gpt-4o", usage, None)

    assert cost is not None
    assert cost.usd == pytest.approx(2e-5)
    assert (cost.provenance, cost.price_table) == (CostProvenance.PRICED, "mine")


def test_a_model_the_user_does_not_list_falls_back_to_the_bundled_prices() -> None:
    cost, _ = PriceTables(UserPriceTable("mine", {}), GenaiPrices()).cost("gpt-4o", USAGE, None)

    assert cost is not None
    assert cost.price_table is not None
    assert cost.price_table.startswith("genai-prices-")


def test_without_a_model_nothing_can_be_priced() -> None:
    cost, reason = PriceTables(GenaiPrices()).cost(None, USAGE, None)

    assert cost is None
    assert "model is not recorded" in reason


@pytest.mark.parametrize(
    "content",
    [
        "name = 1",
        "nonsense = = 2",
        'name = "x"\n[models.a]\ninput_usd_per_million = -1\noutput_usd_per_million = 1',
        'name = "x"\n[models.a]\ninput_usd_per_million = 1\noutput_usd_per_million = 1\ncolour = 3',
        'name = "x"\n[models.a]\ninput_usd_per_million = inf\noutput_usd_per_million = 1',
    ],
)
def test_a_broken_price_file_is_refused_with_what_it_needs(tmp_path: Path, content: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(content)

    with pytest.raises(UsageError, match="input_usd_per_million"):
        read_prices(str(path))


class NotInstalled:
    """A price table whose data is not installed."""

    name = "absent"
    unavailable = f"{PRICES_NOT_INSTALLED}: install it"
    hosted_usd: Mapping[str, float] = MappingProxyType({})

    def prices(self, model: str, at: datetime | None) -> ModelPrices | None:
        return None


def test_a_price_list_that_is_not_installed_is_the_reason_of_an_unknown_cost() -> None:
    cost, reason = PriceTables(NotInstalled()).cost("gpt-4o", USAGE, None)

    assert cost is None
    assert "the price list is not installed: install it" in reason


def test_a_price_list_that_is_not_installed_is_not_blamed_where_tokens_are_unknown() -> None:
    usage = Usage(input_tokens=None, output_tokens=10, cache_read_tokens=0, cache_write_tokens=0)

    assert PriceTables(NotInstalled()).cost("gpt-4o", usage, None) == (None, "input tokens are unknown")
