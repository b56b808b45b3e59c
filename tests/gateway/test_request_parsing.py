"""What can be reached through the gateway, where it leads, and with which headers."""

import pytest

from outweigh.gateway.request_parsing import Route, RoutePurpose, find_route
from outweigh.gateway.upstream import (
    ModelUpstream,
    create_run_key,
    headers_to_return,
    headers_to_send,
    query_to_send,
    read_upstreams,
    shows_run_key,
)
from outweigh.model.provider import ApiFamily, ProviderSpec
from outweigh.model.suite import GatewaySpec
from outweigh.ports.gateways import Dialect


def _route(what: str, **headers: str) -> Route:
    method, path = what.split()
    found = find_route(method, path, {name.replace("_", "-"): value for name, value in headers.items()})
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("what", "dialect", "purpose", "path"),
    [
        ("POST /v1/messages", Dialect.ANTHROPIC_MESSAGES, RoutePurpose.GENERATE, "/v1/messages"),
        ("POST /v1/messages/count_tokens", Dialect.ANTHROPIC_MESSAGES, RoutePurpose.COUNT, "/v1/messages/count_tokens"),
        ("POST /v1/responses", Dialect.OPENAI_RESPONSES, RoutePurpose.GENERATE, "/v1/responses"),
        ("POST /v1/responses/compact", Dialect.OPENAI_RESPONSES, RoutePurpose.GENERATE, "/v1/responses/compact"),
        ("POST /responses", Dialect.OPENAI_RESPONSES, RoutePurpose.GENERATE, "/v1/responses"),
        ("POST /v1/chat/completions", Dialect.OPENAI_CHAT, RoutePurpose.GENERATE, "/v1/chat/completions"),
        ("GET /v1/models", Dialect.OPENAI_CHAT, RoutePurpose.LOOK_UP, "/v1/models"),
        ("GET /v1/models/gpt-x", Dialect.OPENAI_CHAT, RoutePurpose.LOOK_UP, "/v1/models/gpt-x"),
        ("GET /v1beta/models", Dialect.GEMINI, RoutePurpose.LOOK_UP, "/v1beta/models"),
        ("POST /v1beta/models/g-x:countTokens", Dialect.GEMINI, RoutePurpose.COUNT, "/v1beta/models/g-x:countTokens"),
    ],
)
def test_every_path_has_its_dialect(what: str, dialect: Dialect, purpose: RoutePurpose, path: str) -> None:
    found = _route(what)

    assert (found.dialect, found.purpose, found.path) == (dialect, purpose, path)


@pytest.mark.parametrize("version", ["v1", "v1alpha", "v1beta"])
@pytest.mark.parametrize(("verb", "is_streamed"), [("generateContent", False), ("streamGenerateContent", True)])
def test_a_gemini_path_names_model_and_streaming(version: str, verb: str, is_streamed: bool) -> None:
    found = _route(f"POST /{version}/models/gemini-3:{verb}")

    assert (found.provider, found.model, found.is_streamed) == (ApiFamily.GEMINI, "gemini-3", is_streamed)


def test_lists_of_models_are_told_apart_by_their_headers() -> None:
    assert _route("GET /v1/models", anthropic_version="2023-06-01").provider is ApiFamily.ANTHROPIC
    assert _route("GET /v1/models", authorization="Bearer k").provider is ApiFamily.OPENAI
    assert _route("GET /v1/models", x_goog_api_key="k").provider is ApiFamily.GEMINI


@pytest.mark.parametrize(
    "what",
    [
        "GET /",
        "GET /v1/messages",
        "POST /v1/messages/batches",
        "POST /v1/files",
        "GET /v1/responses/resp_1",
        "POST /v1/embeddings",
        "POST /v1beta/models/g:embedContent",
        "POST /v1beta/models/g:batchGenerateContent",
        "DELETE /v1/models/ft:gpt",
        "GET /v1/models/../files",
        "GET /v1/models/./x",
        "POST //v1/messages",
        "POST /v1/models/../messages/batches",
    ],
)
def test_nothing_else_can_be_reached(what: str) -> None:
    method, path = what.split()

    assert find_route(method, path, {}) is None


