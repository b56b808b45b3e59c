"""Every request is priced by what its response states: searches, speed, size, tier, region, cache and summaries.

The figures are computed by hand from the published prices, per million tokens: Claude Sonnet 4.5 costs $3 for input and
$15 for output ($6 and $22.50 above 200,000 tokens), Claude Opus 4.6 $5 and $25, GPT-5.4 $2.50 and $15.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime

import pytest
from tests.gateway.gateway_fixtures import Way, a_way_through
from tests.gateway.plain_http import post

from outweigh.engine.finish import apply_metering
from outweigh.gateway.dialects.anthropic_messages import AnthropicResponse
from outweigh.gateway.dialects.gemini_generate_content import GeminiResponse
from outweigh.gateway.dialects.openai_responses import OpenAIResponsesResponse
from outweigh.gateway.dialects.request_and_response import GenerationRequest
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.request_cost import price_response
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.pricing import PriceTables
from outweigh.model.provider import ApiFamily
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.usage import CostProvenance
from outweigh.ports.agents import build_outcome
from outweigh.prices import GenaiPrices
from outweigh.testing.model_server import BillingSpec, ModelServer, Script, Turn, UsageSpec
from outweigh.transcript.token_counts import read_provider_cost

NOW = datetime(2026, 11, 16, 12, tzinfo=UTC)
SONNET, OPUS, HAIKU, GPT = "claude-sonnet-4-5", "claude-opus-4-6", "claude-haiku-4-5", "gpt-5.4"
MESSAGES, RESPONSES, CHAT = "/v1/messages", "/v1/responses", "/v1/chat/completions"
SEARCH = {"type": "web_search_20250305", "name": "web_search"}


def body_for(path: str, model: str, **fields: object) -> dict[str, object]:
    said = {"input": "Hi"} if path == RESPONSES else {"messages": [{"role": "user", "content": "Hi"}]}
    return {"model": model, "max_tokens": 9, **said, **fields}


@contextmanager
def a_priced_way(turn: Turn, *, budget_usd: float | None = None, allow: tuple[str, ...] = ()) -> Iterator[Way]:
    """A run through a gateway with the bundled prices, to a server that always answers with this turn."""
    with ModelServer(Script(turn=[turn])) as server:
        upstreams = {provider: ModelUpstream(url=server.url, variable="", key="") for provider in ApiFamily}
        with (
            ModelGateway(upstreams, PriceTables(GenaiPrices()), lambda: NOW) as gateway,
            a_way_through(gateway, budget_usd=budget_usd, allow=allow) as way,
        ):
            yield way


def ask(way: Way, path: str, body: dict[str, object]) -> int:
    return post(way.url + path, body, {"authorization": f"Bearer {way.key}"}).status


def tokens(sent: int, got: int, **other: int) -> UsageSpec:
    return UsageSpec(input_tokens=sent, output_tokens=got, **other)


def priced(
    path: str, model: str, usage: UsageSpec, billing: BillingSpec, *, allow: tuple[str, ...] = (), **fields: object
) -> float | None:
    with a_priced_way(Turn(text="Done.", usage=usage, billing=billing), allow=allow) as way:
        assert ask(way, path, body_for(path, model, **fields)) == 200
        (call,) = way.account().calls
    counts = (call.usage.input_tokens, call.usage.output_tokens, call.usage.cache_read_tokens)
    assert counts == (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens or 0)
    return call.cost_usd


@pytest.mark.parametrize("stream", [False, True])
class TestTable:
    """The cases of the audit, whole and streamed."""

    def test_five_searches_of_anthropic_cost_five_cents(self, stream: bool) -> None:
        cost = priced(
            MESSAGES,
            SONNET,
            tokens(1000, 500),
            BillingSpec(searches=5),
            allow=("web_search",),
            tools=[SEARCH],
            stream=stream,
        )

        assert cost == pytest.approx(0.003 + 0.0075 + 5 * 0.01) == pytest.approx(0.0605)

    def test_three_searches_of_openai_cost_three_cents(self, stream: bool) -> None:
        cost = priced(
            RESPONSES,
            GPT,
            tokens(1200, 1000),
            BillingSpec(searches=3),
            allow=("web_search",),
            tools=[{"type": "web_search"}],
            stream=stream,
        )

        assert cost == pytest.approx(0.018 + 3 * 0.01) == pytest.approx(0.048)

    def test_fast_mode_costs_six_times_as_much(self, stream: bool) -> None:
        cost = priced(MESSAGES, OPUS, tokens(1000, 500), BillingSpec(speed="fast"), speed="fast", stream=stream)

        assert cost == pytest.approx(6 * (0.005 + 0.0125)) == pytest.approx(0.105)

    def test_a_long_prompt_has_the_prices_of_a_long_context(self, stream: bool) -> None:
        cost = priced(MESSAGES, SONNET, tokens(250_000, 1000), BillingSpec(), stream=stream)

        assert cost == pytest.approx(250_000 * 6 / 1e6 + 1000 * 22.5 / 1e6)
        assert round(cost or 0.0, 2) == 1.52

    @pytest.mark.parametrize(("tier", "usd"), [("default", 0.018), ("flex", 0.009), ("priority", 0.036)])
    @pytest.mark.parametrize("path", [RESPONSES, CHAT])
    def test_a_service_tier_has_its_own_prices(self, stream: bool, path: str, tier: str, usd: float) -> None:
        cost = priced(path, GPT, tokens(1200, 1000), BillingSpec(service_tier=tier), service_tier=tier, stream=stream)

        assert cost == pytest.approx(usd)

    @pytest.mark.parametrize("path", [MESSAGES, RESPONSES, CHAT])
    def test_what_a_router_says_that_it_charged_is_the_cost(self, stream: bool, path: str) -> None:
        turn = Turn(text="Done.", usage=tokens(1000, 200), billing=BillingSpec(cost_usd=0.0123))
        with a_priced_way(turn) as way:
            assert ask(way, path, body_for(path, "some/router-model", stream=stream)) == 200
            account = way.account()
        agent = AgentIdentity(kind=AgentKind.REAL, name="agent", version=None, model=None)
        outcome = apply_metering(build_outcome(agent), account).outcome

        assert outcome.cost.usd == pytest.approx(0.0123)
        assert outcome.cost.provenance is CostProvenance.PROVIDER
        assert outcome.cost.provenance.phrase == "reported by provider"
        assert outcome.cost.price_table is None


class TestOtherPrices:
    def test_the_preview_of_openais_search_has_its_own_price_and_name(self) -> None:
        turn = Turn(text="Done.", usage=tokens(1000, 100), billing=BillingSpec(searches=2))
        with a_priced_way(turn, allow=("web_search_preview",)) as way:
            ask(way, RESPONSES, body_for(RESPONSES, "gpt-4.1", tools=[{"type": "web_search_preview_2025_03_11"}]))
            (call,) = way.account().calls

        assert call.hosted_uses == {"web_search_preview": 2}
        assert call.cost_usd == pytest.approx(1000 * 2 / 1e6 + 100 * 8 / 1e6 + 2 * 0.025)

    def test_cached_tokens_count_for_the_size_of_a_prompt(self) -> None:
        usage = tokens(1000, 1000, cache_read_tokens=199_000, cache_write_tokens=1)

        cost = priced(MESSAGES, SONNET, usage, BillingSpec())

        assert cost == pytest.approx((1000 * 6 + 199_000 * 0.6 + 1 * 7.5 + 1000 * 22.5) / 1e6)

    def test_a_prompt_of_exactly_the_threshold_is_not_long(self) -> None:
        assert priced(MESSAGES, SONNET, tokens(200_000, 0), BillingSpec()) == pytest.approx(0.6)

    def test_what_is_cached_for_an_hour_costs_twice_the_input(self) -> None:
        usage = tokens(0, 0, cache_write_tokens=3000)

        cost = priced(MESSAGES, OPUS, usage, BillingSpec(hour_write_tokens=1000))

        assert cost == pytest.approx((2000 * 6.25 + 1000 * 10) / 1e6)

    def test_inference_in_the_united_states_costs_a_tenth_more(self) -> None:
        cost = priced(MESSAGES, OPUS, tokens(1000, 500), BillingSpec(region="us"), inference_geo="us")

        assert cost == pytest.approx(1.1 * 0.0175)

    def test_a_batch_costs_half(self) -> None:
        assert priced(MESSAGES, OPUS, tokens(1000, 500), BillingSpec(service_tier="batch")) == pytest.approx(0.00875)

    @pytest.mark.parametrize(("model", "usd"), [("gemini-2.5-pro", 0.035), ("gemini-3.1-pro-preview", 3 * 0.014)])
    def test_a_gemini_search_is_billed_by_prompt_or_by_query(self, model: str, usd: float) -> None:
        turn = Turn(text="Done.", usage=tokens(0, 0), billing=BillingSpec(searches=3))
        body = {"contents": [{"parts": [{"text": "Hi"}]}], "tools": [{"google_search": {}}]}
        with a_priced_way(turn, allow=("google_search",)) as way:
            ask(way, f"/v1beta/models/{model}:generateContent", body)
            (call,) = way.account().calls

        assert call.cost_usd == pytest.approx(usd)

    @pytest.mark.parametrize("stream", [False, True])
    def test_a_summary_that_the_provider_makes_is_billed_beside_the_answer(self, stream: bool) -> None:
        turn = Turn(
            text="Done.",
            usage=tokens(23_000, 1000),
            billing=BillingSpec(compaction=UsageSpec(input_tokens=180_000, output_tokens=3500)),
        )
        with ModelServer(Script(turn=[turn])) as server:
            upstreams = {provider: ModelUpstream(url=server.url, variable="", key="") for provider in ApiFamily}
            with (
                ModelGateway(upstreams, PriceTables(GenaiPrices()), lambda: NOW) as gateway,
                a_way_through(gateway) as way,
            ):
                ask(way, MESSAGES, body_for(MESSAGES, SONNET, stream=stream))
                (call,) = way.account().calls
            (entry,) = server.ledger

        assert entry.tokens is not None
        assert call.usage == entry.tokens.usage
        # Each was sampled by itself, so neither is a long prompt.
        assert call.cost_usd == pytest.approx((203_000 * 3 + 4500 * 15) / 1e6)


class TestResponses:
    """What responses state that the scripted model does not."""

    def test_an_advisor_and_a_fallback_are_billed_by_their_own_models(self) -> None:
        counts = {"cache_read_input_tokens": 0, "cache_creation_input_tokens": 0}
        parts = [
            {"type": "message", "model": SONNET, "input_tokens": 100, "output_tokens": 10, **counts},
            {"type": "fallback_message", "model": OPUS, "input_tokens": 200, "output_tokens": 20, **counts},
            {
                "type": "advisor_message",
                "model": "claude-haiku-4-5",
                "input_tokens": 1000,
                "output_tokens": 0,
                **counts,
            },
        ]
        read = AnthropicResponse()
        usage = {"input_tokens": 300, "output_tokens": 30, **counts, "iterations": parts}
        read.read_event({"type": "message", "model": OPUS, "content": [], "usage": usage})
        request = GenerationRequest(model=SONNET, is_streamed=False, parts=(), tools=(), first_user_texts=())

        charge = price_response(PriceTables(GenaiPrices()), request, read, NOW)

        assert (read.usage.input_tokens, read.usage.output_tokens) == (1300, 30)
        expected = (100 * 3 + 10 * 15 + 200 * 5 + 20 * 25 + 1000 * 1) / 1e6
        assert charge.usd == pytest.approx(expected)

    def test_parts_that_are_not_the_whole_message_do_not_replace_its_counts(self) -> None:
        part = {"type": "message", "input_tokens": 1, "output_tokens": 1}
        read = AnthropicResponse()
        usage = {"input_tokens": 1000, "output_tokens": 0, "iterations": [part, part]}
        read.read_event({"type": "message", "model": SONNET, "content": [], "usage": usage})
        request = GenerationRequest(model=SONNET, is_streamed=False, parts=(), tools=(), first_user_texts=())

        assert price_response(PriceTables(GenaiPrices()), request, read, NOW).usd == pytest.approx(0.003)

    @pytest.mark.parametrize(
        ("usage", "usd"),
        [
            ({"cost": 0.25}, 0.25),
            ({"cost": 0}, 0.0),
            ({"cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": 1.0}}, 1.05),
            ({"cost": 0.05, "is_byok": True, "cost_details": {"upstream_inference_cost": None}}, None),
            ({"cost": {"input_tokens_cost": 0.1, "total_cost": 0.3}}, 0.3),
            ({"cost_in_usd_ticks": 37_756_000}, 0.0037756),
            ({"cost": -1}, None),
            ({"cost": "0.25"}, None),
            ({"cost": True}, None),
            ({"cost": None}, None),
            ({}, None),
        ],
    )
    def test_a_routers_cost_is_read_with_what_its_provider_charges(
        self, usage: dict[str, object], usd: float | None
    ) -> None:
        found = read_provider_cost(usage)

        assert found is None if usd is None else found == pytest.approx(usd)

    def test_opening_a_page_is_no_search(self) -> None:
        read = OpenAIResponsesResponse()
        actions = ("search", "open_page", "find_in_page", "search")
        output = [{"type": "web_search_call", "action": {"type": action}} for action in actions]
        read.read_event({"output": output, "usage": {"input_tokens": 1, "output_tokens": 1}})

        assert dict(read.hosted_uses) == {"web_search": 2}

    def test_code_that_the_provider_runs_has_a_range(self) -> None:
        read = AnthropicResponse()
        ran = {"type": "server_tool_use", "name": "bash_code_execution", "input": {}}
        read.read_event(
            {"type": "message", "model": OPUS, "content": [ran], "usage": {"input_tokens": 1000, "output_tokens": 0}}
        )
        request = GenerationRequest(model=OPUS, is_streamed=False, parts=(), tools=(), first_user_texts=())

        charge = price_response(PriceTables(GenaiPrices()), request, read, NOW)

        assert charge.usd is None
        assert charge.low_usd == pytest.approx(0.005)
        assert charge.high_usd == pytest.approx(0.055)

    @pytest.mark.parametrize(
        ("stated", "tier"),
        [
            ("ON_DEMAND", "standard"),
            ("ON_DEMAND_PRIORITY", "priority"),
            ("ON_DEMAND_FLEX", "flex"),
            ("PROVISIONED_THROUGHPUT", "provisioned_throughput"),
            ("TRAFFIC_TYPE_UNSPECIFIED", "unspecified"),
        ],
    )
    def test_geminis_names_of_tiers_are_those_of_the_others(self, stated: str, tier: str) -> None:
        read = GeminiResponse()
        read.read_event({"usageMetadata": {"promptTokenCount": 1, "trafficType": stated}})

        assert read.service_tier == tier


class TestUnknown:
    @pytest.mark.parametrize(
        ("billing", "said"),
        [
            (BillingSpec(service_tier="priority"), "service tier 'priority'"),
            (BillingSpec(speed="warp"), "speed 'warp'"),
            (BillingSpec(region="moon"), "region 'moon'"),
        ],
    )
    def test_what_has_no_listed_price_is_unknown_with_its_reason_and_a_range(
        self, billing: BillingSpec, said: str
    ) -> None:
        with a_priced_way(Turn(text="Done.", usage=tokens(1000, 500), billing=billing)) as way:
            ask(way, MESSAGES, body_for(MESSAGES, OPUS))
            account = way.account()
        agent = AgentIdentity(kind=AgentKind.REAL, name="agent", version=None, model=None)
        outcome = apply_metering(build_outcome(agent), account).outcome
        (call,) = account.calls

        assert call.charge is not None
        assert call.cost_usd is None
        assert said in call.charge.reason
        assert call.charge.low_usd is not None
        assert call.charge.high_usd is not None
        assert call.charge.low_usd <= 0.0175 < call.charge.high_usd
        assert outcome.cost.provenance is CostProvenance.UNKNOWN
        assert any(said in warning and "between $" in warning for warning in outcome.warnings)

    def test_a_chat_that_may_have_searched_is_not_priced_by_its_tokens_alone(self) -> None:
        with a_priced_way(Turn(text="Done.", usage=tokens(1000, 500)), allow=("plugins",)) as way:
            ask(way, CHAT, body_for(CHAT, GPT, plugins=[{"id": "web"}]))
            (call,) = way.account().calls

        assert call.cost_usd is None


class TestCaps:
    def test_a_run_in_fast_mode_ends_at_its_budget_and_not_at_six_times_of_it(self) -> None:
        turn = Turn(text="Done.", usage=tokens(1000, 500), billing=BillingSpec(speed="fast"))
        with a_priced_way(turn, budget_usd=0.2) as way:
            statuses = [ask(way, MESSAGES, body_for(MESSAGES, OPUS, speed="fast")) for _ in range(4)]
            paid = [call.cost_usd for call in way.account().calls[:2]]

        # One request costs 0.105, so that the second one is the first that reaches the budget.
        assert statuses == [200, 200, 403, 403]
        assert paid == [pytest.approx(0.105)] * 2

    def test_what_a_router_charges_counts_against_the_budget(self) -> None:
        turn = Turn(text="Done.", usage=tokens(1, 1), billing=BillingSpec(cost_usd=0.5))
        with a_priced_way(turn, budget_usd=0.9) as way:
            assert [ask(way, CHAT, body_for(CHAT, GPT)) for _ in range(3)] == [200, 200, 401]

    def test_a_search_counts_against_the_budget(self) -> None:
        turn = Turn(text="Done.", usage=tokens(1, 1), billing=BillingSpec(searches=10))
        with a_priced_way(turn, budget_usd=0.15, allow=("web_search",)) as way:
            body = body_for(MESSAGES, OPUS, tools=[SEARCH])
            assert [ask(way, MESSAGES, body) for _ in range(3)] == [200, 200, 403]

    @pytest.mark.parametrize("asked", [{"speed": "warp"}, {"service_tier": "scale"}, {"inference_geo": "moon"}])
    def test_a_budget_in_dollars_needs_a_price_of_what_is_asked_for(self, asked: dict[str, str]) -> None:
        with a_priced_way(Turn(text="Done."), budget_usd=100.0) as way:
            assert ask(way, MESSAGES, body_for(MESSAGES, OPUS, **asked)) == 403
