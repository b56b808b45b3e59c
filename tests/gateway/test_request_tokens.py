"""Claims about the tokens of a request: expected before it is sent, and counted as its provider counts them."""

import pytest

from outweigh.gateway.dialects.request_and_response import GenerationRequest, text_part
from outweigh.gateway.request_parsing import ParsedRequest, Route, RoutePurpose
from outweigh.gateway.request_tokens import FIRST_OUTPUT_TOKENS, RequestTokens, tokens_against_limit
from outweigh.gateway.round_trip import RoundTrip
from outweigh.model.provider import ApiFamily
from outweigh.model.usage import Component, Usage
from outweigh.ports.gateways import Dialect

ROUTE = Route(
    provider=ApiFamily.ANTHROPIC,
    dialect=Dialect.ANTHROPIC_MESSAGES,
    purpose=RoutePurpose.GENERATE,
    path="/v1/messages",
)


def a_request(tokens: int, conversation: str = "one", most: int | None = None) -> GenerationRequest:
    part = text_part(Component.ORCHESTRATOR, "word" * tokens)
    return GenerationRequest(
        model="m",
        is_streamed=False,
        parts=(part,),
        tools=(),
        first_user_texts=(conversation,),
        max_output_tokens=most,
    )


def answered(request: GenerationRequest, usage: Usage, *, is_complete: bool = True) -> RoundTrip:
    round_trip = RoundTrip(ROUTE, ParsedRequest(parsed=request, body=b"", is_added_event=None), is_logged=False)
    round_trip.http_status = 200
    response = round_trip.response
    response.input_tokens, response.output_tokens = usage.input_tokens, usage.output_tokens
    response.cache_read_tokens, response.cache_write_tokens = usage.cache_read_tokens, usage.cache_write_tokens
    response.is_complete = is_complete
    return round_trip


def usage(fresh: int | None, output: int | None, read: int | None = 0, written: int | None = 0) -> Usage:
    return Usage(input_tokens=fresh, output_tokens=output, cache_read_tokens=read, cache_write_tokens=written)


def test_a_first_request_is_expected_to_take_its_text_and_a_usual_response() -> None:
    assert RequestTokens().expect(a_request(1_000), ApiFamily.ANTHROPIC) == 1_000 + FIRST_OUTPUT_TOKENS
    assert RequestTokens().expect(a_request(1_000, most=9), ApiFamily.ANTHROPIC) == 1_009


def test_later_responses_are_expected_to_be_as_long_as_those_before() -> None:
    tokens = RequestTokens()
    for output in (100, 200):
        tokens.take(answered(a_request(10), usage(10, output)))

    assert tokens.expect(a_request(1_000), ApiFamily.ANTHROPIC) == 1_150


@pytest.mark.parametrize(("family", "expected"), [(ApiFamily.ANTHROPIC, 210), (ApiFamily.OPENAI, 1_210)])
def test_what_an_earlier_request_put_into_the_cache_is_expected_to_count_where_the_provider_counts_it(
    family: ApiFamily, expected: int
) -> None:
    tokens = RequestTokens()
    tokens.take(answered(a_request(1_000), usage(0, 10, 0, 1_000)))

    assert tokens.expect(a_request(1_200), family) == expected


def test_another_conversation_is_expected_to_find_nothing_in_the_cache() -> None:
    tokens = RequestTokens()
    tokens.take(answered(a_request(1_000), usage(0, 10, 0, 1_000)))

    assert tokens.expect(a_request(1_200, "two"), ApiFamily.ANTHROPIC) == 1_210


@pytest.mark.parametrize(
    ("family", "expected"), [(ApiFamily.ANTHROPIC, 113), (ApiFamily.OPENAI, 1_113), (ApiFamily.GEMINI, 1_113)]
)
def test_tokens_that_were_read_from_the_cache_count_where_the_provider_counts_them(
    family: ApiFamily, expected: int
) -> None:
    assert tokens_against_limit(usage(3, 10, 1_000, 100), family) == expected


@pytest.mark.parametrize("known", [usage(None, 10), usage(10, None)])
def test_tokens_that_are_not_known_are_not_zero(known: Usage) -> None:
    assert tokens_against_limit(known, ApiFamily.OPENAI) is None
    assert RequestTokens().take(answered(a_request(10), known)) is None


def test_an_answer_that_was_cut_short_is_not_taken_for_a_whole_one() -> None:
    assert RequestTokens().take(answered(a_request(10), usage(10, 1), is_complete=False)) is None


def test_a_request_that_was_refused_took_nothing() -> None:
    refused = answered(a_request(10), usage(None, None), is_complete=False)
    refused.http_status = 429

    assert RequestTokens().take(refused) == 0
