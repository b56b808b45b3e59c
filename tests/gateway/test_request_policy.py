"""A provider's own tools are a network, and another model is another arm: both are refused unless the suite allows."""

from collections.abc import Mapping
from datetime import UTC, datetime

import pytest
from tests.gateway.gateway_fixtures import MODEL, MODEL_PRICES, PRICES, a_gateway, a_way_through
from tests.gateway.plain_http import post

from outweigh.gateway.dialects.anthropic_messages import AnthropicResponse
from outweigh.gateway.dialects.gemini_generate_content import GeminiResponse
from outweigh.gateway.dialects.openai_responses import OpenAIResponsesResponse
from outweigh.gateway.dialects.request_and_response import GenerationRequest, GenerationResponse
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.request_cost import price_response
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.failure import FailureKind, Status
from outweigh.model.pricing import PriceTables, UserPriceTable
from outweigh.model.provider import ApiFamily
from outweigh.testing.model_server import ModelServer, Script, Turn

SCRIPT = Script(turn=[Turn(text="Done.")])
MESSAGES, RESPONSES, CHAT = "/v1/messages", "/v1/responses", "/v1/chat/completions"
GEMINI = f"/v1beta/models/{MODEL}:generateContent"
REMOTE_IMAGE = "https://example.org/leak.png?what=secret"
INLINE_IMAGE = "data:image/png;base64,aGVsbG8="

_HELLO = [{"role": "user", "content": "Hi"}]
_ANTHROPIC = {"model": MODEL, "max_tokens": 9, "messages": _HELLO}
_RESPONSES = {"model": MODEL, "input": "Hi"}
_CHAT = {"model": MODEL, "messages": _HELLO}
_GEMINI = {"contents": [{"role": "user", "parts": [{"text": "Hi"}]}]}


def _user(*blocks: Mapping[str, object]) -> list[dict[str, object]]:
    return [{"role": "user", "content": list(blocks)}]


