"""A run of an arm with a provider of its own reaches that one, with its key and headers, and no other."""

from collections.abc import Mapping
from typing import Any

import pytest
from aiohttp import web
from tests.gateway.gateway_fixtures import MODEL
from tests.gateway.plain_http import ask, post
from tests.gateway.provider_fixtures import NAME, a_provided_way
from tests.gateway.upstreams import an_upstream

from outweigh.model.failure import FailureKind
from outweigh.model.pricing import ModelPrices, PriceTables, UserPriceTable
from outweigh.testing.model_server import ModelServer, Script, Turn, UsageSpec

KEY = "sk-router-0123456789abcdef"
TEAM = "team-secret-0123456789"
HI = {"model": MODEL, "messages": [{"role": "user", "content": "Hi"}]}
ANSWERED = {
    "id": "1",
    "object": "chat.completion",
    "model": MODEL,
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Hello"}}],
    "usage": {"prompt_tokens": 10, "completion_tokens": 2, "total_tokens": 12},
}


class Recorded:
    """A provider that notes what it is sent, and answers with all of it; `counts` are questions about tokens."""

    def __init__(self, model: str = MODEL) -> None:
        self.model = model
        self.counts: list[tuple[str, str | None]] = []
        self.paths: list[str] = []
        self.headers: list[Mapping[str, str]] = []
        self.bodies: list[Any] = []

    async def answer(self, request: web.BaseRequest) -> web.StreamResponse:
        if request.path.endswith(("countTokens", "input_tokens")):
            self.counts.append((request.path, request.headers.get("api-key")))
            return web.Response(status=404)
        self.paths.append(str(request.rel_url))
        self.headers.append({name.lower(): value for name, value in request.headers.items()})
        self.bodies.append(await request.json() if request.can_read_body else None)
        return web.json_response(
            {**ANSWERED, "model": self.model, "sent": dict(self.headers[-1])}, headers={"x-echo": TEAM}
        )


def table(url: str, **more: Any) -> dict[str, Any]:
    return {"dialect": "openai", "url": url, "key": "ROUTER_KEY", **more}


def chat(way: Any, body: Mapping[str, Any] = HI) -> Any:
    return post(f"{way.url}/v1/chat/completions", body, {"authorization": f"Bearer {way.key}"})


def test_the_key_and_the_headers_are_sent_and_never_come_back() -> None:
    provider = Recorded()
    headers = {"X-Title": "an experiment", "X-Team": "id ${TEAM}", "User-Agent": "ours"}
    with (
        an_upstream(provider.answer) as url,
        a_provided_way(
            table(f"{url}/api/v1", headers=headers), {"ROUTER_KEY": KEY, "TEAM": TEAM}, keep_bodies=True
        ) as way,
    ):
        answer = chat(way)
        account = way.account()

    (sent,) = provider.headers
    assert provider.paths == ["/api/v1/chat/completions"]
    assert (sent["authorization"], sent["x-title"], sent["x-team"]) == (f"Bearer {KEY}", "an experiment", f"id {TEAM}")
    assert sent["user-agent"] == "ours"
    assert way.key not in str(sent)
    for side in (answer.body, repr(answer.headers).encode(), repr(account).encode(), account.bodies):
        assert KEY.encode() not in side
        assert TEAM.encode() not in side
    (call,) = account.calls
    assert (call.provider, call.host) == (NAME, url.removeprefix("http://"))


def test_a_provider_is_asked_by_its_own_name_for_a_model_and_answers_for_ours() -> None:
    provider = Recorded(model="qwen/qwen3-coder")
    with (
        an_upstream(provider.answer) as url,
        a_provided_way(table(url, key="", models={MODEL: "qwen/qwen3-coder"})) as way,
    ):
        chat(way)
        chat(way, {**HI, "model": "another"})
        first, second = way.account().calls

    assert [body["model"] for body in provider.bodies] == ["qwen/qwen3-coder", "another"]
    assert provider.bodies[0]["messages"] == HI["messages"]
    assert (first.requested_model, first.model, second.requested_model) == (MODEL, MODEL, "another")


def test_the_name_of_a_model_in_a_path_is_replaced_too() -> None:
    provider = Recorded()
    with (
        an_upstream(provider.answer) as url,
        a_provided_way({"dialect": "gemini", "url": url, "key": "", "models": {"gemini-3": "theirs"}}) as way,
    ):
        post(f"{way.url}/v1beta/models/gemini-3:generateContent", {"contents": []}, {"x-goog-api-key": way.key})

    assert provider.paths == ["/v1beta/models/theirs:generateContent"]
    assert provider.counts == [("/v1beta/models/theirs:countTokens", None)]


