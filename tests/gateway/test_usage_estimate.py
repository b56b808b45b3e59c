"""Requests without a final count of tokens: what was sent and what came are bounded, and the truth lies between."""

from asyncio import sleep
from contextlib import suppress
from http.client import HTTPConnection, HTTPException
from typing import Any
from urllib.parse import urlsplit

import msgspec
import pytest
from aiohttp import web
from tests.gateway.gateway_fixtures import MODEL, MODEL_PRICES, REAL_KEY, Way, a_gateway, a_way, a_way_through
from tests.gateway.plain_http import PATIENCE_SECONDS, post
from tests.gateway.test_troubles import PATHS
from tests.gateway.upstreams import an_upstream, until

from outweigh.gateway.call_estimates import MAX_COUNTED
from outweigh.gateway.dialects.openai_chat import OpenAIChatResponse
from outweigh.gateway.dialects.request_and_response import GenerationRequest, RequestPart
from outweigh.gateway.upstream import ModelUpstream
from outweigh.gateway.usage_estimate import MAX_OUTPUT_TOKENS, UnmeteredRequest, UsageEstimator
from outweigh.model.pricing import price_usage
from outweigh.model.usage import Component, Usage
from outweigh.ports.gateways import Dialect, EstimatedUsage, MeteredCalls, ModelCall
from outweigh.testing.model_server import ModelServer, Script, Turn, UsageSpec
from outweigh.testing.model_server.ledger import Ending, Tokens

WORDS = "Count the zebras in every stable, and write their number down. " * 100
"""6,300 bytes, which are about 1,600 tokens."""

USAGE = UsageSpec(input_tokens=1500, output_tokens=40, cache_read_tokens=100)
LIMIT = 5_000


def a_body(*, stream: bool = True) -> dict[str, Any]:
    return {
        "model": MODEL,
        "max_tokens": LIMIT,
        "max_output_tokens": LIMIT,
        "generationConfig": {"maxOutputTokens": LIMIT},
        "stream": stream,
        "messages": [{"role": "user", "content": WORDS}],
        "input": WORDS,
        "contents": [{"role": "user", "parts": [{"text": WORDS}]}],
    }


def headers_of(way: Way) -> dict[str, str]:
    return {"authorization": f"Bearer {way.key}"}


def leave_in_the_middle(way: Way, dialect: Dialect, *, received: bytes = b"") -> None:
    """Send a request and go away once the answer has this in it."""
    address = urlsplit(way.url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE_SECONDS)
    connection.request("POST", PATHS[dialect], msgspec.json.encode(a_body()), headers_of(way))
    if received:
        answer, content = connection.getresponse(), b""
        while received not in content:
            content += answer.read1(1 << 16)
    else:
        until(lambda: bool(way.account().calls))
    connection.close()


def sums(usage: Usage) -> tuple[int, int]:
    """All tokens of the prompt, and those of the answer."""
    prompt = (usage.input_tokens or 0) + (usage.cache_read_tokens or 0) + (usage.cache_write_tokens or 0)
    return prompt, usage.output_tokens or 0


def assert_within(truth: Tokens, estimate: EstimatedUsage | None) -> None:
    """Tokens and dollars of the truth lie between the ends of the estimate, and so do the likely ones."""
    assert estimate is not None
    for low, likely, true, high in zip(
        *(sums(usage) for usage in (estimate.low, estimate.likely, truth.usage, estimate.high)), strict=True
    ):
        assert low <= true <= high
        assert low <= likely <= high
    cost = price_usage(truth.usage, MODEL_PRICES).value
    assert cost is not None
    assert estimate.low_usd is not None
    assert estimate.likely_usd is not None
    assert estimate.high_usd is not None
    assert estimate.low_usd <= cost <= estimate.high_usd
    assert estimate.low_usd <= estimate.likely_usd <= estimate.high_usd


def final_account(server: ModelServer, dialect: Dialect, *, received: bytes = b"") -> MeteredCalls:
    """The account of a run whose client went away in the middle of an answer."""
    with a_gateway(server.url) as gateway:
        with a_way_through(gateway) as way:
            leave_in_the_middle(way, dialect, received=received)
        return way.account()


@pytest.mark.parametrize("dialect", Dialect)
def test_a_client_that_leaves_before_the_answer_has_a_bill_that_holds_the_truth(dialect: Dialect) -> None:
    with ModelServer(Script(turn=[Turn(text="Late.", usage=USAGE, delay_seconds=3600)])) as server:
        (call,) = final_account(server, dialect).calls
        (asked, *counted) = server.ledger

    assert asked.tokens is not None
    assert_within(asked.tokens, call.estimate)
    # Three APIs count for nothing what was sent, so that only the answer remains to be bounded.
    counts = dialect is not Dialect.OPENAI_CHAT
    assert [(entry.ending, entry.api_key) for entry in counted] == ([(Ending.FREE, REAL_KEY)] if counts else [])
    if counts and call.estimate is not None:
        assert sums(call.estimate.likely)[0] == asked.tokens.prompt_tokens


