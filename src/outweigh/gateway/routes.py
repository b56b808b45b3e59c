"""Which path of which API means what. Whatever is not listed here cannot be reached."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from outweigh.transcript.model_call import Dialect


class Provider(StrEnum):
    """Whose API it is: each has an address and a key of its own."""

    ANTHROPIC = "anthropic"
    OPENAI = "openai"
    GEMINI = "gemini"


class Purpose(StrEnum):
    """What a request is for: only asking a model for an answer costs tokens."""

    GENERATE = "generate"
    COUNT = "count"
    LOOK_UP = "look_up"


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One kind of request. `path` is the provider's own; `model` is known here only where the path names it."""

    provider: Provider
    dialect: Dialect
    purpose: Purpose
    path: str
    model: str | None = None
    is_streamed: bool = False


_VERSION = re.compile(r"^/(v\d+\w*)(?=/)")
_MODELS = re.compile(r"^/models(/[\w./@:-]+)?$")
_GEMINI_VERB = re.compile(r"^/(?:models|tunedModels)/([\w./@-]+):(\w+)$")
_GEMINI_PURPOSES = {
    "generateContent": Purpose.GENERATE,
    "streamGenerateContent": Purpose.GENERATE,
    "countTokens": Purpose.COUNT,
}
_POSTED = {
    "/messages": (Provider.ANTHROPIC, Dialect.ANTHROPIC_MESSAGES, Purpose.GENERATE),
    "/messages/count_tokens": (Provider.ANTHROPIC, Dialect.ANTHROPIC_MESSAGES, Purpose.COUNT),
    "/responses": (Provider.OPENAI, Dialect.OPENAI_RESPONSES, Purpose.GENERATE),
    "/responses/compact": (Provider.OPENAI, Dialect.OPENAI_RESPONSES, Purpose.GENERATE),
    "/responses/input_tokens": (Provider.OPENAI, Dialect.OPENAI_RESPONSES, Purpose.COUNT),
    "/chat/completions": (Provider.OPENAI, Dialect.OPENAI_CHAT, Purpose.GENERATE),
}


def route(method: str, path: str, headers: Mapping[str, str]) -> Route | None:
    """What is asked for, or None for what is none of ours. Clients disagree on whether a base has its version in it."""
    if any(step in ("", ".", "..") for step in path.split("/")[1:]):
        return None  # it would mean another path further on
    version = found[1] if (found := _VERSION.match(path)) else "v1"
    bare = _VERSION.sub("", path)
    if method == "POST" and bare in _POSTED:
        provider, dialect, purpose = _POSTED[bare]
        return Route(provider=provider, dialect=dialect, purpose=purpose, path=f"/{version}{bare}")
    if method == "POST":
        return _gemini(version, bare)
    if method == "GET" and _MODELS.match(bare):
        provider, dialect = _whose_models(version, headers)
        return Route(provider=provider, dialect=dialect, purpose=Purpose.LOOK_UP, path=f"/{version}{bare}")
    return None


def _gemini(version: str, bare: str) -> Route | None:
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


def _whose_models(version: str, headers: Mapping[str, str]) -> tuple[Provider, Dialect]:
    """Three APIs list their models under the same path; only what comes with the request tells them apart."""
    if version != "v1" or "x-goog-api-key" in headers:
        return Provider.GEMINI, Dialect.GEMINI
    if "anthropic-version" in headers or "x-api-key" in headers:
        return Provider.ANTHROPIC, Dialect.ANTHROPIC_MESSAGES
    return Provider.OPENAI, Dialect.OPENAI_CHAT
