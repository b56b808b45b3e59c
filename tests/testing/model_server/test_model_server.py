"""A scripted model records every token that it sends, and no request breaks it."""

import json
from collections.abc import Iterator
from copy import deepcopy
from threading import Thread
from time import monotonic, sleep
from typing import Any
from urllib.error import URLError

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.testing.model_server.model_clients import PROTOCOLS, ask, question, send

from outweigh.errors import UsageError
from outweigh.testing.model_server import Ending, LedgerEntry, ModelServer, Script, Tokens, Turn, UsageSpec

USAGE = UsageSpec(input_tokens=50, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3, reasoning_tokens=4)
SCRIPT = Script(turn=[Turn(run="echo 42 >answer.txt", usage=USAGE), Turn(text="It is done.", usage=USAGE)])
each_protocol = pytest.mark.parametrize("protocol", PROTOCOLS)

WORD = st.none() | st.integers() | st.sampled_from(["m", "user", "assistant", "bash", "object", "function", "tool_use"])
NAME = st.sampled_from(
    ["type", "text", "content", "name", "properties", "required", "enum", "anyOf", "items", "command"]
)
ANYTHING = st.recursive(
    WORD, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAME, inner, max_size=5), max_leaves=15
)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as running:
        yield running


@pytest.fixture(scope="module")
def patient() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as running:
        yield running


def test_the_ledger_has_every_request_with_its_exact_tokens(server: ModelServer) -> None:
    ask(server, "anthropic", question("anthropic", "6 x 7?"), x_api_key="key-1")
    ask(server, "chat", question("chat", "6 x 7?", stream=True), authorization="Bearer key-2")
    ask(server, "gemini", question("gemini", "6 x 7?"), x_goog_api_key="key-3")
    send(f"{server.url}/v1/messages/count_tokens", question("anthropic", "6 x 7?"))

    first, second, third, free = server.ledger
    tokens = Tokens(input_tokens=50, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3, reasoning_tokens=4)
    assert (first.protocol, first.path, first.model, first.stream) == ("anthropic", "/v1/messages", "m", False)
    assert [entry.api_key for entry in server.ledger] == ["key-1", "key-2", "key-3", None]
    assert (first.tokens, second.tokens) == (tokens, tokens)
    assert third.tokens == Tokens(input_tokens=53, output_tokens=20, cache_read_tokens=7, reasoning_tokens=4)
    assert (free.ending, free.tokens) == (Ending.FREE, None)
    # A stream of this protocol says nothing about tokens unless it is asked to.
    assert [entry.usage_sent for entry in server.ledger] == [True, False, True, False]
    assert (server.totals().requests, server.totals().billed) == (4, 3)
    assert server.totals("m").tokens.output_tokens == 60
    assert server.totals("another").billed == 0


def test_an_answer_is_found_in_the_ledger_by_its_id(server: ModelServer) -> None:
    answer = ask(server, "anthropic", question("anthropic", "6 x 7?")).json()

    assert [entry.response_id for entry in server.ledger] == [answer["id"]]


def test_bodies_are_kept_only_where_asked_for_and_only_so_far() -> None:
    body = json.dumps(question("chat", "6 x 7?")).encode()
    with ModelServer(SCRIPT) as forgetful, ModelServer(SCRIPT, kept_body_bytes=20) as curious:
        ask(forgetful, "chat", body)
        ask(curious, "chat", body)

    assert [entry.body for entry in forgetful.ledger] == [None]
    assert [entry.body for entry in curious.ledger] == [body[:20]]


def test_what_asks_no_model_costs_nothing(server: ModelServer) -> None:
    counted = send(f"{server.url}/v1/messages/count_tokens", question("anthropic", "6 x 7?")).json()
    gemini = send(f"{server.url}/v1beta/models/m:countTokens", question("gemini", "6 x 7?")).json()
    greeting = send(f"{server.url}/", method="HEAD")
    nowhere = send(f"{server.url}/v1/nowhere", {})

    assert counted["input_tokens"] > 0
    assert gemini["totalTokens"] > 0
    assert (greeting.status, nowhere.status) == (200, 404)
    assert {entry.ending for entry in server.ledger} == {Ending.FREE}
    assert server.totals().billed == 0


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize("body", [b"", b"not json", b"[]", b"{}", b'{"model": "m"}', b'{"contents": 3, "messages": 3}'])
def test_a_body_that_is_no_request_is_refused_with_400(server: ModelServer, protocol: str, body: bytes) -> None:
    answer = ask(server, protocol, body)

    assert answer.status == 400
    assert answer.json()["error"]["message"]
    assert [entry.ending for entry in server.ledger] == [Ending.REFUSED]


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every list or object in a body, with every key or index in it."""
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in inside:
        yield value, key
        yield from places(inner)


@each_protocol
@settings(deadline=None, max_examples=150)
@given(data=st.data())
def test_nothing_that_is_sent_breaks_the_server(patient: ModelServer, protocol: str, data: st.DataObject) -> None:
    body = deepcopy(question(protocol, "6 x 7?", stream=True))
    holder, key = data.draw(st.sampled_from(list(places(body))))
    holder[key] = data.draw(ANYTHING)

    assert ask(patient, protocol, body).status in (200, 400)


def test_a_port_that_is_taken_is_said_to_be(server: ModelServer) -> None:
    with (
        pytest.raises(UsageError, match=f"port {server.port} of 127.0.0.1 cannot be used"),
        ModelServer(SCRIPT, port=server.port),
    ):
        pass


def test_a_server_ends_although_somebody_waits_for_an_answer() -> None:
    ends: list[type[BaseException]] = []

    def wait_for_answer(url: str) -> None:
        try:
            send(f"{url}/v1/chat/completions", question("chat", "6 x 7?"))
        except (URLError, ConnectionError) as fault:
            ends.append(type(fault))

    with ModelServer(Script(turn=[Turn(text="Late.", delay_seconds=3600)])) as server:
        client = Thread(target=wait_for_answer, args=(server.url,))
        client.start()
        deadline = monotonic() + 60
        while not server.ledger and monotonic() < deadline:
            sleep(0.01)
    client.join(60)

    assert len(ends) == 1
    assert [entry.ending for entry in server.ledger] == [Ending.ANSWERED]


def test_every_entry_is_told_to_whoever_listens() -> None:
    heard: list[LedgerEntry] = []
    with ModelServer(SCRIPT, on_entry=heard.append) as server:
        ask(server, "chat", question("chat", "6 x 7?"))

    assert tuple(heard) == server.ledger
