"""Reads a client's request: which API and provider its path belongs to (whatever is not listed cannot be reached), and
what its body asks for. A body that cannot be read cannot be metered and is not sent.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Any

import msgspec

from outweigh.gateway.dialects import anthropic_messages, gemini_generate_content, openai_chat, openai_responses
from outweigh.gateway.dialects.json_path import JsonMapping, decode_leniently
from outweigh.gateway.dialects.request_and_response import GenerationRequest, GenerationResponse
from outweigh.ports.gateways import Dialect


class Provider(StrEnum):
    """Whose API it is: each has an address and a key of its own."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GEMINI = "gemini"


class RoutePurpose(StrEnum):
    """What a request is for: only asking a model for an answer costs tokens."""

    GENERATE = "generate"
    COUNT = "count"
    LOOK_UP = "look_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One kind of request. `path` is the provider's own; `model` is known here only where the path names it."""

    provider: Provider
    dialect: Dialect
    purpose: RoutePurpose
    path: str
    model: str | None = None
    is_streamed: bool = False


_VERSION = re.compile(r"^/(v\d+\w*)(?=/)")
_MODELS = re.compile(r"^/models(/[\w./@:-]+)?$")
_GEMINI_VERB = re.compile(r"^/(?:models|tunedModels)/([\w./@-]+):(\w+)$")
_GEMINI_PURPOSES = {
    "generateContent": RoutePurpose.GENERATE,
    "streamGenerateContent": RoutePurpose.GENERATE,
    "countTokens": RoutePurpose.COUNT,
}
_POSTED = {
    "/messages": (Provider.ANTHROPIC, Dialect.ANTHROPIC_MESSAGES, RoutePurpose.GENERATE),
    "/messages/count_tokens": (Provider.ANTHROPIC, Dialect.ANTHROPIC_MESSAGES, RoutePurpose.COUNT),
    "/responses": (Provider.OPENAI, Dialect.OPENAI_RESPONSES, RoutePurpose.GENERATE),
    "/responses/compact": (Provider.OPENAI, Dialect.OPENAI_RESPONSES, RoutePurpose.GENERATE),
    "/responses/input_tokens": (Provider.OPENAI, Dialect.OPENAI_RESPONSES, RoutePurpose.COUNT),
    "/chat/completions": (Provider.OPENAI, Dialect.OPENAI_CHAT, RoutePurpose.GENERATE),
}


def find_route(method: str, path: str, headers: Mapping[str, str]) -> Route | None:
    """What is asked for, or None for what is none of ours. Clients disagree on whether a base has its version in it."""
    if any(step in ("", ".", "..") for step in path.split("/")[1:]):
        return None  # it would mean another path further on
    version = found[1] if (found := _VERSION.match(path)) else "v1"
    bare = _VERSION.sub("", path)
    if method == "POST" and bare in _POSTED:
        provider, dialect, purpose = _POSTED[bare]
        return Route(provider=provider, dialect=dialect, purpose=purpose, path=f"/{version}{bare}")
    if method == "POST":
        return _gemini_route(version, bare)
    if method == "GET" and _MODELS.match(bare):
        provider, dialect = _provider_of_model_list(version, headers)
        return Route(provider=provider, dialect=dialect, purpose=RoutePurpose.LOOK_UP, path=f"/{version}{bare}")
    return None


def _gemini_route(version: str, bare: str) -> Route | None:
    found = _GEMINI_VERB.match(bare)
    if found is None or found[2] not in _GEMINI_PURPOSES:
        return None
    return Route(
        provider=Provider.GEMINI,
        dialect=Dialect.GEMINI,
        purpose=_GEMINI_PURPOSES[found[2]],
        path=f"/{version}{bare}",
        model=found[1],
        is_streamed=found[2] == "streamGenerateContent",
    )


def _provider_of_model_list(version: str, headers: Mapping[str, str]) -> tuple[Provider, Dialect]:
    """Three APIs list their models under the same path; only what comes with the request tells them apart."""
    if version != "v1" or "x-goog-api-key" in headers:
        return Provider.GEMINI, Dialect.GEMINI
    if "anthropic-version" in headers or "x-api-key" in headers:
        return Provider.ANTHROPIC, Dialect.ANTHROPIC_MESSAGES
    return Provider.OPENAI, Dialect.OPENAI_CHAT


REQUEST_READERS: Mapping[Dialect, Callable[[JsonMapping], GenerationRequest]] = {
    Dialect.ANTHROPIC_MESSAGES: anthropic_messages.read_request,
    Dialect.OPENAI_RESPONSES: openai_responses.read_request,
    Dialect.OPENAI_CHAT: openai_chat.read_request,
    Dialect.GEMINI: gemini_generate_content.read_request,
}

RESPONSE_TYPES: Mapping[Dialect, Callable[[], GenerationResponse]] = {
    Dialect.ANTHROPIC_MESSAGES: anthropic_messages.AnthropicResponse,
    Dialect.OPENAI_RESPONSES: openai_responses.OpenAIResponsesResponse,
    Dialect.OPENAI_CHAT: openai_chat.OpenAIChatResponse,
    Dialect.GEMINI: gemini_generate_content.GeminiResponse,
}


class UnreadableRequestError(Exception):
    """What cannot be read cannot be metered, so it is not sent. The message is a sentence for the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """`body` is what the client sent, but for the usage that we want of streams that would have none.

    `is_ours` tells the events that only come because of that.
    """

    asked: GenerationRequest
    body: bytes
    is_ours: Callable[[JsonMapping], bool] | None


def parse_request(route: Route, body: bytes) -> ParsedRequest:
    """Read a request's body; unchanged it goes on, except where its answer could not be metered."""
    said, asked = _read_body_of_request(route.dialect, body)
    if route.dialect is Dialect.GEMINI:
        asked = replace(asked, model=route.model, is_streamed=route.is_streamed)
    if route.dialect is Dialect.OPENAI_RESPONSES and openai_responses.is_background_request(said):
        raise UnreadableRequestError("A background response cannot be metered, so it was not sent.")
    if route.dialect is Dialect.OPENAI_CHAT and not openai_chat.wants_usage(said):
        wanted = msgspec.json.encode(openai_chat.request_usage(said))
        return ParsedRequest(asked=asked, body=wanted, is_ours=openai_chat.is_usage_only_event)
    return ParsedRequest(asked=asked, body=body, is_ours=None)


def _read_body_of_request(dialect: Dialect, body: bytes) -> tuple[dict[str, Any], GenerationRequest]:
    said = decode_leniently(body)
    if not isinstance(said, dict):
        raise UnreadableRequestError("The body of this request is not a JSON object.")
    try:
        return said, REQUEST_READERS[dialect](said)
    except RecursionError as fault:
        raise UnreadableRequestError("The body of this request is nested too deeply to be read.") from fault
