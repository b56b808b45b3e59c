"""Models fail, streams break off, clients go away: the account says what happened, and nobody else notices."""

from contextlib import ExitStack, suppress
from http.client import HTTPException
from socket import create_connection, create_server
from urllib.parse import urlsplit

import pytest
from aiohttp import web
from tests.gateway.gateway_fixtures import MODEL, Way, a_way
from tests.gateway.plain_http import PATIENCE_SECONDS, Answer, ask, post
from tests.gateway.upstreams import an_upstream, until

from outweigh.gateway.gateway_server import MAX_CONNECTIONS
from outweigh.gateway.request_body import MAX_REQUEST_BYTES, BodyLimit, BodyTooLargeError, RequestBody
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE
from outweigh.ports.gateways import Dialect, ModelCall
from outweigh.testing.model_server import ErrorSpec, ModelServer, Script, Turn, UsageSpec
from outweigh.testing.model_server.model_script import ErrorKind

USAGE = UsageSpec(input_tokens=50, output_tokens=20, cache_read_tokens=7)
PATHS = {
    Dialect.ANTHROPIC_MESSAGES: "/v1/messages",
    Dialect.OPENAI_RESPONSES: "/v1/responses",
    Dialect.OPENAI_CHAT: "/v1/chat/completions",
    Dialect.GEMINI: f"/v1beta/models/{MODEL}:streamGenerateContent?alt=sse",
}
BODY = {
    "model": MODEL,
    "max_tokens": 9,
    "stream": True,
    "messages": [{"role": "user", "content": "Hi"}],
    "input": "Hi",
    "contents": [{"role": "user", "parts": [{"text": "Hi"}]}],
}


def _ask(way: Way, dialect: Dialect) -> Answer:
    return post(way.url + PATHS[dialect], BODY, {"authorization": f"Bearer {way.key}"})


def _failed(turn: Turn, dialect: Dialect) -> tuple[Answer, ModelCall]:
    with ModelServer(Script(turn=[turn])) as server, a_way(server.url) as way:
        answer = _ask(way, dialect)
        (call,) = way.account().calls
    return answer, call


@pytest.mark.parametrize(
    ("trouble", "kind"),
    [
        ("rate_limited", FailureKind.RATE_LIMITED),
        ("overloaded", FailureKind.OVERLOADED),
        ("forbidden", FailureKind.UNAUTHORIZED),
        ("server_error", FailureKind.SERVER_ERROR),
        ("unknown_model", FailureKind.UNKNOWN_MODEL),
        ("bad_request", FailureKind.BAD_REQUEST),
    ],
)
@pytest.mark.parametrize("dialect", Dialect)
def test_what_a_model_says_went_wrong_is_passed_on_and_understood(
    dialect: Dialect, trouble: ErrorKind, kind: FailureKind
) -> None:
    answer, call = _failed(Turn(error=ErrorSpec(kind=trouble)), dialect)

    error = answer.json[0]["error"] if isinstance(answer.json, list) else answer.json["error"]
    assert (call.http_status, call.usage, call.components) == (answer.status, NO_USAGE, ())
    assert call.failure is not None
    assert call.failure.kind is kind
    assert error["message"] in call.failure.detail


@pytest.mark.parametrize("dialect", Dialect)
def test_a_model_that_asks_for_a_pause_is_heard(dialect: Dialect) -> None:
    _, call = _failed(Turn(error=ErrorSpec(kind="rate_limited", retry_after_seconds=17)), dialect)

    assert call.failure is not None
    assert (call.failure.kind, call.failure.retry_after_seconds) == (FailureKind.RATE_LIMITED, 17.0)


@pytest.mark.parametrize("dialect", Dialect)
def test_an_error_after_the_answer_has_begun_is_a_failure_too(dialect: Dialect) -> None:
    error = ErrorSpec(kind="overloaded", in_stream=True)
    answer, call = _failed(Turn(text="Never said to the end.", error=error), dialect)

    assert answer.status == 200
    assert call.failure is not None
    assert call.failure.kind in (FailureKind.OVERLOADED, FailureKind.SERVER_ERROR)


@pytest.mark.parametrize("dialect", [Dialect.ANTHROPIC_MESSAGES, Dialect.OPENAI_RESPONSES, Dialect.OPENAI_CHAT])
def test_an_account_without_credit_is_no_runs_fault(dialect: Dialect) -> None:
    _, call = _failed(Turn(error=ErrorSpec(kind="quota_exhausted")), dialect)

    assert call.failure is not None
    assert call.failure.kind is FailureKind.UNAUTHORIZED


@pytest.mark.parametrize("dialect", Dialect)
def test_an_answer_that_breaks_off_breaks_off_for_its_client_too(dialect: Dialect) -> None:
    script = Script(turn=[Turn(text="A long answer that nobody hears to the end.", usage=USAGE, cut=True)])
    with ModelServer(script) as server, a_way(server.url) as way:
        with pytest.raises((HTTPException, ConnectionError)):
            _ask(way, dialect)
        until(lambda: way.account().calls[0].failure is not None)
        (call,) = way.account().calls

    assert call.failure is not None
    assert call.failure.kind is FailureKind.CUT_STREAM
    assert (call.usage.output_tokens, call.components) == (None, ())
    is_input_told = dialect in (Dialect.ANTHROPIC_MESSAGES, Dialect.GEMINI)
    assert call.usage.input_tokens in ((50, None) if is_input_told else (None,))


