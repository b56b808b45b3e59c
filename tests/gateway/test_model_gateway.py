"""Real clients, a gateway, a scripted model: what the model hands out is what the gateway has in its account."""

from collections.abc import Callable, Iterator

import anthropic
import msgspec
import openai
import pytest
from tests.gateway.gateway_fixtures import MODEL, REAL_KEY, Way, a_gateway, a_way, a_way_through
from tests.gateway.plain_http import post

from outweigh.model.usage import Usage
from outweigh.ports.gateways import Dialect
from outweigh.testing.model_server import ModelServer, Script, Turn, UsageSpec

SPENT = UsageSpec(input_tokens=50, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3, reasoning_tokens=4)
SCRIPT = Script(turn=[Turn(text="It is done.", usage=SPENT)])
WORDS = "What is 6 x 7?"


def _ask_messages(way: Way, *, stream: bool) -> str:
    with anthropic.Anthropic(api_key=way.key, base_url=way.url, max_retries=0) as client:
        if not stream:
            message = client.messages.create(model=MODEL, max_tokens=100, messages=[{"role": "user", "content": WORDS}])
            return "".join(block.text for block in message.content if block.type == "text")
        with client.messages.stream(
            model=MODEL, max_tokens=100, messages=[{"role": "user", "content": WORDS}]
        ) as streamed:
            return streamed.get_final_text()


def _ask_responses(way: Way, *, stream: bool) -> str:
    with openai.OpenAI(api_key=way.key, base_url=f"{way.url}/v1", max_retries=0) as client:
        if not stream:
            return client.responses.create(model=MODEL, input=WORDS).output_text
        events = client.responses.create(model=MODEL, input=WORDS, stream=True)
        return "".join(event.delta for event in events if event.type == "response.output_text.delta")


def _ask_chat(way: Way, *, stream: bool) -> str:
    with openai.OpenAI(api_key=way.key, base_url=f"{way.url}/v1", max_retries=0) as client:
        if not stream:
            answer = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": WORDS}])
            return answer.choices[0].message.content or ""
        chunks = client.chat.completions.create(model=MODEL, messages=[{"role": "user", "content": WORDS}], stream=True)
        return "".join(chunk.choices[0].delta.content or "" for chunk in chunks)


def _ask_gemini(way: Way, *, stream: bool) -> str:
    verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
    answer = post(
        f"{way.url}/v1beta/models/{MODEL}:{verb}",
        {"contents": [{"role": "user", "parts": [{"text": WORDS}]}]},
        {"x-goog-api-key": way.key},
    )
    body = answer.body.removeprefix(b"data: ")
    return str(msgspec.json.decode(body)["candidates"][0]["content"]["parts"][0]["text"])


ASKING: dict[Dialect, Callable[..., str]] = {
    Dialect.ANTHROPIC_MESSAGES: _ask_messages,
    Dialect.OPENAI_RESPONSES: _ask_responses,
    Dialect.OPENAI_CHAT: _ask_chat,
    Dialect.GEMINI: _ask_gemini,
}


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as running:
        yield running


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", Dialect)
def test_real_clients_are_answered_and_metered_exactly(server: ModelServer, dialect: Dialect, stream: bool) -> None:
    with a_way(server.url) as way:
        assert ASKING[dialect](way, stream=stream) == "It is done."
        (call,) = way.account().calls

    handed_out = server.ledger[0].tokens
    assert handed_out is not None
    # Gemini has no word for what is written to its cache.
    expected = handed_out.with_writes_as_input() if dialect is Dialect.GEMINI else handed_out
    assert call.usage == expected.usage
    assert call.reasoning_tokens == 4
    assert (call.dialect, call.model, call.http_status, call.failure) == (dialect, MODEL, 200, None)
    assert (call.time_to_first_token_seconds is not None) == stream


def test_a_call_costs_its_tokens_at_list_prices(server: ModelServer) -> None:
    with a_way(server.url) as way:
        _ask_messages(way, stream=True)
        account = way.account()

    assert account.calls[0].cost_usd == pytest.approx((50 * 3.0 + 20 * 15.0 + 7 * 0.3 + 3 * 3.75) / 1e6)
    assert account.price_table == "prices-1"


def test_the_model_gets_the_real_key_and_the_run_its_own(server: ModelServer) -> None:
    with a_way(server.url) as way:
        for ask in ASKING.values():
            ask(way, stream=True)
        key = way.key

    assert {entry.api_key for entry in server.ledger} == {REAL_KEY}
    assert key != REAL_KEY


def test_two_runs_do_not_mix(server: ModelServer) -> None:
    with a_gateway(server.url) as gateway, a_way_through(gateway) as one, a_way_through(gateway) as other:
        _ask_chat(one, stream=True)
        _ask_chat(one, stream=False)
        _ask_messages(other, stream=True)

        assert [call.dialect for call in one.account().calls] == [Dialect.OPENAI_CHAT, Dialect.OPENAI_CHAT]
        assert [call.dialect for call in other.account().calls] == [Dialect.ANTHROPIC_MESSAGES]


def test_the_key_of_a_run_is_refused_on_the_port_of_another_run(server: ModelServer) -> None:
    with (
        a_gateway(server.url) as gateway,
        a_way_through(gateway) as one,
        a_way_through(gateway) as other,
        pytest.raises(anthropic.AuthenticationError),
    ):
        _ask_messages(Way(one.meter, other.url), stream=False)

    assert server.ledger == ()


def test_an_account_stays_when_its_run_is_over(server: ModelServer) -> None:
    with a_way(server.url) as way:
        _ask_messages(way, stream=True)

    (call,) = way.account().calls
    assert call.usage == Usage(input_tokens=50, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3)