HOSTED = {
    "web_search": (MESSAGES, {**_ANTHROPIC, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
    "web_fetch": (MESSAGES, {**_ANTHROPIC, "tools": [{"type": "web_fetch_20250910", "name": "web_fetch"}]}),
    "code_execution": (MESSAGES, {**_ANTHROPIC, "tools": [{"type": "code_execution_20250825", "name": "run"}]}),
    "a_tool_of_tomorrow": (MESSAGES, {**_ANTHROPIC, "tools": [{"type": "a_tool_of_tomorrow_20270101", "name": "x"}]}),
    "mcp": (MESSAGES, {**_ANTHROPIC, "mcp_servers": [{"type": "url", "url": "https://example.org", "name": "x"}]}),
    "remote_files": (
        MESSAGES,
        {**_ANTHROPIC, "messages": _user({"type": "image", "source": {"type": "url", "url": REMOTE_IMAGE}})},
    ),
}
ELSEWHERE = [
    ("web_search", RESPONSES, {**_RESPONSES, "tools": [{"type": "web_search", "external_web_access": False}]}),
    ("web_search_preview", RESPONSES, {**_RESPONSES, "tools": [{"type": "web_search_preview"}]}),
    ("code_interpreter", RESPONSES, {**_RESPONSES, "tools": [{"type": "code_interpreter"}]}),
    ("shell", RESPONSES, {**_RESPONSES, "tools": [{"type": "shell", "environment": {"type": "container_auto"}}]}),
    ("mcp", RESPONSES, {**_RESPONSES, "tools": [{"type": "mcp", "server_url": "https://example.org"}]}),
    ("mcp", RESPONSES, {**_RESPONSES, "tools": [{"type": "namespace", "tools": [{"type": "mcp"}]}]}),
    (
        "remote_files",
        RESPONSES,
        {**_RESPONSES, "input": _user({"type": "input_image", "image_url": REMOTE_IMAGE})},
    ),
    ("remote_files", RESPONSES, {**_RESPONSES, "input": _user({"type": "input_file", "file_url": REMOTE_IMAGE})}),
    (
        "remote_files",
        RESPONSES,
        {
            **_RESPONSES,
            "input": [
                {
                    "type": "function_call_output",
                    "call_id": "1",
                    "output": [{"type": "input_image", "image_url": REMOTE_IMAGE}],
                }
            ],
        },
    ),
    ("web_search", CHAT, {**_CHAT, "web_search_options": {}}),
    ("plugins", CHAT, {**_CHAT, "plugins": [{"id": "web"}]}),
    ("remote_files", CHAT, {**_CHAT, "messages": _user({"type": "image_url", "image_url": {"url": REMOTE_IMAGE}})}),
    ("google_search", GEMINI, {**_GEMINI, "tools": [{"googleSearch": {}}]}),
    ("url_context", GEMINI, {**_GEMINI, "tools": [{"url_context": {}}]}),
    ("code_execution", GEMINI, {**_GEMINI, "tools": [{"functionDeclarations": []}, {"codeExecution": {}}]}),
    ("remote_files", GEMINI, {"contents": [{"parts": [{"fileData": {"fileUri": REMOTE_IMAGE}}]}]}),
    (
        "remote_files",
        MESSAGES,
        {
            **_ANTHROPIC,
            "messages": _user(
                {
                    "type": "tool_result",
                    "tool_use_id": "1",
                    "content": [{"type": "image", "source": {"type": "url", "url": REMOTE_IMAGE}}],
                }
            ),
        },
    ),
]
ORDINARY = [
    (MESSAGES, {**_ANTHROPIC, "tools": [{"name": "Bash", "input_schema": {}}, {"type": "bash_20250124", "name": "b"}]}),
    (MESSAGES, {**_ANTHROPIC, "tools": [{"type": "tool_search_tool_regex_20251119", "name": "search"}]}),
    (
        MESSAGES,
        {
            **_ANTHROPIC,
            "messages": [
                *_user({"type": "text", "text": REMOTE_IMAGE}),
                {
                    "role": "assistant",
                    "content": [{"type": "tool_use", "id": "1", "name": "WebFetch", "input": {"url": REMOTE_IMAGE}}],
                },
            ],
        },
    ),
    (RESPONSES, {**_RESPONSES, "tools": [{"type": "function", "name": "sh"}, {"type": "namespace", "tools": []}]}),
    (RESPONSES, {**_RESPONSES, "tools": [{"type": "shell", "environment": {"type": "local"}}]}),
    (RESPONSES, {**_RESPONSES, "input": _user({"type": "input_image", "image_url": INLINE_IMAGE})}),
    (CHAT, {**_CHAT, "messages": _user({"type": "image_url", "image_url": {"url": INLINE_IMAGE}})}),
    (GEMINI, {**_GEMINI, "tools": [{"functionDeclarations": [{"name": "sh"}]}]}),
]
EVERY_HOSTED = [*((name, path, body) for name, (path, body) in HOSTED.items()), *ELSEWHERE]


@pytest.mark.parametrize(("name", "path", "body"), EVERY_HOSTED)
def test_what_the_provider_would_run_or_fetch_is_refused_by_name_and_not_sent(
    name: str, path: str, body: Mapping[str, object]
) -> None:
    with ModelServer(SCRIPT) as server, a_gateway(server.url) as gateway, a_way_through(gateway) as way:
        answer = post(way.url + path, body, {"authorization": f"Bearer {way.key}"})
        (call,) = way.account().calls

    assert answer.status in (400, 401, 403)
    assert f'allow = ["{name}"] under [gateway]' in answer.json["error"]["message"]
    assert list(server.ledger) == []
    assert call.failure is not None
    assert call.failure.kind is FailureKind.NOT_ALLOWED


@pytest.mark.parametrize(("name", "path", "body"), EVERY_HOSTED)
def test_what_the_suite_allows_is_sent(name: str, path: str, body: Mapping[str, object]) -> None:
    with ModelServer(SCRIPT) as server, a_gateway(server.url) as gateway, a_way_through(gateway, allow=(name,)) as way:
        answer = post(way.url + path, body, {"authorization": f"Bearer {way.key}"})

    assert answer.status == 200


@pytest.mark.parametrize(("path", "body"), ORDINARY)
def test_what_the_agent_itself_runs_passes(path: str, body: Mapping[str, object]) -> None:
    with ModelServer(SCRIPT) as server, a_gateway(server.url) as gateway, a_way_through(gateway) as way:
        assert post(way.url + path, body, {"authorization": f"Bearer {way.key}"}).status == 200


def test_counting_tokens_makes_no_provider_fetch_anything() -> None:
    path, body = HOSTED["remote_files"]
    nested = {"generateContentRequest": {"contents": [{"parts": [{"fileData": {"fileUri": REMOTE_IMAGE}}]}]}}
    with ModelServer(SCRIPT) as server, a_gateway(server.url) as gateway, a_way_through(gateway) as way:
        headers = {"authorization": f"Bearer {way.key}"}
        counted = post(f"{way.url}{path}/count_tokens", body, headers)
        gemini = post(f"{way.url}/v1beta/models/{MODEL}:countTokens", nested, headers)

    assert (counted.status, gemini.status) == (403, 403)
    assert b"remote_files" in counted.body
    assert b"remote_files" in gemini.body


class TestModels:
    def _ask(self, models: tuple[str, ...] | None, allow: tuple[str, ...], body: Mapping[str, object]) -> int:
        with (
            ModelServer(SCRIPT) as server,
            a_gateway(server.url) as gateway,
            a_way_through(gateway, models=models, allow=allow) as way,
        ):
            return post(way.url + CHAT, body, {"authorization": f"Bearer {way.key}"}).status

    def test_an_arm_asks_its_own_model_in_any_spelling(self) -> None:
        assert self._ask(("openai/gpt-5",), (), {**_CHAT, "model": "gpt-5-2025-08-07"}) == 200

    def test_a_cheaper_model_with_a_longer_name_is_another_one(self) -> None:
        assert self._ask(("gpt-5",), (), {**_CHAT, "model": "gpt-5-mini"}) == 401

    def test_a_fallback_model_is_held_to_the_same_rule(self) -> None:
        assert self._ask(("gpt-5",), (), {**_CHAT, "model": "gpt-5", "models": ["gpt-5-pro"]}) == 401

    def test_the_suite_may_allow_more(self) -> None:
        assert self._ask(("gpt-5",), ("gpt-5-*",), {**_CHAT, "model": "gpt-5-mini"}) == 200

    def test_an_arm_that_names_no_model_may_ask_any(self) -> None:
        assert self._ask(None, (), {**_CHAT, "model": "whatever"}) == 200

    def test_the_model_in_a_path_counts_too(self) -> None:
        with (
            ModelServer(SCRIPT) as server,
            a_gateway(server.url) as gateway,
            a_way_through(gateway, models=("gemini-pro",)) as way,
        ):
            assert post(way.url + GEMINI, _GEMINI, {"authorization": f"Bearer {way.key}"}).status == 403

    def test_a_model_that_does_not_exist_is_the_agents_fault(self) -> None:
        assert FailureKind.NOT_ALLOWED.status is Status.AGENT_ERROR


class TestDollars:
    def _gateway(self, url: str, hosted_usd: Mapping[str, float]) -> ModelGateway:
        upstreams = {provider: ModelUpstream(url=url, variable="", key="") for provider in ApiFamily}
        return ModelGateway(upstreams, PriceTables(UserPriceTable("tools", {MODEL: MODEL_PRICES}, hosted_usd)))

    def test_a_budget_in_dollars_needs_the_price_of_what_the_provider_runs(self) -> None:
        path, body = HOSTED["web_search"]
        statuses = []
        for hosted_usd in ({}, {"web_search": 0.01}):
            with (
                ModelServer(SCRIPT) as server,
                self._gateway(server.url, hosted_usd) as gateway,
                a_way_through(gateway, budget_usd=1.0, allow=("web_search",)) as way,
            ):
                statuses.append(post(way.url + path, body, {"authorization": f"Bearer {way.key}"}).status)

        assert statuses == [403, 200]

    @pytest.mark.parametrize(
        ("response", "event", "uses"),
        [
            (
                AnthropicResponse,
                {"type": "message", "usage": {"output_tokens": 1, "server_tool_use": {"web_search_requests": 2}}},
                {"web_search": 2},
            ),
            (
                OpenAIResponsesResponse,
                {"output": [{"type": f"{kind}_call"} for kind in ("web_search", "function", "mcp", "web_search")]},
                {"web_search": 2},
            ),
            (
                GeminiResponse,
                {"candidates": [{"groundingMetadata": {"webSearchQueries": ["a", "b", "c"]}}]},
                {"google_search": 3},
            ),
        ],
    )
    def test_what_the_provider_ran_is_counted(
        self, response: type[GenerationResponse], event: dict[str, object], uses: dict[str, int]
    ) -> None:
        read = response()
        read.read_event(event)

        assert dict(read.hosted_uses) == uses

    def test_two_searches_at_a_cent_are_two_cents_more_and_unknown_without_a_price(self) -> None:
        read = AnthropicResponse()
        usage = {"input_tokens": 1000, "output_tokens": 200, "server_tool_use": {"web_search_requests": 2}}
        read.read_event({"type": "message", "model": MODEL, "usage": usage})
        request = GenerationRequest(model=MODEL, is_streamed=False, parts=(), tools=(), first_user_texts=())
        now = datetime(2026, 1, 1, tzinfo=UTC)
        listed = PriceTables(UserPriceTable("tools", {MODEL: MODEL_PRICES}, {"web_search": 0.01}))

        cost = price_response(listed, request, read, now)
        assert cost.usd == pytest.approx(0.003 + 0.003 + 0.02)
        unlisted = price_response(PRICES, request, read, now)
        assert unlisted.usd is None
        assert "no price of the provider's 'web_search' is known" in unlisted.reason