@pytest.mark.parametrize(
    ("base", "path", "address"),
    [
        ("https://api.anthropic.com", "/v1/messages", "https://api.anthropic.com/v1/messages"),
        ("https://api.anthropic.com/", "/v1/messages", "https://api.anthropic.com/v1/messages"),
        ("https://openrouter.ai/api", "/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
        ("https://openrouter.ai/api/v1", "/v1/chat/completions", "https://openrouter.ai/api/v1/chat/completions"),
        ("http://h/paas/v4/", "/v1/chat/completions", "http://h/paas/v4/chat/completions"),
        ("http://h/v1beta/openai", "/v1/chat/completions", "http://h/v1beta/openai/chat/completions"),
        ("http://h", "/v1beta/models/g:generateContent", "http://h/v1beta/models/g:generateContent"),
        ("http://h/v1beta", "/v1beta/models/g:generateContent", "http://h/v1beta/models/g:generateContent"),
    ],
)
def test_a_base_may_or_may_not_name_its_version(base: str, path: str, address: str) -> None:
    assert ModelUpstream(url=base, variable="", key="").address(path) == address


class TestUpstreams:
    def test_keys_come_from_the_variables_that_the_suite_names(self) -> None:
        spec = GatewaySpec(
            openai=ProviderSpec(url="http://127.0.0.1:1", key=""), gemini=ProviderSpec(url="http://g", key="MINE")
        )
        ways = read_upstreams(spec, {"ANTHROPIC_API_KEY": "a", "MINE": ""})

        assert [ways[provider].key for provider in ApiFamily] == ["a", "", None]

    @pytest.mark.parametrize(("key", "secrets"), [("sk-0123456789abcdef", 1), ("EMPTY", 0), ("", 0), (None, 0)])
    def test_a_word_that_stands_for_no_key_is_no_secret(self, key: str | None, secrets: int) -> None:
        assert len(ModelUpstream(url="http://h", variable="V", key=key).secrets) == secrets

    def test_a_key_is_not_shown(self) -> None:
        assert "secret" not in repr(ModelUpstream(url="http://h", variable="V", key="secret"))

    @pytest.mark.parametrize(
        ("url", "environment", "proxy"),
        [
            ("https://api.example.org", {}, None),
            ("https://api.example.org", {"HTTPS_PROXY": "http://p"}, "http://p"),
            ("http://api.example.org", {"HTTPS_PROXY": "http://p"}, None),
            ("http://api.example.org", {"all_proxy": "http://p"}, "http://p"),
            ("https://api.example.org", {"HTTPS_PROXY": "http://p", "NO_PROXY": "x.org, .example.org"}, None),
            ("https://api.example.org", {"HTTPS_PROXY": "http://p", "NO_PROXY": "example.com"}, "http://p"),
            ("https://api.example.org", {"HTTPS_PROXY": "http://p", "no_proxy": "*"}, None),
            ("http://127.0.0.1:8000", {"HTTP_PROXY": "http://p"}, None),
        ],
    )
    def test_the_machines_proxy_is_used(self, url: str, environment: dict[str, str], proxy: str | None) -> None:
        spec = GatewaySpec(anthropic=ProviderSpec(url=url, key=""))

        assert read_upstreams(spec, environment)[ApiFamily.ANTHROPIC].proxy == proxy


class TestKeys:
    @pytest.mark.parametrize(
        ("headers", "query"),
        [
            ({"x-api-key": "K"}, {}),
            ({"authorization": "Bearer K"}, {}),
            ({"authorization": "bearer  K"}, {}),
            ({"x-goog-api-key": "K"}, {}),
            ({}, {"key": "K"}),
            ({"x-api-key": "", "authorization": "Bearer K"}, {}),
        ],
    )
    def test_a_run_is_known_by_its_key_wherever_that_is(self, headers: dict[str, str], query: dict[str, str]) -> None:
        assert shows_run_key("K", headers, query)

    @pytest.mark.parametrize(
        "headers", [{}, {"x-api-key": "k"}, {"authorization": "Basic K"}, {"x-api-key": "Kä\udcff"}]
    )
    def test_nothing_else_opens(self, headers: dict[str, str]) -> None:
        assert not shows_run_key("K", headers, {})

    def test_no_two_runs_have_the_same_key(self) -> None:
        assert len({create_run_key() for _ in range(100)}) == 100


class TestHeaders:
    def test_the_real_key_takes_the_place_of_the_runs(self) -> None:
        assert ("authorization", "Bearer real") in headers_to_send(
            {"authorization": "Bearer K"}, ApiFamily.ANTHROPIC, "real"
        )
        assert ("x-api-key", "real") in headers_to_send({"x-api-key": "K"}, ApiFamily.ANTHROPIC, "real")
        assert ("x-goog-api-key", "real") in headers_to_send({}, ApiFamily.GEMINI, "real")

    def test_a_provider_without_a_key_gets_none(self) -> None:
        assert headers_to_send({"authorization": "Bearer K"}, ApiFamily.OPENAI, "") == [("accept-encoding", "identity")]

    def test_only_what_is_meant_for_the_provider_is_sent(self) -> None:
        given = {
            "host": "127.0.0.1",
            "connection": "keep-alive, x-hop",
            "x-hop": "1",
            "content-length": "5",
            "accept-encoding": "gzip, br",
            "anthropic-version": "2023-06-01",
            "anthropic-beta": "tools",
            "cookie": "c",
            "x-api-key": "K",
        }
        sent = headers_to_send(given, ApiFamily.ANTHROPIC, "real")

        assert sorted(sent) == [
            ("accept-encoding", "identity"),
            ("anthropic-beta", "tools"),
            ("anthropic-version", "2023-06-01"),
            ("x-api-key", "real"),
        ]

    def test_what_shows_a_key_is_not_returned(self) -> None:
        given = {
            "request-id": "r",
            "retry-after": "3",
            "x-echo": "Bearer real",
            "set-cookie": "c",
            "content-length": "5",
        }

        assert headers_to_return(given, ["real"]) == [("request-id", "r"), ("retry-after", "3")]

    def test_a_key_in_the_address_is_not_sent_on(self) -> None:
        assert query_to_send({"alt": "sse", "key": "K"}) == [("alt", "sse")]
