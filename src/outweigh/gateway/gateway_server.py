"""The HTTP server of the model gateway: checks the run key, refuses or forwards each request and passes the response
back chunk by chunk. Imports aiohttp, so it is loaded only when a gateway is opened.
"""

import asyncio
import logging
from asyncio import Task
from collections.abc import Mapping
from io import BytesIO
from socket import socket
from typing import Any, Protocol

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession, ClientTimeout, web
from yarl import URL

from outweigh.gateway.dialects.api_errors import GatewayRefusal, RefusalReason, make_refusal
from outweigh.gateway.request_parsing import (
    Provider,
    Route,
    RoutePurpose,
    UnreadableRequestError,
    find_route,
    parse_request,
)
from outweigh.gateway.round_trip import BodyTooLargeError, RequestBody, RoundTrip
from outweigh.gateway.run_ledger import RunLedger
from outweigh.gateway.upstream import (
    ModelUpstream,
    SecretMask,
    headers_to_return,
    headers_to_send,
    query_to_send,
    shows_run_key,
)
from outweigh.model.failure import Failure, FailureKind, make_failure

CONNECT_TIMEOUT_SECONDS = 30.0
READ_TIMEOUT_SECONDS = 1200.0
"""Models may think for long before they say anything, but not for ever."""

MAX_CHUNK_BYTES = 1 << 20

_TIMEOUT = ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=READ_TIMEOUT_SECONDS)


class UpstreamError(Exception):
    """The provider did not even begin to answer."""

    def __init__(self, reason: Failure) -> None:
        super().__init__(reason.detail)
        self.reason = reason


class ResponseObserver(Protocol):
    """Hears an answer before its client does."""

    def begin_answer(self, status: int, headers: Mapping[str, str]) -> None:
        """The answer begins."""

    def hear(self, chunk: bytes) -> bytes:
        """A piece of it; what is to be passed on for it."""

    def hear_end(self) -> bytes:
        """All has come; what is still to be passed on."""

    def break_off(self) -> None:
        """The rest will not come."""


class NullResponseObserver:
    """Passes on what nobody has to hear."""

    def begin_answer(self, status: int, headers: Mapping[str, str]) -> None:
        """Nothing to note."""

    def hear(self, chunk: bytes) -> bytes:
        """As it came."""
        return chunk

    def hear_end(self) -> bytes:
        """Nothing was held back."""
        return b""

    def break_off(self) -> None:
        """Nothing to note."""


async def forward_request(
    session: ClientSession,
    request: web.BaseRequest,
    way: Route,
    upstream: ModelUpstream,
    body: bytes,
    ear: ResponseObserver,
) -> web.StreamResponse:
    """Ask the provider, and answer with its answer while it comes. Leaving early hangs up on the provider."""
    async with await _send_upstream(session, request, way, upstream, body) as answer:
        ear.begin_answer(answer.status, answer.headers)
        response = _start_response(answer, upstream)
        await response.prepare(request)
        await _copy_response(request, answer, response, SecretMask(upstream.secrets), ear)
        return response


async def _send_upstream(
    session: ClientSession, request: web.BaseRequest, way: Route, upstream: ModelUpstream, body: bytes
) -> ClientResponse:
    address = URL(upstream.address(way.path)).update_query(query_to_send(request.query))
    try:
        return await session.request(
            request.method,
            address,
            data=_body_to_send(body),
            headers=headers_to_send(request.headers, way.provider, upstream.key or ""),
            allow_redirects=False,  # another host must not get the key
            proxy=upstream.proxy,
            timeout=_TIMEOUT,
        )
    except ClientConnectorError as fault:
        said = f"{address.host} cannot be reached: {fault}"
        raise UpstreamError(make_failure(FailureKind.CONNECTION_REFUSED, said)) from fault
    except TimeoutError as fault:
        said = f"{address.host} did not answer in time"
        raise UpstreamError(make_failure(FailureKind.SERVER_ERROR, said)) from fault
    except (ClientError, OSError, ValueError) as fault:
        said = f"{address.host} hung up before it answered: {fault}"
        raise UpstreamError(make_failure(FailureKind.SERVER_ERROR, said)) from fault


def _body_to_send(body: bytes) -> bytes | BytesIO | None:
    """A large body is sent in pieces, between which others get their turn."""
    return BytesIO(body) if len(body) > MAX_CHUNK_BYTES else body or None


def _start_response(answer: ClientResponse, upstream: ModelUpstream) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, reason=answer.reason)
    for name, value in headers_to_return(answer.headers, upstream.secrets):
        response.headers.add(name, value)
    is_as_long = "content-encoding" not in answer.headers and answer.content_type != "text/event-stream"
    if is_as_long and answer.content_length is not None:
        response.content_length = answer.content_length
    return response


async def _copy_response(
    request: web.BaseRequest,
    answer: ClientResponse,
    response: web.StreamResponse,
    masking: SecretMask,
    ear: ResponseObserver,
) -> None:
    while True:
        try:
            chunk = await answer.content.readany()
        except (ClientError, TimeoutError, OSError):
            ear.break_off()
            _close_client(request)
            return
        passed = ear.hear(masking.feed(chunk)) if chunk else ear.hear(masking.rest()) + ear.hear_end()
        if passed:
            await response.write(passed)
        if not chunk:
            return


def _close_client(request: web.BaseRequest) -> None:
    """A client must not take an answer that broke off for a whole one."""
    if request.transport is not None:
        request.transport.close()


_REFUSAL_REASONS = {
    FailureKind.BUDGET_REACHED: RefusalReason.CAP_REACHED,
    FailureKind.UNKNOWN_MODEL: RefusalReason.UNKNOWN_MODEL,
    FailureKind.UNAUTHORIZED: RefusalReason.UNKNOWN_KEY,
}


