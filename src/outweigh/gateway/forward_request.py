"""Sends a request on to its provider and passes the response back chunk by chunk, translated where the provider has a
form of its own. Imports aiohttp, so it is loaded only when a gateway is opened.
"""

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, datetime
from io import BytesIO
from typing import Protocol

import msgspec
from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession, ClientTimeout, web
from yarl import URL

from outweigh.gateway.dialects.api_errors import RefusalReason, make_refusal, read_retry_after
from outweigh.gateway.outgoing_request import (
    ClientRequest,
    OutgoingRequest,
    RenewsAuthorization,
    ResponseTranslator,
    UnreadableResponseError,
    UpstreamError,
)
from outweigh.gateway.request_parsing import Route, RoutePurpose
from outweigh.gateway.response_readers import MAX_ERROR_BYTES
from outweigh.gateway.upstream import (
    ModelUpstream,
    SecretMask,
    headers_to_return,
    headers_to_send,
    query_to_send,
)
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.json_text import try_decode_json

CONNECT_TIMEOUT_SECONDS = 30.0
READ_TIMEOUT_SECONDS = 1200.0
"""Models may take long before the first token, but not for ever."""

MAX_CHUNK_BYTES = 1 << 20
_UNAUTHORIZED, _TOO_MANY_REQUESTS = 401, 429
_LONGEST_CLIENT_WAIT_SECONDS = 60.0
"""Agents may wait so long themselves. Until the limit of a plan resets, a run that waited would only time out."""

_TIMEOUT = ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=READ_TIMEOUT_SECONDS)


class ResponseObserver(Protocol):
    """Reads a response before its client gets it."""

    def start_response(self, status: int, headers: Mapping[str, str]) -> None:
        """The response starts."""

    def feed(self, chunk: bytes) -> bytes:
        """Read a chunk; returns the bytes to forward."""

    def finish(self) -> bytes:
        """The response is complete; returns the bytes that are still to be forwarded."""

    def abort(self) -> None:
        """The response ended in the middle."""


class NullResponseObserver:
    """Forwards a response without reading it."""

    def start_response(self, status: int, headers: Mapping[str, str]) -> None:
        """Nothing to note."""

    def feed(self, chunk: bytes) -> bytes:
        """Forward the chunk unchanged."""
        return chunk

    def finish(self) -> bytes:
        """Nothing is held back."""
        return b""

    def abort(self) -> None:
        """Nothing to note."""


async def forward_request(
    session: ClientSession,
    request: web.BaseRequest,
    route: Route,
    upstream: ModelUpstream,
    body: bytes,
    observer: ResponseObserver,
) -> web.StreamResponse:
    """Send a request to the provider and forward the response as it arrives. Cancelling closes both connections."""
    async with await _send_authorized(session, request, route, upstream, body) as answer:
        if upstream.is_plan and answer.status == _TOO_MANY_REQUESTS:
            return await _answer_limit(answer, route, upstream, observer)
        translator = None if upstream.service is None else upstream.service.translator(answer.headers)
        observer.start_response(answer.status, _plain_headers(answer, translator))
        response = _start_response(answer, upstream, translator)
        await response.prepare(request)
        forwarded = _ForwardedResponse(translator, SecretMask(upstream.secrets), observer)
        await _copy_response(request, answer, response, forwarded)
        return response


async def _answer_limit(
    answer: ClientResponse, route: Route, upstream: ModelUpstream, observer: ResponseObserver
) -> web.Response:
    """Answer a request beyond a limit; where it will not reset soon, so that the agent gives up at once."""
    observer.start_response(answer.status, answer.headers)
    mask = SecretMask(upstream.secrets)
    content = await answer.content.read(MAX_ERROR_BYTES)
    body = observer.feed(mask.feed(content) + mask.finish()) + observer.finish()
    wait = read_retry_after(answer.headers, body, datetime.now(UTC))
    if wait is not None and wait <= _LONGEST_CLIENT_WAIT_SECONDS:
        response = web.Response(status=answer.status, body=body)
        response.headers.update(headers_to_return(answer.headers, upstream.secrets))
        return response
    message = "The limit of the plan is reached. The experiment waits until it resets, and repeats this run."
    refusal = make_refusal(route.dialect, RefusalReason.NOT_ALLOWED, message)
    final = {"x-should-retry": "false"}
    return web.Response(status=refusal.status, body=refusal.body, content_type="application/json", headers=final)


async def _send_authorized(
    session: ClientSession, request: web.BaseRequest, route: Route, upstream: ModelUpstream, body: bytes
) -> ClientResponse:
    """Send a request, and once more where its authorisation was refused and could be renewed."""
    outgoing = await prepare_request(session, request, route, upstream, body)
    answer = await _send(session, outgoing, upstream.proxy)
    if answer.status != _UNAUTHORIZED or not isinstance(upstream.service, RenewsAuthorization):
        return answer
    async with answer:
        await upstream.service.renew(outgoing, session)
    return await _send(session, await prepare_request(session, request, route, upstream, body), upstream.proxy)


