"""The HTTP side of the model server: finds the protocol of a path, reads requests, and sends responses whole, streamed,
or cut off if the script says so.

Lists of models and token counts are answered without the script. Imported only when a server starts, because it needs
aiohttp.
"""

import asyncio
import re
import time
from collections.abc import Sequence
from dataclasses import replace
from itertools import count
from typing import Any, NamedTuple

import msgspec
from aiohttp import web

from outweigh.testing.model_server.anthropic_protocol import AnthropicProtocol
from outweigh.testing.model_server.chat_protocol import ChatProtocol
from outweigh.testing.model_server.choose_turn import PlannedResponse, TurnChooser
from outweigh.testing.model_server.gemini_protocol import GEMINI_PATH, GeminiProtocol
from outweigh.testing.model_server.ledger import Ending, LedgerEntry, RequestLedger
from outweigh.testing.model_server.model_protocol import MalformedRequestError, ModelProtocol
from outweigh.testing.model_server.model_reply import ErrorReply
from outweigh.testing.model_server.model_request import HttpPost, Json, ModelRequest, WireProtocol
from outweigh.testing.model_server.model_script import ErrorSpec, Script
from outweigh.testing.model_server.provider_errors import make_error_reply
from outweigh.testing.model_server.responses_protocol import ResponsesProtocol

DEFAULT_MODELS = ("scripted-model",)
_MODEL_LIST_PATH = re.compile(r"/(v1|v1beta)/models(?:/(?P<model>[^:]+))?")
_GEMINI_COUNT_PATH = re.compile(r"/v1(?:beta|alpha)?/models/[^:]+:countTokens")


class UnscriptedResponse(NamedTuple):
    """A status, a body, and its protocol if it belongs to one."""

    status: int
    body: Json
    protocol: WireProtocol | None


def respond_unscripted(method: str, post: HttpPost, script: Script) -> UnscriptedResponse:
    """The response to a request that asks for no completion."""
    if method == "POST" and post.path == "/v1/messages/count_tokens":
        return UnscriptedResponse(200, {"input_tokens": _count_prompt(post, script)}, WireProtocol.ANTHROPIC)
    if method == "POST" and post.path == "/v1/responses/input_tokens":
        counted = {"object": "response.input_tokens", "input_tokens": _count_prompt(post, script)}
        return UnscriptedResponse(200, counted, WireProtocol.RESPONSES)
    if method == "POST" and _GEMINI_COUNT_PATH.fullmatch(post.path):
        return UnscriptedResponse(200, {"totalTokens": _count_prompt(post, script)}, WireProtocol.GEMINI)
    if method in ("GET", "HEAD") and (found := _MODEL_LIST_PATH.fullmatch(post.path)):
        return _model_list(found["model"], post, script)
    if method in ("GET", "HEAD") and post.path == "/":
        return UnscriptedResponse(200, {"message": "a scripted model; see `outweigh dev model-server --help`"}, None)
    return UnscriptedResponse(
        404, {"error": {"type": "not_found_error", "message": f"nothing at {method} {post.path}"}}, None
    )


