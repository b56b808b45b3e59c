"""Answers pass as they come: unchanged, at once, in bounded memory, and only as long as somebody listens."""

import asyncio
import gzip
import re
import tracemalloc
from contextlib import closing
from http.client import HTTPConnection, HTTPResponse
from socket import create_connection
from threading import Event
from urllib.parse import urlsplit

import msgspec
import pytest
from aiohttp import web
from tests.gateway.gateway_fixtures import MODEL, Way, a_gateway, a_way, a_way_through
from tests.gateway.plain_http import PATIENCE_SECONDS, ask, post
from tests.gateway.upstreams import an_upstream, stream, until

from outweigh.ports.gateways import Dialect
from outweigh.testing.model_server import ModelServer, Script, Turn, UsageSpec

BODY = {"model": MODEL, "max_tokens": 9, "stream": True, "messages": [{"role": "user", "content": "Hi"}]}
START = b'event: message_start\ndata: {"type":"message_start","message":{"model":"m","usage":{"input_tokens":5}}}\n\n'
TEXT = b'event: x\ndata: {"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"Hello"}}\n\n'
END = (
    b'event: x\ndata: {"type":"message_delta","usage":{"output_tokens":9}}\n\n'
    b'event: message_stop\ndata: {"type":"message_stop"}\n\n'
)


def _begin(way: Way, path: str = "/v1/messages") -> tuple[HTTPConnection, HTTPResponse]:
    connection = HTTPConnection("127.0.0.1", urlsplit(way.url).port, timeout=PATIENCE_SECONDS)
    connection.request("POST", path, msgspec.json.encode(BODY), {"x-api-key": way.key})
    return connection, connection.getresponse()


def test_events_pass_one_by_one_while_the_model_still_thinks() -> None:
    go_on = Event()

    async def slowly(request: web.BaseRequest) -> web.StreamResponse:
        response = await stream(request)
        await response.write(START + TEXT)
        await asyncio.to_thread(go_on.wait, PATIENCE_SECONDS)
        await response.write(END)
        return response

    with an_upstream(slowly) as url, a_way(url) as way:
        connection, answer = _begin(way)
        with closing(connection), answer:
            first = answer.read1()
            under_way = way.account().calls[0]
            go_on.set()
            rest = answer.read()
        (call,) = way.account().calls

    assert first + rest == START + TEXT + END
    assert (under_way.usage.input_tokens, under_way.usage.output_tokens, under_way.failure) == (5, None, None)
    assert under_way.time_to_first_token_seconds is not None
    assert (call.usage.output_tokens, call.failure) == (9, None)


def test_what_a_client_has_received_is_in_the_account_though_the_model_has_not_hung_up() -> None:
    never = Event()

    async def lingering(request: web.BaseRequest) -> web.StreamResponse:
        response = await stream(request)
        await response.write(START + TEXT + END)
        await asyncio.to_thread(never.wait, PATIENCE_SECONDS)
        return response

    with an_upstream(lingering) as url, a_way(url) as way:
        connection, answer = _begin(way)
        with closing(connection), answer:
            said = b""
            while len(said) < len(START + TEXT + END):
                said += answer.read1()
            (call,) = way.account().calls
        never.set()

    assert (call.usage.input_tokens, call.usage.output_tokens, call.failure) == (5, 9, None)


def test_a_client_that_goes_away_takes_its_request_with_it() -> None:
    hung_up = Event()

    async def endless(request: web.BaseRequest) -> web.StreamResponse:
        response = await stream(request)
        if hung_up.is_set():
            return response
        try:
            await response.write(START)
            while True:
                await response.write(TEXT)
                await asyncio.sleep(0.001)
        finally:
            hung_up.set()

    with an_upstream(endless) as url, a_way(url, tokens=6) as way:
        connection, answer = _begin(way)
        seen = b""
        while TEXT not in seen:  # of an answer that has not begun nothing would be known to count
            seen += answer.read1()
        answer.close()
        connection.close()
        assert hung_up.wait(PATIENCE_SECONDS)
        (call,) = way.account().calls
        until(lambda: post(f"{way.url}/v1/messages", BODY, {"x-api-key": way.key}).status == 403)  # it counts anyway

    # Nothing went wrong with the model; what it would have said, nobody knows.
    assert (call.usage.input_tokens, call.usage.output_tokens, call.failure) == (5, None, None)


def test_a_client_that_does_not_read_stops_its_own_stream_and_no_other() -> None:
    sent = 0
    hung_up = Event()

    async def flood(request: web.BaseRequest) -> web.StreamResponse:
        nonlocal sent
        response = await stream(request)
        if request.path == "/v1/chat/completions":
            return response
        try:
            while True:
                await response.write(b": " + b"x" * 65_536 + b"\n\n")
                sent += 65_536
        finally:
            hung_up.set()

    with an_upstream(flood) as url, a_gateway(url) as gateway:
        with a_way_through(gateway) as dead, a_way_through(gateway) as other:
            connection, _ = _begin(dead)
            for _ in range(20):
                until(lambda: sent > 0)
                assert post(f"{other.url}/v1/chat/completions", BODY, {"x-api-key": other.key}).status == 200
            assert len(other.account().calls) == 20
            assert not hung_up.is_set()
        # The run is over: nobody waits for its client.
        assert hung_up.wait(PATIENCE_SECONDS)
        connection.close()

    assert sent < 100 << 20


def test_a_closed_port_is_not_served() -> None:
    with ModelServer(Script(turn=[Turn(text="Hi")])) as server, a_way(server.url) as way:
        pass

    with pytest.raises(ConnectionError):
        post(f"{way.url}/v1/messages", BODY, {"x-api-key": way.key})
    assert server.ledger == ()


