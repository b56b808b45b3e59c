"""What costs nothing: lists of models, token counts, and a greeting."""

import re
from typing import Any, NamedTuple

import msgspec

from outweigh.testing.model_server.request import Json, Post, Wire
from outweigh.testing.model_server.script import Script

DEFAULT_MODELS = ("scripted-model",)
_LIST = re.compile(r"/(v1|v1beta)/models(?:/(?P<model>[^:]+))?")
_GEMINI_COUNT = re.compile(r"/v1(?:beta|alpha)?/models/[^:]+:countTokens")


class FreeAnswer(NamedTuple):
    """A status, a body, and the protocol it is in, if it is in one."""

    status: int
    body: Json
    protocol: Wire | None


def free_answer(method: str, post: Post, script: Script) -> FreeAnswer:
    """The answer to anything that asks no model."""
    if method == "POST" and post.path == "/v1/messages/count_tokens":
        return FreeAnswer(200, {"input_tokens": _rough_count(post)}, Wire.ANTHROPIC)
    if method == "POST" and _GEMINI_COUNT.fullmatch(post.path):
        return FreeAnswer(200, {"totalTokens": _rough_count(post)}, Wire.GEMINI)
    if method in ("GET", "HEAD") and (found := _LIST.fullmatch(post.path)):
        return _models(found["model"], post, script)
    if method in ("GET", "HEAD") and post.path == "/":
        return FreeAnswer(200, {"message": "a scripted model; see `outweigh model-server --help`"}, None)
    return FreeAnswer(404, {"error": {"type": "not_found_error", "message": f"nothing at {method} {post.path}"}}, None)


def _rough_count(post: Post) -> int:
    """By length: good enough for agents that only want to know whether there is room left."""
    return max(1, len(msgspec.json.encode(post.body)) // 4)


def _models(wanted: str | None, post: Post, script: Script) -> FreeAnswer:
    """Every model that the script names outright, in the shape that the asking client expects."""
    named = [model for model in script.models or DEFAULT_MODELS if not set(model) & set("*?[")]
    wire = _asking(post)
    if wanted is not None:
        return FreeAnswer(200, _SHAPES[wire](wanted), wire)
    shown = [_SHAPES[wire](model) for model in named]
    if wire is Wire.GEMINI:
        return FreeAnswer(200, {"models": shown}, wire)
    if wire is Wire.ANTHROPIC:
        edges: dict[str, Any] = {"first_id": named[0], "last_id": named[-1]} if named else {}
        return FreeAnswer(200, {"data": shown, "has_more": False, "first_id": None, "last_id": None} | edges, wire)
    return FreeAnswer(200, {"object": "list", "data": shown}, wire)


def _asking(post: Post) -> Wire:
    if post.path.startswith("/v1beta") or "x-goog-api-key" in post.headers:
        return Wire.GEMINI
    return Wire.ANTHROPIC if "anthropic-version" in post.headers else Wire.CHAT


def _anthropic_model(name: str) -> Json:
    return {
        "type": "model",
        "id": name,
        "display_name": name,
        "created_at": "1970-01-01T00:00:00Z",
        "lifecycle": "active",
    }


def _openai_model(name: str) -> Json:
    return {"id": name, "object": "model", "created": 0, "owned_by": "outweigh"}


def _gemini_model(name: str) -> Json:
    return {
        "name": f"models/{name}",
        "version": "001",
        "displayName": name,
        "inputTokenLimit": 1_048_576,
        "outputTokenLimit": 65_536,
        "supportedGenerationMethods": ["generateContent", "countTokens"],
    }


_SHAPES = {
    Wire.ANTHROPIC: _anthropic_model,
    Wire.CHAT: _openai_model,
    Wire.RESPONSES: _openai_model,
    Wire.GEMINI: _gemini_model,
}