def test_requests_of_another_api_are_refused_and_not_sent() -> None:
    provider = Recorded()
    with an_upstream(provider.answer) as url, a_provided_way(table(url, key="")) as way:
        answer = post(f"{way.url}/v1/messages", HI, {"x-api-key": way.key})
        account = way.account()

    assert answer.status == 404
    assert answer.json["error"]["message"] == (
        "The provider 'ours' of this run has openai's API, and POST /v1/messages is anthropic's. Nothing was sent. "
        'Name a provider with dialect = "anthropic" in the arm.'
    )
    assert (provider.paths, account.calls) == ([], ())
    assert account.unserved[0].startswith("POST /v1/messages: ")


class TestPrices:
    def test_its_own_price_file_prices_its_runs(self) -> None:
        own = PriceTables(
            UserPriceTable("ours", {MODEL: ModelPrices(input_usd_per_million=1, output_usd_per_million=2)})
        )
        turn = Turn(text="Hi", usage=UsageSpec(input_tokens=1_000_000, output_tokens=1_000_000))
        with (
            ModelServer(Script(turn=[turn])) as server,
            a_provided_way(table(server.url, key=""), prices=own) as way,
        ):
            chat(way)
            account = way.account()

        assert (account.calls[0].cost_usd, account.price_table) == (3.0, "ours")

    def test_a_model_that_it_does_not_list_is_refused_where_there_is_a_budget_and_the_file_is_named(self) -> None:
        provider = Recorded()
        with (
            an_upstream(provider.answer) as url,
            a_provided_way(table(url, key=""), prices=PriceTables(UserPriceTable("ours", {})), budget_usd=1.0) as way,
        ):
            answer = chat(way)
            (call,) = way.account().calls

        assert (answer.status, provider.paths) == (400, [])
        assert "prices under [providers.ours] in the suite" in answer.json["error"]["message"]
        assert call.failure is not None
        assert (call.failure.kind, call.provider) == (FailureKind.UNKNOWN_MODEL, None)


class TestAzure:
    @pytest.mark.parametrize(
        ("base", "api_version", "asked", "sent"),
        [
            ("", None, "/v1/responses", "/openai/v1/responses"),
            ("/openai/v1/", None, "/v1/chat/completions", "/openai/v1/chat/completions"),
            ("", "preview", "/v1/responses", "/openai/v1/responses?api-version=preview"),
            ("", "2025-04-01-preview", "/v1/responses", "/openai/responses?api-version=2025-04-01-preview"),
            (
                "/openai",
                "2024-10-21",
                "/v1/chat/completions",
                f"/openai/deployments/{MODEL}/chat/completions?api-version=2024-10-21",
            ),
        ],
    )
    def test_a_request_goes_to_the_path_of_its_version_with_the_key_in_its_header(
        self, base: str, api_version: str | None, asked: str, sent: str
    ) -> None:
        provider = Recorded()
        version = {} if api_version is None else {"api_version": api_version}
        with (
            an_upstream(provider.answer) as url,
            a_provided_way(table(url + base, kind="azure", **version), {"ROUTER_KEY": KEY}) as way,
        ):
            answer = post(way.url + asked, {**HI, "input": "Hi"}, {"authorization": f"Bearer {way.key}"})
            (call,) = way.account().calls

        (headers,) = provider.headers
        assert provider.paths == [sent]
        # An answer without usage is counted, at the same place and with the same key.
        path = sent.partition("?")[0]
        assert provider.counts == ([(f"{path}/input_tokens", KEY)] if path.endswith("responses") else [])
        assert (headers["api-key"], headers.get("authorization")) == (KEY, None)
        assert KEY.encode() not in answer.body
        assert (call.provider, call.http_status) == (NAME, 200)

    def test_the_deployment_of_a_model_may_have_another_name(self) -> None:
        provider = Recorded()
        given = table("", kind="azure", api_version="2024-10-21", models={MODEL: "team a/gpt"})
        with an_upstream(provider.answer) as url, a_provided_way({**given, "url": url}, {"ROUTER_KEY": KEY}) as way:
            chat(way)

        assert provider.paths == ["/openai/deployments/team%20a%2Fgpt/chat/completions?api-version=2024-10-21"]

    def test_its_list_of_models_is_asked_for_with_the_key_too(self) -> None:
        provider = Recorded()
        with (
            an_upstream(provider.answer) as url,
            a_provided_way(table(url, kind="azure"), {"ROUTER_KEY": KEY}) as way,
        ):
            ask("GET", f"{way.url}/v1/models", headers={"authorization": f"Bearer {way.key}"})

        assert (provider.paths, provider.headers[0]["api-key"]) == (["/openai/v1/models"], KEY)