def test_a_long_stream_takes_no_more_memory_than_a_short_one() -> None:
    event = TEXT.replace(b"Hello", b"x" * 65_000)

    async def long(request: web.BaseRequest) -> web.StreamResponse:
        response = await stream(request)
        await response.write(START)
        for _ in range(800):
            await response.write(event)
        await response.write(END)
        return response

    with an_upstream(long) as url, a_way(url) as way:
        connection, answer = _begin(way)
        with closing(connection), answer:
            tracemalloc.start()
            while answer.read1(65_536):
                pass
            _, peak_bytes = tracemalloc.get_traced_memory()
            tracemalloc.stop()
        (call,) = way.account().calls

    assert call.usage.output_tokens == 9
    assert peak_bytes < 10 << 20  # 52 MB passed


def test_an_answer_that_comes_packed_is_passed_on_unpacked_and_metered() -> None:
    message = {"type": "message", "model": MODEL, "content": [], "usage": {"input_tokens": 3, "output_tokens": 2}}

    async def packed(request: web.BaseRequest) -> web.StreamResponse:
        body = gzip.compress(msgspec.json.encode(message))
        return web.Response(body=body, headers={"content-encoding": "gzip"}, content_type="application/json")

    with an_upstream(packed) as url, a_way(url) as way:
        answer = post(f"{way.url}/v1/messages", BODY, {"x-api-key": way.key, "accept-encoding": "gzip"})
        (call,) = way.account().calls

    assert answer.json == message
    assert "content-encoding" not in answer.headers
    assert (call.usage.input_tokens, call.usage.output_tokens) == (3, 2)


class TestUsageThatNobodyAskedFor:
    SCRIPT = Script(turn=[Turn(text="It is done.", usage=UsageSpec(input_tokens=50, output_tokens=20))])

    @pytest.mark.parametrize("is_wanted", [False, True])
    def test_a_stream_is_as_its_client_asked_for_it_and_metered_anyway(self, is_wanted: bool) -> None:
        body = {**BODY, "stream_options": {"include_usage": True}} if is_wanted else BODY
        with ModelServer(self.SCRIPT) as server, a_way(server.url) as way:
            direct = post(f"{server.url}/v1/chat/completions", body, {})
            passed = post(f"{way.url}/v1/chat/completions", body, {"authorization": f"Bearer {way.key}"})
            (call,) = way.account().calls

        assert call.dialect is Dialect.OPENAI_CHAT
        assert call.usage.input_tokens == 50
        assert (b'"prompt_tokens"' in passed.body) == is_wanted
        assert passed.body.endswith(b"data: [DONE]\n\n")
        assert _choices(passed.body) == _choices(direct.body)


def _choices(body: bytes) -> list[object]:
    events = [line.removeprefix(b"data: ") for line in body.split(b"\n") if line.startswith(b"data: {")]
    return [msgspec.json.decode(event)["choices"] for event in events]


def test_bytes_pass_unchanged() -> None:
    with ModelServer(Script(turn=[Turn(text="It is done.")])) as server, a_way(server.url, key="") as way:
        for path in ("/v1/messages", "/v1/responses"):
            body = {**BODY, "input": "Hi"}
            direct = post(server.url + path, body, {})
            passed = post(way.url + path, body, {"x-api-key": way.key})

            assert _without_names(passed.body) == _without_names(direct.body)
            assert passed.headers["content-type"] == direct.headers["content-type"]


def _without_names(body: bytes) -> bytes:
    """The server numbers its answers."""
    return re.sub(rb"_\d{16}_ow", b"", body)


def test_models_can_be_listed() -> None:
    with ModelServer(Script(turn=[Turn(text="Hi")], models=["claude-x"])) as server, a_way(server.url) as way:
        answer = ask("GET", f"{way.url}/v1/models?limit=5", headers={"x-api-key": way.key, "anthropic-version": "1"})

        assert [model["id"] for model in answer.json["data"]] == ["claude-x"]
        assert way.account().calls == ()


def test_a_client_that_waits_to_be_asked_for_its_body_is_asked() -> None:
    content = msgspec.json.encode({**BODY, "stream": False})
    with ModelServer(Script(turn=[Turn(text="Hi")])) as server, a_way(server.url) as way:
        head = f"POST /v1/messages HTTP/1.1\r\nhost: x\r\nx-api-key: {way.key}\r\nconnection: close\r\n"
        with create_connection(("127.0.0.1", urlsplit(way.url).port or 0), PATIENCE_SECONDS) as client:
            client.sendall(f"{head}content-length: {len(content)}\r\nexpect: 100-continue\r\n\r\n".encode())
            assert client.recv(1000) == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.sendall(content)
            assert client.recv(1000).startswith(b"HTTP/1.1 200 OK\r\n")


def test_a_large_request_passes_as_it_is() -> None:
    arrived: list[tuple[bytes, dict[str, str]]] = []

    async def take(request: web.BaseRequest) -> web.StreamResponse:
        arrived.append((await request.content.read(), dict(request.headers)))
        return web.json_response({})

    body = msgspec.json.encode({**BODY, "messages": [{"role": "user", "content": "x" * (5 << 20)}]})
    with an_upstream(take) as url, a_way(url) as way:
        answer = ask("POST", f"{way.url}/v1/messages", body, {"x-api-key": way.key, "content-type": "application/json"})

    ((content, headers),) = arrived
    assert answer.status == 200
    assert content == body
    assert (headers["Content-Length"], headers["Content-Type"]) == (str(len(body)), "application/json")
