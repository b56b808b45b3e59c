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
from outweigh.gateway.dialects.request_and_response import GenerationRequest, GenerationResponse
from outweigh.model.json_text import JsonObject, try_decode_json
from outweigh.model.provider import ApiFamily
from outweigh.ports.gateways import Dialect


class RoutePurpose(StrEnum):
    """What a request is for; only generating costs tokens."""

    GENERATE = "generate"
    COUNT = "count"
    LOOK_UP = "look_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One kind of request. `path` is the provider's own; `model` is known here only where the path names it."""

    provider: ApiFamily
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
    "/messages": (ApiFamily.ANTHROPIC, Dialect.ANTHROPIC_MESSAGES, RoutePurpose.GENERATE),
    "/messages/count_tokens": (ApiFamily.ANTHROPIC, Dialect.ANTHROPIC_MESSAGES, RoutePurpose.COUNT),
    "/responses": (ApiFamily.OPENAI, Dialect.OPENAI_RESPONSES, RoutePurpose.GENERATE),
    "/responses/compact": (ApiFamily.OPENAI, Dialect.OPENAI_RESPONSES, RoutePurpose.GENERATE),
    "/responses/input_tokens": (ApiFamily.OPENAI, Dialect.OPENAI_RESPONSES, RoutePurpose.COUNT),
    "/chat/completions": (ApiFamily.OPENAI, Dialect.OPENAI_CHAT, RoutePurpose.GENERATE),
}


def find_route(method: str, path: str, headers: Mapping[str, str]) -> Route | None:
    """The route of a request, None where it is not supported. Clients may leave out the version."""
    if any(step in ("", ".", "..") for step in path.split("/")[1:]):
        return None  # the provider would resolve it to another path
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
        provider=ApiFamily.GEMINI,
        dialect=Dialect.GEMINI,
        purpose=_GEMINI_PURPOSES[found[2]],
        path=f"/{version}{bare}",
        model=found[1],
        is_streamed=found[2] == "streamGenerateContent",
    )


def _provider_of_model_list(version: str, headers: Mapping[str, str]) -> tuple[ApiFamily, Dialect]:
    """The provider of a model list: three APIs have the same path, so the version and headers decide."""
    if version != "v1" or "x-goog-api-key" in headers:
        return ApiFamily.GEMINI, Dialect.GEMINI
    if "anthropic-version" in headers or "x-api-key" in headers:
        return ApiFamily.ANTHROPIC, Dialect.ANTHROPIC_MESSAGES
    return ApiFamily.OPENAI, Dialect.OPENAI_CHAT


REQUEST_READERS: Mapping[Dialect, Callable[[JsonObject], GenerationRequest]] = {
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
    """A request that cannot be read, and so not metered or sent. The message is a sentence for the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedRequest:
    """A request that was read. `body` is what is sent on: the client's bytes, or with usage requested for its stream.

    `is_added_event` recognises the events that the client gets only because of that.
    """

    parsed: GenerationRequest
    body: bytes
    is_added_event: Callable[[JsonObject], bool] | None


def parse_request(route: Route, body: bytes) -> ParsedRequest:
    """Read a request's body. It is sent on unchanged, except where its response could not be metered otherwise."""
    decoded, parsed = _read_body_of_request(route.dialect, body)
    if route.dialect is Dialect.GEMINI:
        parsed = replace(parsed, model=route.model, is_streamed=route.is_streamed)
    if route.dialect is Dialect.OPENAI_RESPONSES and openai_responses.is_background_request(decoded):
        raise UnreadableRequestError("A background response cannot be metered, so it was not sent.")
    if route.dialect is Dialect.OPENAI_CHAT and not openai_chat.wants_usage(decoded):
        wanted = msgspec.json.encode(openai_chat.request_usage(decoded))
        return ParsedRequest(parsed=parsed, body=wanted, is_added_event=openai_chat.is_usage_only_event)
    return ParsedRequest(parsed=parsed, body=body, is_added_event=None)


MAX_SEPARATORS = 1_000_000
"""Commas in a request. Decoding stops all of the program, and takes its time per value, not per byte: a text as long as
the longest context of any model has fewer.
"""


def _read_body_of_request(dialect: Dialect, body: bytes) -> tuple[dict[str, Any], GenerationRequest]:
    if body.count(b",") > MAX_SEPARATORS:
        raise UnreadableRequestError("The body of this request has too many values to be read.")
    decoded = try_decode_json(body)
    if not isinstance(decoded, dict):
        raise UnreadableRequestError("The body of this request is not a JSON object.")
    try:
        return decoded, REQUEST_READERS[dialect](decoded)
    except RecursionError as fault:
        raise UnreadableRequestError("The body of this request is nested too deeply to be read.") from fault