class ReverseProxy:
    """Answers the requests of all runs."""

    def __init__(self, session: ClientSession, upstreams: Mapping[Provider, ModelUpstream]) -> None:
        self._session = session
        self._upstreams = upstreams

    async def answer(self, run: RunLedger, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request that came through one run's door."""
        way = find_route(request.method, request.path, request.headers)
        dialect = None if way is None else way.dialect
        if not (run.is_open and shows_run_key(run.key, request.headers, request.query)):
            said = "This key opens nothing here: it is not that of the run behind this door."
            return _refusal_response(make_refusal(dialect, RefusalReason.UNKNOWN_KEY, said))
        if way is None:
            asked = f"{request.method} {request.path}"
            run.note_unserved(asked)
            return _refusal_response(
                make_refusal(None, RefusalReason.NOT_SERVED, f"The gateway does not serve {asked}.")
            )
        with RequestBody(run.room) as body:
            try:
                await _read_body(request, body)
            except BodyTooLargeError as fault:
                return _refusal_response(make_refusal(dialect, RefusalReason.TOO_LARGE, str(fault)))
            if way.purpose is RoutePurpose.GENERATE:
                return await self._generate(run, request, way, body.content())
            return await self._pass(request, way, body.content())

    async def _pass(self, request: web.BaseRequest, way: Route, body: bytes) -> web.StreamResponse:
        """What costs no tokens is nobody's business."""
        upstream = self._upstreams[way.provider]
        if (missing := _missing_key_failure(way.provider, upstream)) is not None:
            return _refusal_response(make_refusal(way.dialect, RefusalReason.UNKNOWN_KEY, missing.detail))
        try:
            return await forward_request(self._session, request, way, upstream, body, NullResponseObserver())
        except UpstreamError as fault:
            return _refusal_response(make_refusal(way.dialect, RefusalReason.UNREACHABLE, fault.reason.detail))

    async def _generate(self, run: RunLedger, request: web.BaseRequest, way: Route, body: bytes) -> web.StreamResponse:
        try:
            demand = parse_request(way, body)
        except UnreadableRequestError as fault:
            run.note_unserved(f"{request.method} {request.path}: {fault}")
            return _refusal_response(make_refusal(way.dialect, RefusalReason.UNREADABLE, str(fault)))
        exchange = RoundTrip(way, demand, is_kept=run.keeps_bodies)
        upstream = self._upstreams[way.provider]
        objection = _missing_key_failure(way.provider, upstream) or run.objection(demand.asked)
        if objection is not None:
            no = make_refusal(way.dialect, _REFUSAL_REASONS[objection.kind], objection.detail)
            exchange.fail(objection, no.status)
            run.refuse(exchange)
            return _refusal_response(no)
        return await self._meter(run, request, upstream, exchange)

    async def _meter(
        self, run: RunLedger, request: web.BaseRequest, upstream: ModelUpstream, exchange: RoundTrip
    ) -> web.StreamResponse:
        way = exchange.way
        run.begin(exchange)
        try:
            return await forward_request(self._session, request, way, upstream, exchange.demand.body, exchange)
        except UpstreamError as fault:
            no = make_refusal(way.dialect, RefusalReason.UNREACHABLE, fault.reason.detail)
            exchange.fail(fault.reason, no.status)
            return _refusal_response(no)
        finally:
            run.end(exchange)


def _missing_key_failure(provider: Provider, upstream: ModelUpstream) -> Failure | None:
    if upstream.key is not None:
        return None
    return make_failure(
        FailureKind.UNAUTHORIZED,
        f"There is no key for {provider}: set {upstream.variable}, name another variable as key under "
        f'[gateway.{provider}] in the suite, or key = "" where none is needed. Nothing was sent.',
    )


async def _read_body(request: web.BaseRequest, body: RequestBody) -> None:
    if request.headers.get("expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    while chunk := await request.content.readany():
        body.add(chunk)


def _refusal_response(no: GatewayRefusal) -> web.Response:
    response = web.Response(status=no.status, body=no.body, content_type="application/json")
    if not no.may_help_again:
        response.headers["x-should-retry"] = "false"  # the clients of two providers obey this
    return response


MAX_CONNECTIONS = 256
"""No agent needs so many, and all runs share what the engine's process may open."""

# Whatever a client does to its connection is in the account or nowhere; nobody is to read tracebacks about it.
_NULL_LOGGER = logging.Logger("outweigh.gateway")
_NULL_LOGGER.addHandler(logging.NullHandler())


class GatewayServer:
    """Answers on one socket for one run. Belongs to the thread of the gateway."""

    def __init__(self, ledger: RunLedger, proxy: ReverseProxy) -> None:
        self._ledger = ledger
        self._proxy = proxy
        self._answering: set[Task[Any]] = set()

    async def start(self, listening: socket) -> None:
        """Start answering."""
        self._server = _BoundedServer(self._answer, handler_cancellation=True, access_log=None, logger=_NULL_LOGGER)
        self._accepting = await asyncio.get_running_loop().create_server(self._server, sock=listening)

    async def stop(self) -> None:
        """Close all connections; the ledger keeps the requests as far as they got."""
        self._accepting.close()
        answering = tuple(self._answering)
        for task in answering:
            task.cancel()
        if answering:
            await asyncio.wait(answering)
        for connection in self._server.connections:
            connection.force_close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._answering.add(task)
        try:
            return await self._proxy.answer(self._ledger, request)
        finally:
            self._answering.discard(task)


class _BoundedServer(web.Server):
    """Hangs up on a connection too many before it takes anything."""

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Count it in."""
        super().connection_made(handler, transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
