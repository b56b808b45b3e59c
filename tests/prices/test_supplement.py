"""Every figure of the supplement follows from what the provider publishes, which is stated here a second time."""

from datetime import UTC, date, datetime

import pytest

from outweigh.model.pricing import ModelPrices
from outweigh.prices import GenaiPrices
from outweigh.prices.supplement import read_supplement

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)


def listed(model: str, at: datetime = NOW) -> ModelPrices:
    found = GenaiPrices().prices(model, at)
    assert found is not None
    return found


FAST_MODE = {
    # Dollars per million tokens of input and output: standard, and fast mode.
    "claude-opus-4-6": ((5, 25), (30, 150)),
    "claude-opus-4-7": ((5, 25), (30, 150)),
    "claude-opus-4-8": ((5, 25), (10, 50)),
    "claude-opus-5": ((5, 25), (10, 50)),
    "claude-opus-5-5": ((4, 20), (8, 40)),
}


@pytest.mark.parametrize("model", FAST_MODE)
def test_fast_mode_has_its_published_prices(model: str) -> None:
    standard, fast = FAST_MODE[model]
    prices = listed(model)
    scaled = prices.times(prices.tier_factors["fast"])

    assert (prices.input_usd_per_million, prices.output_usd_per_million) == standard
    assert (scaled.input_usd_per_million, scaled.output_usd_per_million) == fast


def test_fast_mode_is_listed_for_no_other_model() -> None:
    entries = [entry for entry in read_supplement().entries if "fast" in entry.tier_factors]

    assert {model for entry in entries for model in entry.models} == set(FAST_MODE)


@pytest.mark.parametrize(
    ("model", "factors"),
    [
        ("claude-opus-4-6", {"us": 1.1}),
        ("claude-opus-5-5", {"us": 1.1}),
        ("claude-sonnet-4-6", {"us": 1.1}),
        ("claude-haiku-5-5", {"us": 1.1}),
        ("claude-opus-4-5", {}),
        ("claude-sonnet-4-5", {}),
        ("claude-haiku-4-5", {}),
    ],
)
def test_a_region_costs_a_tenth_more_from_claude_4_6_on(model: str, factors: dict[str, float]) -> None:
    assert listed(model).region_factors == factors


PER_THOUSAND_USES = [
    ("claude-sonnet-4-5", "web_search", 10),
    ("claude-haiku-4-5", "web_fetch", 0),
    ("gpt-5", "web_search", 10),
    ("gpt-5", "web_search_preview", 10),
    ("o3", "web_search_preview", 10),
    ("gpt-4o", "web_search_preview", 25),
    ("gpt-4.1-mini", "web_search_preview", 25),
    ("gpt-4.1", "web_search", 10),
    ("gpt-4.1", "file_search", 2.5),
    ("gpt-4o-search-preview", "web_search", 25),
    ("gemini-3.1-pro-preview", "google_search", 14),
    ("gemini-2.5-flash", "url_context", 0),
]


@pytest.mark.parametrize(("model", "tool", "usd"), PER_THOUSAND_USES)
def test_a_thousand_uses_of_a_hosted_tool_have_their_published_price(model: str, tool: str, usd: float) -> None:
    assert 1000 * listed(model).hosted_usd[tool] == pytest.approx(usd)


@pytest.mark.parametrize(("tool", "usd"), [("google_search", 35), ("google_maps", 25)])
def test_gemini_2_is_billed_by_the_grounded_prompt(tool: str, usd: float) -> None:
    assert 1000 * listed("gemini-2.5-pro").hosted_usd_per_request[tool] == pytest.approx(usd)


def test_containers_have_bounds_because_responses_do_not_state_them() -> None:
    code, interpreter = (
        listed("claude-opus-5").hosted_usd_range["code_execution"],
        listed("gpt-5").hosted_usd_range["code_interpreter"],
    )

    assert (code.low_usd, code.high_usd) == (0, 0.05)  # an hour of a container
    assert (interpreter.low_usd, interpreter.high_usd) == (0, 64 * 0.03)  # 64 GB at $0.03 for each


