"""The HTTP side: reads requests, sends answers, whole or as a stream, and breaks off where the script says so."""

import asyncio
import time
from collections.abc import Sequence
from itertools import count
from typing import Any

import msgspec
from aiohttp import web

from outweigh.testing.model_server.answer import Answer
from outweigh.testing.model_server.director import Director
from outweigh.testing.model_server.failures import failure_for
from outweigh.testing.model_server.free_answers import free_answer
from outweigh.testing.model_server.ledger import Ending, Ledger, LedgerEntry
from outweigh.testing.model_server.protocols.routes import speech_for
from outweigh.testing.model_server.protocols.speech import NotUnderstoodError, Speech
from outweigh.testing.model_server.reply import Failure
from outweigh.testing.model_server.request import Json, ModelRequest, Post
from outweigh.testing.model_server.script import ErrorSpec, Script

_BODY_LIMIT = 256 * 1024 * 1024
# Where a body has not the shape that it should have, a real service says 400, and so do we.
_ODD = (NotUnderstoodError, AttributeError, LookupError, RecursionError, TypeError, ValueError)


class Handler:
    """Answers every request of one server; lives in the loop of that server's thread."""

    def __init__(self, script: Script, ledger: Ledger, kept_body_bytes: int) -> None:
        self._script = script
        self._director = Director(script)
        self._ledger = ledger
        self._kept_body_bytes = kept_body_bytes
        self._numbers = count(1)

    def application(self) -> web.Application:
        """The application that hands everything to this handler."""
        application = web.Application(client_max_size=_BODY_LIMIT)
        application.router.add_route("*", "/{path:.*}", self._handle)
        return application

    async def _handle(self, http: web.Request) -> web.StreamResponse:
        raw = await http.read()
        post = _post(http, raw)
        number = next(self._numbers)
        came = {
            "number": number,
            "method": http.method,
            "path": post.path,
            "api_key": post.api_key,
            "body": raw[: self._kept_body_bytes] if self._kept_body_bytes else None,
        }
        speech = speech_for(post.path) if http.method == "POST" else None
        if speech is None:
            return self._answer_freely(came, post)
        try:
            request = speech.read(post)
            answer = self._director.answer(request, number, int(time.time()))
        except _ODD as fault:
            return self._not_understood(came, speech, str(fault) or type(fault).__name__)
        self._ledger.add(_entry(came, speech, request, answer))
        return await _send(http, speech, request, answer)

    def _answer_freely(self, came: dict[str, Any], post: Post) -> web.Response:
        free = free_answer(came["method"], post, self._script)
        self._ledger.add(LedgerEntry(**came, protocol=free.protocol, status=free.status, ending=Ending.FREE))
        return web.json_response(free.body, status=free.status, headers=_numbered(came["number"]))

    def _not_understood(self, came: dict[str, Any], speech: Speech, why: str) -> web.Response:
        failure = failure_for(ErrorSpec(kind="bad_request", message=why), speech.wire, "")
        self._ledger.add(
            LedgerEntry(**came, protocol=speech.wire, status=failure.status, ending=Ending.REFUSED, problem=why)
        )
        return _refuse(speech, failure, came["number"])


def _post(http: web.Request, raw: bytes) -> Post:
    try:
        body = msgspec.json.decode(raw) if raw else {}
    except (msgspec.DecodeError, ValueError, RecursionError):
        body = {}
    return Post(
        path=http.path,
        query=dict(http.query),
        headers={name.lower(): value for name, value in http.headers.items()},
        body=body if isinstance(body, dict) else {},
    )


def _entry(came: dict[str, Any], speech: Speech, request: ModelRequest, answer: Answer) -> LedgerEntry:
    generated = answer.refusal is None
    return LedgerEntry(
        **came,
        ending=answer.ending,
        status=200 if answer.refusal is None else answer.refusal.status,
        protocol=speech.wire,
        model=request.model,
        stream=request.stream,
        conversation=answer.place.conversation,
        step=answer.place.step,
        tools=tuple(tool.name for tool in request.tools),
        rule=answer.rule,
        response_id=answer.reply.id(speech.id_prefix) if generated else None,
        tokens=answer.reply.tokens if generated else None,
        usage_sent=answer.ending is Ending.ANSWERED and request.wants_usage,
        problem=answer.problem,
    )


async def _send(http: web.Request, speech: Speech, request: ModelRequest, answer: Answer) -> web.StreamResponse:
    await asyncio.sleep(answer.delay_seconds)
    if answer.refusal is not None:
        return _refuse(speech, answer.refusal, answer.reply.number)
    if request.stream:
        return await _stream(http, _frames(speech, request, answer), speech.stream_type(request), answer)
    return await _whole(http, speech.whole(request, answer.reply), answer)


def _frames(speech: Speech, request: ModelRequest, answer: Answer) -> Sequence[bytes]:
    """The events to send: all of them, or the first half where something goes wrong."""
    frames = list(speech.events(request, answer.reply))
    if answer.breakdown is not None:
        return [*frames[: len(frames) // 2], speech.refusal_event(answer.breakdown, answer.reply)]
    return frames[: len(frames) // 2] if answer.cut else frames


async def _stream(http: web.Request, frames: Sequence[bytes], kind: str, answer: Answer) -> web.StreamResponse:
    headers = {"content-type": kind, "cache-control": "no-cache", **_numbered(answer.reply.number)}
    response = web.StreamResponse(headers=headers)
    await response.prepare(http)
    for frame in frames:
        await response.write(frame)
    if answer.cut:
        _hang_up(http)
    return response


async def _whole(http: web.Request, body: Json, answer: Answer) -> web.StreamResponse:
    encoded = msgspec.json.encode(body)
    headers = {"content-type": "application/json", **_numbered(answer.reply.number)}
    if not answer.cut:
        return web.Response(body=encoded, headers=headers)
    response = web.StreamResponse(headers=headers)
    response.content_length = len(encoded)
    await response.prepare(http)
    await response.write(encoded[: len(encoded) // 2])
    _hang_up(http)
    return response


def _hang_up(http: web.Request) -> None:
    """Close the connection with the answer unfinished, as a lost connection looks to the client."""
    if http.transport is not None:
        http.transport.close()


def _refuse(speech: Speech, failure: Failure, number: int) -> web.Response:
    headers = speech.refusal_headers(failure, time.time()) | _numbered(number)
    return web.json_response(speech.refusal(failure, number), status=failure.status, headers=headers)


def _numbered(number: int) -> dict[str, str]:
    """The id of a request under the names that the providers give it."""
    return {"request-id": f"req_{number:024d}", "x-request-id": f"req_{number:024d}"}