async def prepare_request(
    session: ClientSession, request: web.BaseRequest, route: Route, upstream: ModelUpstream, body: bytes
) -> OutgoingRequest:
    """The request as this provider wants it: with its name for the model, its key and its headers."""
    route, body = _rename_model(route, body, upstream)
    query = [
        pair for pair in query_to_send(request.query) if route.purpose is RoutePurpose.GENERATE or pair[0] != "alt"
    ]
    key = "" if upstream.service is not None else upstream.key or ""
    added = {name.lower() for name, _ in upstream.headers}
    own = [pair for pair in headers_to_send(request.headers, route.provider, key) if pair[0].lower() not in added]
    headers = [*own, *upstream.headers]
    if upstream.service is None:
        address = URL(upstream.address(route.path)).update_query(query)
        return OutgoingRequest(method=request.method, url=str(address), headers=headers, body=body)
    plain = ClientRequest(route=route, method=request.method, query=query, headers=headers, body=body)
    return await upstream.service.prepare(plain, session)


def _rename_model(route: Route, body: bytes, upstream: ModelUpstream) -> tuple[Route, bytes]:
    """A request for the model that the provider names differently, in its path or in its body."""
    if not upstream.models:
        return route, body
    if route.model is not None:
        theirs = upstream.their_model_name(route.model)
        path = route.path.replace(f"/{route.model}:", f"/{theirs}:", 1)
        return replace(route, model=theirs, path=path), body
    decoded = try_decode_json(body) if body else None
    if not isinstance(decoded, dict) or not isinstance(decoded.get("model"), str):
        return route, body
    theirs = upstream.their_model_name(decoded["model"])
    return route, body if theirs == decoded["model"] else msgspec.json.encode({**decoded, "model": theirs})


async def _send(session: ClientSession, outgoing: OutgoingRequest, proxy: str | None) -> ClientResponse:
    address = URL(outgoing.url, encoded=True)
    try:
        return await session.request(
            outgoing.method,
            address,
            data=_body_to_send(outgoing.body),
            headers=outgoing.headers,
            allow_redirects=False,  # another host must not get the key
            proxy=proxy,
            timeout=_TIMEOUT,
        )
    except ClientConnectorError as fault:
        message = f"{address.host} cannot be reached: {fault}"
        raise UpstreamError(make_failure(FailureKind.CONNECTION_REFUSED, message)) from fault
    except TimeoutError as fault:
        message = f"{address.host} did not answer in time"
        raise UpstreamError(make_failure(FailureKind.SERVER_ERROR, message)) from fault
    except (ClientError, OSError, ValueError) as fault:
        message = f"{address.host} hung up before it answered: {fault}"
        raise UpstreamError(make_failure(FailureKind.SERVER_ERROR, message)) from fault


def _body_to_send(body: bytes) -> bytes | BytesIO | None:
    """A large body is sent in chunks, so that other requests are served in between."""
    return BytesIO(body) if len(body) > MAX_CHUNK_BYTES else body or None


def _plain_headers(answer: ClientResponse, translator: ResponseTranslator | None) -> Mapping[str, str]:
    """A response's headers with the type that its content has for the client."""
    if translator is None:
        return answer.headers
    passed = {name: value for name, value in answer.headers.items() if name.lower() != "content-type"}
    return {**passed, "Content-Type": translator.content_type}


def _start_response(
    answer: ClientResponse, upstream: ModelUpstream, translator: ResponseTranslator | None
) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, reason=answer.reason)
    headers = answer.headers if translator is None else _plain_headers(answer, translator)
    for name, value in headers_to_return(headers, upstream.secrets):
        response.headers.add(name, value)
    is_unchanged = "content-encoding" not in answer.headers and answer.content_type != "text/event-stream"
    if is_unchanged and translator is None and answer.content_length is not None:
        response.content_length = answer.content_length
    return response


class _ForwardedResponse:
    """What happens to the bytes of a response on their way: translated, without secrets, observed."""

    def __init__(self, translator: ResponseTranslator | None, mask: SecretMask, observer: ResponseObserver) -> None:
        self._translator = translator
        self._mask = mask
        self._observer = observer

    def feed(self, chunk: bytes) -> bytes:
        """The bytes to forward."""
        plain = chunk if self._translator is None else self._translator.feed(chunk)
        return self._observer.feed(self._mask.feed(plain)) if plain else b""

    def finish(self) -> bytes:
        """The bytes that are still to be forwarded at the end."""
        rest = b"" if self._translator is None else self._translator.finish()
        return self._observer.feed(self._mask.feed(rest) + self._mask.finish()) + self._observer.finish()

    def abort(self) -> None:
        """The response ended in the middle."""
        self._observer.abort()


async def _copy_response(
    request: web.BaseRequest, answer: ClientResponse, response: web.StreamResponse, forwarded: _ForwardedResponse
) -> None:
    while True:
        try:
            chunk = await answer.content.readany()
            passed = forwarded.feed(chunk) if chunk else forwarded.finish()
        except (ClientError, TimeoutError, OSError, UnreadableResponseError):
            forwarded.abort()
            _close_client(request)
            return
        if passed:
            await response.write(passed)
        if not chunk:
            return


def _close_client(request: web.BaseRequest) -> None:
    """Close the connection, so that the client does not take an incomplete response for a complete one."""
    if request.transport is not None:
        request.transport.close()