@pytest.mark.parametrize("dialect", Dialect)
def test_a_client_that_leaves_in_the_middle_has_a_bill_that_holds_the_truth(dialect: Dialect) -> None:
    text = "There are exactly forty two zebras in the first stable, and none in the others."
    with ModelServer(Script(turn=[Turn(text=text, usage=USAGE, stall_seconds=3600)])) as server:
        (call,) = final_account(server, dialect, received=b"There").calls
        asked = server.ledger[0]

    assert asked.tokens is not None
    assert_within(asked.tokens, call.estimate)
    assert call.estimate is not None
    assert call.estimate.high.output_tokens == LIMIT
    if dialect in (Dialect.ANTHROPIC_MESSAGES, Dialect.GEMINI):
        # These say at once what was sent, and need not be asked.
        assert call.usage.input_tokens == call.estimate.low.input_tokens == call.estimate.high.input_tokens == 1500
        assert len(server.ledger) == 1


@pytest.mark.parametrize("dialect", Dialect)
def test_an_answer_that_is_cut_has_a_bill_that_holds_the_truth(dialect: Dialect) -> None:
    script = Script(turn=[Turn(text="A long answer that ends in the middle.", usage=USAGE, cut=True)])
    with ModelServer(script) as server, a_gateway(server.url) as gateway:
        with a_way_through(gateway) as way, suppress(HTTPException, ConnectionError):
            post(way.url + PATHS[dialect], a_body(), headers_of(way))
        (call,) = way.account().calls
        asked = server.ledger[0]

    assert asked.tokens is not None
    assert_within(asked.tokens, call.estimate)


@pytest.mark.parametrize("dialect", Dialect)
def test_a_counted_answer_is_not_estimated(dialect: Dialect) -> None:
    with ModelServer(Script(turn=[Turn(text="Done.", usage=USAGE)])) as server, a_way(server.url) as way:
        post(way.url + PATHS[dialect], a_body(), headers_of(way))
        (call,) = way.account().calls

    assert call.estimate is None
    assert sums(call.usage) == (1600, 40)


