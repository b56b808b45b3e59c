"""The real key stays outside, the run's key stays inside, whatever a provider says back."""

from collections.abc import Iterator

import msgspec
import pytest
from aiohttp import web
from tests.gateway.gateway_fixtures import MODEL, REAL_KEY, Way, a_way
from tests.gateway.plain_http import ask, post
from tests.gateway.upstreams import an_upstream, stream

from outweigh.testing.model_server import ModelServer, Script, Turn

BODY = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}


async def _echo(request: web.BaseRequest) -> web.StreamResponse:
    """A provider that repeats everything it was sent, in pieces that tear its own key."""
    seen = msgspec.json.encode([str(request.rel_url), dict(request.headers), (await request.read()).decode()])
    if request.path.endswith("/messages"):
        response = await stream(request, {"x-echo": request.headers["x-api-key"]})
        for start in range(0, len(seen), 7):
            await response.write(seen[start : start + 7])
        return response
    if request.path.endswith("/responses"):
        return web.Response(status=401, body=seen, content_type="application/json")
    return web.Response(body=seen, content_type="application/json")


@pytest.fixture
def echo() -> Iterator[Way]:
    with an_upstream(_echo) as url, a_way(url, keep_bodies=True) as way:
        yield way


@pytest.mark.parametrize(
    "path", ["/v1/messages", "/v1/responses", "/v1/chat/completions", f"/v1beta/models/{MODEL}:generateContent?key=KEY"]
)
def test_neither_key_is_ever_on_the_wrong_side(echo: Way, path: str) -> None:
    url = echo.url + path.replace("KEY", echo.key)
    answer = post(url, BODY, {} if "KEY" in path else {"x-api-key": echo.key})
    account = echo.account()

    assert b"*" * len(REAL_KEY) in answer.body
    for side in (answer.body, repr(answer.headers).encode(), repr(account).encode(), account.bodies):
        assert REAL_KEY.encode() not in side
    assert echo.key.encode() not in answer.body  # what the provider was sent
    assert echo.key.encode() not in account.bodies


@pytest.mark.parametrize(
    ("method", "path", "shape"),
    [
        ("POST", "/v1/messages", {"type": "error"}),
        ("POST", "/v1/chat/completions", {}),
        ("GET", "/v1/models", {}),
        ("GET", "/anything", {}),
    ],
)
def test_another_key_opens_nothing(method: str, path: str, shape: dict[str, str]) -> None:
    with ModelServer(Script(turn=[Turn(text="Hi")])) as server, a_way(server.url) as way:
        for headers in ({}, {"x-api-key": "sk-ant-mine"}, {"authorization": f"Bearer {way.key}x"}):
            answer = ask(method, way.url + path, b"{}", headers)

            assert answer.status == 401
            assert answer.json.items() >= shape.items()
        assert way.account().calls == ()

    assert server.ledger == ()


def test_without_its_variable_a_provider_is_not_asked() -> None:
    with ModelServer(Script(turn=[Turn(text="Hi")])) as server, a_way(server.url, key=None) as way:
        answer = post(f"{way.url}/v1/messages", BODY, {"x-api-key": way.key})
        listed = ask("GET", f"{way.url}/v1/models", headers={"x-api-key": way.key})
        (call,) = way.account().calls

    assert (answer.status, listed.status, server.ledger) == (401, 401, ())
    assert "REAL_KEY" in answer.json["error"]["message"]
    assert call.failure is not None
    assert call.failure.kind.value == "unauthorized"


def test_a_provider_that_needs_no_key_gets_none() -> None:
    with ModelServer(Script(turn=[Turn(text="Hi")])) as server, a_way(server.url, key="") as way:
        answer = post(f"{way.url}/v1/chat/completions", BODY, {"authorization": f"Bearer {way.key}"})

    assert answer.status == 200
    assert [entry.api_key for entry in server.ledger] == [None]