@pytest.mark.parametrize("dialect", Dialect)
def test_nobody_at_the_other_end_is_told_in_the_dialects_own_way(dialect: Dialect) -> None:
    with create_server(("127.0.0.1", 0)) as taken:
        nobody = f"http://127.0.0.1:{taken.getsockname()[1]}"
    with a_way(nobody) as way:
        answer = _ask(way, dialect)
        (call,) = way.account().calls

    assert (answer.status, call.http_status) == (502, 502)
    assert "127.0.0.1 cannot be reached" in answer.json["error"]["message"]
    assert call.failure is not None
    assert call.failure.kind is FailureKind.CONNECTION_REFUSED


def test_a_provider_that_hangs_up_without_a_word_is_a_server_error() -> None:
    async def hang_up(request: web.BaseRequest) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    with an_upstream(hang_up) as url, a_way(url) as way:
        answer = _ask(way, Dialect.OPENAI_CHAT)
        (call,) = way.account().calls

    assert answer.status == 502
    assert call.failure is not None
    assert call.failure.kind is FailureKind.SERVER_ERROR


def test_what_is_no_answer_at_all_is_a_failure_and_unknown() -> None:
    async def welcome(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(text="<html>Welcome</html>", content_type="text/html")

    with an_upstream(welcome) as url, a_way(url) as way:
        answer = _ask(way, Dialect.ANTHROPIC_MESSAGES)
        (call,) = way.account().calls

    assert answer.body == b"<html>Welcome</html>"
    assert (call.usage, call.cost_usd) == (NO_USAGE, None)
    assert call.failure is not None
    assert call.failure.kind is FailureKind.CUT_STREAM


def test_a_redirect_is_not_followed_with_the_key() -> None:
    async def elsewhere(request: web.BaseRequest) -> web.StreamResponse:
        return web.Response(status=307, headers={"location": "http://127.0.0.1:1/v1/messages"})

    with an_upstream(elsewhere) as url, a_way(url) as way:
        assert _ask(way, Dialect.ANTHROPIC_MESSAGES).status == 307
        (call,) = way.account().calls

    assert call.failure is not None
    assert "[gateway]" in call.failure.detail


@pytest.mark.parametrize(
    ("path", "body", "status"),
    [
        ("/v1/messages", b"no json", 400),
        ("/v1/messages", b"[1]", 400),
        ("/v1/messages", b"[" * 100_000, 400),
        ("/v1/responses", b'{"model": "m", "input": "Hi", "background": true}', 400),
        ("/v1/messages/batches", b"{}", 404),
    ],
)
def test_what_cannot_be_metered_is_not_sent(path: str, body: bytes, status: int) -> None:
    with ModelServer(Script(turn=[Turn(text="Hi")])) as server, a_way(server.url) as way:
        answer = ask("POST", way.url + path, body, {"x-api-key": way.key})

        assert answer.status == status
        assert answer.json["error"]
        assert [entry.partition(":")[0] for entry in way.account().unserved] == [f"POST {path}"]

    assert server.ledger == ()


def test_a_request_without_end_is_refused_in_time() -> None:
    with ModelServer(Script(turn=[Turn(text="Hi")])) as server, a_way(server.url) as way:
        endless = (b" " * (1 << 20) for _ in range((MAX_REQUEST_BYTES >> 20) + 1))
        answer = ask("POST", f"{way.url}/v1/messages", endless, {"x-api-key": way.key})

    assert (answer.status, answer.json["error"]["type"], server.ledger) == (413, "request_too_large", ())


def test_half_a_character_is_no_trouble() -> None:
    body = b'{"model": "priced-model", "stream": true, "messages": [{"role": "user", "content": "cut \\ud83d off"}]}'
    with ModelServer(Script(turn=[Turn(text="Hi", usage=USAGE)])) as server, a_way(server.url) as way:
        answer = ask("POST", f"{way.url}/v1/chat/completions", body, {"authorization": f"Bearer {way.key}"})
        (call,) = way.account().calls

    assert (answer.status, call.usage.input_tokens) == (200, 50)


def test_the_requests_of_a_run_have_one_room_together() -> None:
    room = BodyLimit(most_bytes=10)
    with RequestBody(room) as one, RequestBody(room) as other:
        one.add(b"123456")
        with pytest.raises(BodyTooLargeError):
            other.add(b"12345")
        other.add(b"1234")
    with RequestBody(room) as next_one:
        next_one.add(b"1234567890")

        assert next_one.content() == b"1234567890"


def test_connections_beyond_all_need_are_turned_away_and_others_go_on() -> None:
    with ModelServer(Script(turn=[Turn(text="Hi")])) as server, a_way(server.url) as way:
        address = ("127.0.0.1", urlsplit(way.url).port or 0)
        with ExitStack() as crowd:
            opened = [crowd.enter_context(create_connection(address, PATIENCE_SECONDS)) for _ in range(MAX_CONNECTIONS)]
            with create_connection(address, PATIENCE_SECONDS) as one_too_many, suppress(ConnectionError):
                assert one_too_many.recv(1) == b""
            opened[0].sendall(f"GET /v1/models HTTP/1.1\r\nhost: x\r\nx-api-key: {way.key}\r\n\r\n".encode())
            assert opened[0].recv(12) == b"HTTP/1.1 200"
        until(lambda: _is_served(way))


def _is_served(way: Way) -> bool:
    try:
        return _ask(way, Dialect.OPENAI_CHAT).status == 200
    except ConnectionError:
        return False