def test_a_provider_that_does_not_count_in_time_holds_nothing_up() -> None:
    async def refuse(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith("count_tokens"):
            return web.json_response({"error": "nothing is counted here"}, status=404)
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await request.read()
        await response.prepare(request)
        assert request.transport is not None
        request.transport.close()
        return response

    with an_upstream(refuse) as url, a_gateway(url) as gateway:
        with a_way_through(gateway) as way, suppress(HTTPException, ConnectionError):
            post(way.url + PATHS[Dialect.ANTHROPIC_MESSAGES], a_body(), headers_of(way))
        (call,) = way.account().calls

    assert call.estimate is not None
    assert sums(call.estimate.low)[0] < len(WORDS) / 4 < sums(call.estimate.high)[0]


def test_a_provider_that_never_counts_is_waited_for_only_so_long() -> None:
    counted: list[str] = []

    async def hang(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith("count_tokens"):
            counted.append(request.path)
        await sleep(3600)
        return web.Response()

    with an_upstream(hang) as url, a_gateway(url) as gateway:
        with a_way_through(gateway) as way:
            leave_in_the_middle(way, Dialect.ANTHROPIC_MESSAGES)
        (call,) = way.account().calls

    assert counted == ["/v1/messages/count_tokens"]
    assert call.estimate is not None
    assert sums(call.estimate.likely)[0] == len(WORDS) // 4


def test_a_run_has_only_so_many_requests_counted() -> None:
    counted: list[str] = []

    async def break_off(request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith("count_tokens"):
            counted.append(request.path)
            return web.json_response({"input_tokens": 1600})
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await request.read()
        await response.prepare(request)
        return response

    with an_upstream(break_off) as url, a_gateway(url) as gateway:
        with a_way_through(gateway) as way:
            for _ in range(MAX_COUNTED + 5):
                post(way.url + PATHS[Dialect.ANTHROPIC_MESSAGES], a_body(), headers_of(way))
        calls = way.account().calls

    assert len(counted) == MAX_COUNTED
    assert all(call.estimate is not None for call in calls)


def test_what_nothing_bounds_is_not_counted_and_stays_unknown() -> None:
    searching = a_body() | {"tools": [{"type": "web_search_20250305", "name": "web_search"}]}
    with ModelServer(Script(turn=[Turn(text="Searching the web.", usage=USAGE, cut=True)])) as server:
        with a_gateway(server.url) as gateway:
            with a_way_through(gateway, allow=("web_search",)) as way, suppress(HTTPException, ConnectionError):
                post(way.url + PATHS[Dialect.ANTHROPIC_MESSAGES], searching, headers_of(way))
            (call,) = way.account().calls
        asked = server.ledger

    assert (call.estimate, call.cost_usd) == (None, None)
    assert len(asked) == 1


def whole_completion(*, usage: dict[str, int] | None = None) -> dict[str, Any]:
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "There are 42 zebras."}}
    return {"object": "chat.completion", "model": MODEL, "choices": [choice]} | ({"usage": usage} if usage else {})


WHOLE_ANSWERS = {
    Dialect.OPENAI_CHAT: whole_completion(),
    Dialect.OPENAI_RESPONSES: {
        "object": "response",
        "model": MODEL,
        "output": [{"type": "message", "content": [{"type": "output_text", "text": "There are 42 zebras."}]}],
    },
    Dialect.ANTHROPIC_MESSAGES: {
        "type": "message",
        "model": MODEL,
        "content": [{"type": "text", "text": "There are 42 zebras."}],
    },
    Dialect.GEMINI: {
        "modelVersion": MODEL,
        "candidates": [{"finishReason": "STOP", "content": {"parts": [{"text": "There are 42 zebras."}]}}],
    },
}


def answered(url: str, dialect: Dialect, *, stream: bool) -> ModelCall:
    with a_gateway(url) as gateway:
        with a_way_through(gateway) as way:
            assert post(way.url + PATHS[dialect], a_body(stream=stream), headers_of(way)).status == 200
        (call,) = way.account().calls
    return call


def assert_whole_and_estimated(call: ModelCall) -> None:
    assert call.failure is None
    assert call.usage.output_tokens is None
    assert_within(Tokens(input_tokens=1590, output_tokens=7), call.estimate)
    assert call.estimate is not None
    assert sums(call.estimate.high)[1] < 200  # by what it says, not by what it was allowed to say


@pytest.mark.parametrize("dialect", Dialect)
def test_a_whole_answer_without_usage_is_no_cut_stream(dialect: Dialect) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        if "ount" in request.path.rpartition("/")[2]:
            return web.Response(status=404)
        await request.read()
        return web.json_response(WHOLE_ANSWERS[dialect])

    with an_upstream(answer) as url:
        call = answered(url, dialect, stream=False)

    assert_whole_and_estimated(call)


@pytest.mark.parametrize("mark", [b"data: [DONE]\n\n", b""])
def test_a_stream_that_ends_properly_without_usage_is_no_cut_stream(mark: bytes) -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await request.read()
        await response.prepare(request)
        for delta, reason in (({"content": "There are 42 zebras."}, None), ({}, "stop")):
            choice = {"index": 0, "delta": delta, "finish_reason": reason}
            await response.write(b"data: " + msgspec.json.encode({"model": MODEL, "choices": [choice]}) + b"\n\n")
        await response.write(mark)
        return response

    with an_upstream(answer) as url:
        call = answered(url, Dialect.OPENAI_CHAT, stream=True)

    assert_whole_and_estimated(call)


def test_a_stream_that_ends_without_a_reason_is_still_cut() -> None:
    async def answer(request: web.BaseRequest) -> web.StreamResponse:
        response = web.StreamResponse(headers={"content-type": "text/event-stream"})
        await request.read()
        await response.prepare(request)
        choice = {"index": 0, "delta": {"content": "There are"}, "finish_reason": None}
        await response.write(b"data: " + msgspec.json.encode({"model": MODEL, "choices": [choice]}) + b"\n\n")
        return response

    with an_upstream(answer) as url:
        call = answered(url, Dialect.OPENAI_CHAT, stream=True)

    assert call.failure is not None
    assert call.estimate is not None
    assert call.estimate.high.output_tokens == LIMIT


def a_request(size_bytes: int, **fields: Any) -> GenerationRequest:
    known: dict[str, Any] = {
        "model": MODEL,
        "is_streamed": True,
        "parts": (RequestPart(Component.ORCHESTRATOR, (), size_bytes),),
        "tools": (),
        "first_user_texts": (),
    }
    return GenerationRequest(**(known | fields))


def unmetered(size_bytes: int = 40_000, **fields: Any) -> UnmeteredRequest:
    """A request of which nothing came back in ten seconds."""
    known: dict[str, Any] = {"request": a_request(size_bytes), "response": OpenAIChatResponse(), "seconds": 10.0}
    return UnmeteredRequest(**(known | fields))


def usage(fresh: int, read: int, written: int, output: int) -> Usage:
    return Usage(input_tokens=fresh, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written)


class TestEstimates:
    def test_without_anything_to_go_by_a_prompt_has_a_token_for_two_to_eight_bytes(self) -> None:
        found = UsageEstimator().estimate(unmetered())

        assert found is not None
        assert found.low == usage(0, 5_000, 0, 0)
        assert found.likely == usage(10_000, 0, 0, 0)
        assert found.high == usage(20_500, 0, 0, MAX_OUTPUT_TOKENS)

    def test_a_request_that_was_never_answered_may_not_have_been_billed(self) -> None:
        found = UsageEstimator().estimate(unmetered(has_begun=False, counted_input=10_000))

        assert found is not None
        assert [sums(end)[0] for end in (found.low, found.likely, found.high)] == [0, 10_000, 10_300]

    def test_other_requests_of_the_run_tell_the_tokens_per_byte_and_the_cached_share(self) -> None:
        estimator = UsageEstimator()
        estimator.note(a_request(30_000), usage(1_000, 8_000, 1_000, 200), 4.0)
        estimator.note(a_request(36_000), usage(1_000, 9_000, 2_000, 400), 4.0)

        found = estimator.estimate(unmetered(39_000))

        assert found is not None
        # 10,000 of 30,000 and 12,000 of 36,000 bytes: one token for three bytes, of which 17 in 22 are read.
        assert sums(found.likely) == (13_000, 300)
        assert (found.likely.cache_read_tokens, found.likely.cache_write_tokens) == (10_045, 1_772)
        assert (sums(found.low)[0], sums(found.high)[0]) == (8_666, 19_500)

    def test_a_much_smaller_request_tells_nothing(self) -> None:
        estimator = UsageEstimator()
        estimator.note(a_request(400), usage(900, 0, 0, 5), 1.0)

        found = estimator.estimate(unmetered())

        assert found is not None
        assert sums(found.high)[0] == 20_500

    def test_another_model_tells_nothing(self) -> None:
        estimator = UsageEstimator()
        estimator.note(a_request(40_000, model="other"), usage(39_000, 0, 0, 5), 1.0)

        found = estimator.estimate(unmetered())

        assert found is not None
        assert found.likely == usage(10_000, 0, 0, 0)

    def test_the_providers_own_count_is_taken_with_its_small_tolerance(self) -> None:
        found = UsageEstimator().estimate(unmetered(counted_input=10_000))

        assert found is not None
        assert [sums(end)[0] for end in (found.low, found.likely, found.high)] == [9_700, 10_000, 10_300]

    def test_the_request_bounds_its_answer(self) -> None:
        found = UsageEstimator().estimate(unmetered(request=a_request(400, max_output_tokens=700)))

        assert found is not None
        assert found.high.output_tokens == 700

    def test_a_provider_that_stops_with_the_connection_is_bounded_by_time_too(self) -> None:
        estimator = UsageEstimator()
        slow = estimator.estimate(unmetered(stops_when_closed=True))
        estimator.note(a_request(40_000), usage(10_000, 0, 0, 4_000), 5.0)
        fast = estimator.estimate(unmetered(stops_when_closed=True))

        assert slow is not None
        assert fast is not None
        # At 500 tokens per second, and at twice the 800 per second of an answer in the same run, for ten seconds.
        assert (slow.high.output_tokens, fast.high.output_tokens) == (5_000, 16_000)

    def test_what_a_providers_own_tools_did_is_bounded_by_nothing(self) -> None:
        searching = unmetered(request=a_request(400, hosted=("web_search",)))

        assert UsageEstimator().estimate(searching) is None

    def test_an_answer_that_goes_on_longer_than_usual_is_estimated_by_what_came(self) -> None:
        response = OpenAIChatResponse()
        response.read_event({"choices": [{"delta": {"content": "x" * 8_000}}]})
        estimator = UsageEstimator()
        estimator.note(a_request(40_000), usage(10_000, 0, 0, 300), 5.0)

        found = estimator.estimate(unmetered(response=response))

        assert found is not None
        assert [end.output_tokens for end in (found.low, found.likely)] == [1_000, 2_000]


@pytest.mark.parametrize(
    ("url", "stops"),
    [
        ("https://api.anthropic.com", True),
        ("https://api.openai.com/v1", True),
        ("https://generativelanguage.googleapis.com", False),
        ("http://127.0.0.1:11434/v1", False),
        ("https://api.anthropic.com.example.org", False),
    ],
)
def test_only_providers_that_are_known_to_stop_are_bounded_by_time(url: str, stops: bool) -> None:
    assert ModelUpstream(url=url, variable="KEY", key="").stops_when_closed is stops
