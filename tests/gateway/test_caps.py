"""A run cannot take more than its caps: the request that could is refused before it is sent."""

from datetime import UTC, datetime

import anthropic
import openai
import pytest
from tests.gateway.gateway_fixtures import MODEL, PRICES, Way, a_way
from tests.gateway.plain_http import post

from outweigh.gateway.dialects.anthropic_messages import AnthropicResponse
from outweigh.gateway.dialects.request_and_response import GenerationRequest, text_part
from outweigh.gateway.request_cost import RequestCost, count_request_cost, minimum_request_cost, price_response
from outweigh.gateway.run_ledger import RunLimits
from outweigh.model.failure import FailureKind
from outweigh.model.pricing import ModelPrices
from outweigh.model.usage import Component
from outweigh.ports.gateways import Dialect
from outweigh.testing.model_server import ModelServer, Script, Turn, UsageSpec

SCRIPT = Script(turn=[Turn(text="Done.", usage=UsageSpec(input_tokens=1000, output_tokens=200))])
CALL_USD = (1000 * 3.0 + 200 * 15.0) / 1e6
CALL_TOKENS = 1200
NO_PRICE = "a-model-that-nobody-lists"


def _ask(way: Way, dialect: Dialect, model: str = MODEL) -> tuple[int, object]:
    requests: dict[Dialect, tuple[str, dict[str, object]]] = {
        Dialect.ANTHROPIC_MESSAGES: (
            "/v1/messages",
            {"max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]},
        ),
        Dialect.OPENAI_CHAT: ("/v1/chat/completions", {"messages": [{"role": "user", "content": "Hi"}]}),
        Dialect.OPENAI_RESPONSES: ("/v1/responses", {"input": "Hi"}),
        Dialect.GEMINI: (f"/v1beta/models/{model}:generateContent", {"contents": [{"parts": [{"text": "Hi"}]}]}),
    }
    path, body = requests[dialect]
    body = body if dialect is Dialect.GEMINI else {**body, "model": model}
    answer = post(way.url + path, body, {"authorization": f"Bearer {way.key}"})
    return answer.status, answer.json


def test_a_run_ends_at_the_first_request_beyond_its_dollars() -> None:
    with ModelServer(SCRIPT) as server, a_way(server.url, budget_usd=2.5 * CALL_USD) as way:
        statuses = [_ask(way, Dialect.OPENAI_CHAT)[0] for _ in range(5)]
        calls = way.account().calls

    # Three were sent, because two left something over: the overshoot is less than one request.
    assert statuses == [200, 200, 200, 401, 401]
    assert len(server.ledger) == 3
    assert [call.failure and call.failure.kind for call in calls[3:]] == [FailureKind.BUDGET_REACHED] * 2
    assert calls[3].http_status == 401


def test_a_run_ends_at_the_first_request_beyond_its_tokens() -> None:
    with ModelServer(SCRIPT) as server, a_way(server.url, tokens=CALL_TOKENS) as way:
        statuses = [_ask(way, Dialect.ANTHROPIC_MESSAGES)[0] for _ in range(3)]

    assert statuses == [200, 403, 403]
    assert len(server.ledger) == 1


@pytest.mark.parametrize("dialect", Dialect)
def test_the_refusal_has_the_shape_of_the_providers_own(dialect: Dialect) -> None:
    with ModelServer(SCRIPT) as server, a_way(server.url, tokens=1) as way:
        _ask(way, dialect)
        status, said = _ask(way, dialect)

    assert isinstance(said, dict)
    error = said["error"]
    assert "[limits]" in error["message"]
    expected = {
        Dialect.ANTHROPIC_MESSAGES: (403, "billing_error"),
        Dialect.OPENAI_CHAT: (401, "insufficient_quota"),
        Dialect.OPENAI_RESPONSES: (400, "insufficient_quota"),
        Dialect.GEMINI: (403, "PERMISSION_DENIED"),
    }
    assert (status, error.get("type") or error.get("status")) == expected[dialect]


def test_real_clients_do_not_ask_again() -> None:
    with ModelServer(SCRIPT) as server, a_way(server.url, budget_usd=0.0) as way:
        with (
            anthropic.Anthropic(api_key=way.key, base_url=way.url) as client,
            pytest.raises(anthropic.APIStatusError, match="cap"),
        ):
            client.messages.create(model=MODEL, max_tokens=9, messages=[{"role": "user", "content": "Hi"}])
        with (
            openai.OpenAI(api_key=way.key, base_url=f"{way.url}/v1") as client,
            pytest.raises(openai.APIStatusError, match="cap"),
        ):
            client.responses.create(model=MODEL, input="Hi")
        calls = way.account().calls

    assert len(calls) == 2
    assert server.ledger == ()


def test_a_budget_in_dollars_needs_a_price() -> None:
    with ModelServer(SCRIPT) as server, a_way(server.url, budget_usd=100.0) as way:
        status, said = _ask(way, Dialect.OPENAI_CHAT, NO_PRICE)
        (call,) = way.account().calls

    assert (status, server.ledger) == (400, ())
    assert "prices under [gateway]" in str(said)
    assert call.failure is not None
    assert call.failure.kind is FailureKind.UNKNOWN_MODEL


def test_without_a_budget_an_unlisted_model_is_metered_at_an_unknown_cost() -> None:
    with ModelServer(SCRIPT) as server, a_way(server.url, tokens=10**6) as way:
        _ask(way, Dialect.OPENAI_CHAT, NO_PRICE)
        account = way.account()

    assert (account.calls[0].cost_usd, account.price_table) == (None, None)
    assert account.calls[0].usage.input_tokens == 1000


def test_counting_tokens_is_no_call_and_goes_on_at_the_cap() -> None:
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
    with ModelServer(SCRIPT) as server, a_way(server.url, tokens=1) as way:
        answer = post(f"{way.url}/v1/messages/count_tokens", body, {"x-api-key": way.key})

        assert (answer.status, way.account().calls) == (200, ())


class TestAllowance:
    def test_what_is_under_way_counts(self) -> None:
        allowance = RunLimits(None, 100)
        allowance.reserve("one", RequestCost(0.0, 60))

        assert allowance.explain_excess(RequestCost(0.0, 40)) is not None
        assert allowance.explain_excess(RequestCost(0.0, 39)) is None

    def test_what_it_really_took_counts_in_the_end(self) -> None:
        allowance = RunLimits(1.0, None)
        allowance.reserve("one", RequestCost(0.9, 0))
        allowance.record("one", RequestCost(0.2, 0))

        assert allowance.explain_excess(RequestCost(0.5, 0)) is None
        assert allowance.explain_excess(RequestCost(0.9, 0)) is not None

    def test_a_run_without_caps_is_never_stopped(self) -> None:
        assert RunLimits(None, None).explain_excess(RequestCost(1e9, 10**15)) is None


PRICED = ModelPrices(
    input_usd_per_million=3.0,
    output_usd_per_million=15.0,
    cache_read_usd_per_million=0.3,
    cache_write_usd_per_million=3.75,
)


def _asked(size: int) -> GenerationRequest:
    text = text_part(Component.ORCHESTRATOR, "x" * size)
    return GenerationRequest(model=MODEL, is_streamed=True, parts=(text,), tools=(), first_user_texts=())


def _rounded(charge: RequestCost) -> RequestCost:
    return RequestCost(round(charge.usd, 9), charge.tokens)


class TestCharges:
    def test_a_request_takes_at_least_its_text_from_the_cache(self) -> None:
        assert _rounded(minimum_request_cost(_asked(8_000_000), PRICED)) == RequestCost(0.3, 1_000_000)

    def test_an_answer_that_broke_off_counts_by_its_text(self) -> None:
        answer = AnthropicResponse()
        answer.text_bytes = 4_000_000

        assert _rounded(count_request_cost(_asked(4_000_000), answer, PRICED)) == RequestCost(18.0, 2_000_000)

    def test_a_price_that_is_not_listed_counts_at_the_highest_in_use(self) -> None:
        answer = AnthropicResponse()
        answer.input_tokens, answer.cache_read_tokens, answer.cache_write_tokens = 0, 1_000_000, 1_000_000
        answer.output_tokens = 0
        bare = ModelPrices(input_usd_per_million=3.0, output_usd_per_million=15.0)

        assert _rounded(count_request_cost(_asked(1), answer, bare)) == RequestCost(9.0, 2_000_000)

    def test_an_hour_in_the_cache_costs_twice_the_input(self) -> None:
        answer = AnthropicResponse()
        answer.input_tokens, answer.cache_read_tokens, answer.output_tokens = 0, 0, 0
        answer.cache_write_tokens, answer.hour_write_tokens = 3_000_000, 1_000_000
        cost = price_response(PRICES, _asked(1), answer, datetime(2026, 1, 1, tzinfo=UTC))

        assert cost.usd == pytest.approx(2 * 3.75 + 6.0)