def test_every_entry_names_its_source_and_the_file_its_day() -> None:
    supplement = read_supplement()

    assert date.fromisoformat(supplement.retrieved) <= date(2026, 11, 16)
    for entry in supplement.entries:
        provider, _, address = entry.source.partition(", ")
        assert provider.lower() == entry.provider
        assert ": https://" in address


class TestGenaiPrices:
    """What is taken from genai-prices, where its figures agree with the published tables."""

    @pytest.mark.parametrize(
        "model", ["claude-opus-4-6", "claude-sonnet-4-5", "claude-haiku-4-5", "claude-opus-5", "claude-sonnet-5"]
    )
    def test_claudes_cache_prices_are_multiples_of_its_input(self, model: str) -> None:
        prices = listed(model)
        fresh = prices.input_usd_per_million

        assert prices.cache_read_usd_per_million == pytest.approx(0.1 * fresh)
        assert prices.cache_write_usd_per_million == pytest.approx(1.25 * fresh)
        assert prices.cache_write_hour_usd_per_million == pytest.approx(2 * fresh)
        assert prices.tiers["batch"].input_usd_per_million == pytest.approx(fresh / 2)
        assert prices.tiers["batch"].output_usd_per_million == pytest.approx(prices.output_usd_per_million / 2)

    @pytest.mark.parametrize(
        ("model", "above"),
        [("claude-sonnet-4-5", 200_000), ("gpt-5.4", 272_000), ("gemini-2.5-pro", 200_000)],
    )
    def test_a_long_context_costs_twice_the_input_and_half_as_much_output_again(self, model: str, above: int) -> None:
        prices = listed(model)
        (long,) = prices.long_context

        assert long.above_tokens == above
        assert long.input_usd_per_million == pytest.approx(2 * prices.input_usd_per_million)
        assert long.cache_read_usd_per_million == pytest.approx(2 * (prices.cache_read_usd_per_million or 0))
        assert long.output_usd_per_million == pytest.approx(1.5 * prices.output_usd_per_million)

    @pytest.mark.parametrize(
        ("model", "tier", "factor"),
        [
            ("gpt-5", "flex", 0.5),
            ("gpt-5", "batch", 0.5),
            ("gpt-5", "priority", 2),
            ("gpt-5-mini", "priority", 1.8),
            ("gpt-4.1", "priority", 1.75),
            ("gpt-5.4", "flex", 0.5),
            ("gpt-5.4", "priority", 2),
        ],
    )
    def test_a_service_tier_has_its_published_multiple(self, model: str, tier: str, factor: float) -> None:
        prices = listed(model)
        found = prices.tiers[tier]

        assert found.input_usd_per_million == pytest.approx(factor * prices.input_usd_per_million)
        assert found.output_usd_per_million == pytest.approx(factor * prices.output_usd_per_million)

    def test_an_undated_run_does_not_have_prices_that_are_announced_for_later(self) -> None:
        undated = GenaiPrices().prices("gemini-3.8-flash", None)

        # $0.75 until the end of 2026, $1.50 from then on.
        assert undated == listed("gemini-3.8-flash")
        assert undated != listed("gemini-3.8-flash", datetime(2027, 1, 1, 12, tzinfo=UTC))

    def test_a_tier_is_known_before_the_list_recorded_it_while_the_standard_prices_were_the_same(self) -> None:
        assert "flex" in listed("gpt-5.4", datetime(2026, 4, 1, tzinfo=UTC)).tiers

    def test_a_tier_is_not_known_from_before_the_standard_prices_changed(self) -> None:
        # Its standard price fell on 21 August 2026, and the list has its tiers since October.
        assert "flex" not in listed("gpt-5.6-sol", datetime(2026, 8, 1, tzinfo=UTC)).tiers
        assert "flex" in listed("gpt-5.6-sol", datetime(2026, 9, 1, tzinfo=UTC)).tiers

    def test_a_long_context_that_ended_counts_until_its_last_day(self) -> None:
        assert listed("claude-opus-4-6", datetime(2026, 3, 1, tzinfo=UTC)).long_context
        assert not listed("claude-opus-4-6").long_context