def _count_prompt(post: HttpPost, script: Script) -> int:
    """The tokens that the script states for the prompt of this request; from its length where it is not a whole one."""
    path = post.path.replace(":countTokens", ":generateContent")
    path = path.removesuffix("/count_tokens").removesuffix("/input_tokens")
    protocol, body = protocol_for(path), post.body.get("generateContentRequest", post.body)
    try:
        if protocol is not None:
            return TurnChooser(script).prompt_tokens(protocol.read(replace(post, path=path, body=body)))
    except _MALFORMED_ERRORS:
        pass
    return max(1, len(msgspec.json.encode(post.body)) // 4)


def _model_list(wanted: str | None, post: HttpPost, script: Script) -> UnscriptedResponse:
    """The models that the script names without wildcards, in the format that the client expects."""
    named = [model for model in script.models or DEFAULT_MODELS if not set(model) & set("*?[")]
    client_protocol = _client_protocol(post)
    if wanted is not None:
        return UnscriptedResponse(200, _MODEL_SHAPES[client_protocol](wanted), client_protocol)
    shown = [_MODEL_SHAPES[client_protocol](model) for model in named]
    if client_protocol is WireProtocol.GEMINI:
        return UnscriptedResponse(200, {"models": shown}, client_protocol)
    if client_protocol is WireProtocol.ANTHROPIC:
        edges: dict[str, Any] = {"first_id": named[0], "last_id": named[-1]} if named else {}
        return UnscriptedResponse(
            200, {"data": shown, "has_more": False, "first_id": None, "last_id": None} | edges, client_protocol
        )
    return UnscriptedResponse(200, {"object": "list", "data": shown}, client_protocol)


def _client_protocol(post: HttpPost) -> WireProtocol:
    if post.path.startswith("/v1beta") or "x-goog-api-key" in post.headers:
        return WireProtocol.GEMINI
    return WireProtocol.ANTHROPIC if "anthropic-version" in post.headers else WireProtocol.CHAT


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


_MODEL_SHAPES = {
    WireProtocol.ANTHROPIC: _anthropic_model,
    WireProtocol.CHAT: _openai_model,
    WireProtocol.RESPONSES: _openai_model,
    WireProtocol.GEMINI: _gemini_model,
}


_PROTOCOL_PATHS: tuple[tuple[re.Pattern[str], ModelProtocol], ...] = (
    (re.compile(r"/v1/messages"), AnthropicProtocol()),
    (re.compile(r"/v1/chat/completions"), ChatProtocol()),
    (re.compile(r"/v1/responses"), ResponsesProtocol()),
    (GEMINI_PATH, GeminiProtocol()),
)


def protocol_for(path: str) -> ModelProtocol | None:
    """The protocol whose completions are requested at this path; None if there is none."""
    return next((protocol for pattern, protocol in _PROTOCOL_PATHS if pattern.fullmatch(path)), None)


_MAX_BODY_BYTES = 256 * 1024 * 1024
# A real service answers a body of the wrong shape with status 400, and so does this one.
_MALFORMED_ERRORS = (MalformedRequestError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class ModelRequestHandler:
    """Answers all requests of one server, in the event loop of the server's thread."""

    def __init__(self, script: Script, ledger: RequestLedger, kept_body_bytes: int) -> None:
        self._script = script
        self._turn_chooser = TurnChooser(script)
        self._ledger = ledger
        self._kept_body_bytes = kept_body_bytes
        self._numbers = count(1)

    def application(self) -> web.Application:
        """The application that routes every path to this handler."""
        application = web.Application(client_max_size=_MAX_BODY_BYTES)
        application.router.add_route("*", "/{path:.*}", self._handle)
        return application

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        post = _post(http, raw)
        number = next(self._numbers)
        received = {
            "number": number,
            "method": http.method,
            "path": post.path,
            "api_key": post.api_key,
            "body": raw[: self._kept_body_bytes] if self._kept_body_bytes else None,
        }
        protocol = protocol_for(post.path) if http.method == "POST" else None
        if protocol is None:
            return self._answer_freely(received, post)
        try:
            request = protocol.read(post)
            answer = self._turn_chooser.answer(request, number, int(time.time()))
        except _MALFORMED_ERRORS as fault:
            return self._not_understood(received, protocol, str(fault) or type(fault).__name__)
        self._ledger.add(_entry(received, protocol, request, answer))
        return await _send(http, protocol, request, answer)

    def _answer_freely(self, received: dict[str, Any], post: HttpPost) -> web.Response:
        free = respond_unscripted(received["method"], post, self._script)
        self._ledger.add(LedgerEntry(**received, protocol=free.protocol, status=free.status, ending=Ending.FREE))
        return web.json_response(free.body, status=free.status, headers=_request_id_headers(received["number"]))

    def _not_understood(self, received: dict[str, Any], protocol: ModelProtocol, why: str) -> web.Response:
        failure = make_error_reply(ErrorSpec(kind="bad_request", message=why), protocol.name, "")
        self._ledger.add(
            LedgerEntry(**received, protocol=protocol.name, status=failure.status, ending=Ending.REFUSED, problem=why)
        )
        return _refuse(protocol, failure, received["number"])


def _post(http: web.Request, raw: bytes) -> HttpPost:
    try:
        body = msgspec.json.decode(raw) if raw else {}
    except (msgspec.DecodeError, ValueError, RecursionError):
        body = {}
    return HttpPost(
        path=http.path,
        query=dict(http.query),
        headers={name.lower(): value for name, value in http.headers.items()},
        body=body if isinstance(body, dict) else {},
    )


def _entry(
    received: dict[str, Any], protocol: ModelProtocol, request: ModelRequest, answer: PlannedResponse
) -> LedgerEntry:
    generated = answer.error is None
    return LedgerEntry(
        **received,
        ending=answer.ending,
        status=200 if answer.error is None else answer.error.status,
        protocol=protocol.name,
        model=request.model,
        stream=request.stream,
        conversation=answer.position.conversation,
        step=answer.position.step,
        tools=tuple(tool.name for tool in request.tools),
        rule=answer.rule,
        response_id=answer.reply.id(protocol.id_prefix) if generated else None,
        tokens=answer.reply.billed_tokens if generated else None,
        usage_sent=answer.ending is Ending.ANSWERED and request.wants_usage,
        problem=answer.problem,
    )


async def _send(
    http: web.Request, protocol: ModelProtocol, request: ModelRequest, answer: PlannedResponse
) -> web.StreamResponse:
    await asyncio.sleep(answer.delay_seconds)
    if answer.error is not None:
        return _refuse(protocol, answer.error, answer.reply.number)
    if request.stream:
        return await _stream(http, _stream_events(protocol, request, answer), protocol.stream_type(request), answer)
    return await _whole(http, protocol.whole(request, answer.reply), answer)


def _stream_events(protocol: ModelProtocol, request: ModelRequest, answer: PlannedResponse) -> Sequence[bytes]:
    """The events to send: all of them, or the first half if the stream is to fail."""
    frames = list(protocol.events(request, answer.reply))
    if answer.mid_stream_error is not None:
        return [*frames[: len(frames) // 2], protocol.error_event(answer.mid_stream_error, answer.reply)]
    return frames[: len(frames) // 2] if answer.cut else frames


async def _stream(http: web.Request, frames: Sequence[bytes], kind: str, answer: PlannedResponse) -> web.StreamResponse:
    headers = {"content-type": kind, "cache-control": "no-cache", **_request_id_headers(answer.reply.number)}
    response = web.StreamResponse(headers=headers)
    await response.prepare(http)
    for number, frame in enumerate(frames):
        if answer.stall_seconds and number == len(frames) // 2:
            await asyncio.sleep(answer.stall_seconds)
        await response.write(frame)
    if answer.cut:
        _close_connection(http)
    return response


async def _whole(http: web.Request, body: Json, answer: PlannedResponse) -> web.StreamResponse:
    encoded = msgspec.json.encode(body)
    headers = {"content-type": "application/json", **_request_id_headers(answer.reply.number)}
    if not answer.cut:
        return web.Response(body=encoded, headers=headers)
    response = web.StreamResponse(headers=headers)
    response.content_length = len(encoded)
    await response.prepare(http)
    await response.write(encoded[: len(encoded) // 2])
    _close_connection(http)
    return response


def _close_connection(http: web.Request) -> None:
    """Close the connection before the response is complete, as if it was lost."""
    if http.transport is not None:
        http.transport.close()


def _refuse(protocol: ModelProtocol, failure: ErrorReply, number: int) -> web.Response:
    headers = protocol.error_headers(failure, time.time()) | _request_id_headers(number)
    return web.json_response(protocol.error_body(failure, number), status=failure.status, headers=headers)


def _request_id_headers(number: int) -> dict[str, str]:
    """The request's id, under the header names of all providers."""
    return {"request-id": f"req_{number:024d}", "x-request-id": f"req_{number:024d}"}
