"""The HTTP server of the model gateway: checks the run key, refuses or forwards each request and passes the response
back chunk by chunk. Imports aiohttp, so it is loaded only when a gateway is opened.
"""

import asyncio
import logging
from asyncio import Task
from collections.abc import Mapping
from dataclasses import dataclass
from io import BytesIO
from socket import socket
from typing import Any, Protocol

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession, ClientTimeout, web
from yarl import URL

from outweigh.gateway.dialects.api_errors import GatewayRefusal, RefusalReason, make_refusal
from outweigh.gateway.request_body import BodyTooLargeError, RequestBody, RequestReader, receive_body
from outweigh.gateway.request_parsing import (
    Provider,
    Route,
    RoutePurpose,
    UnreadableRequestError,
    find_route,
)
from outweigh.gateway.round_trip import RoundTrip
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
"""Models may take long before the first token, but not for ever."""

MAX_CHUNK_BYTES = 1 << 20

_TIMEOUT = ClientTimeout(total=None, sock_connect=CONNECT_TIMEOUT_SECONDS, sock_read=READ_TIMEOUT_SECONDS)


class UpstreamError(Exception):
    """The provider did not start to respond."""

    def __init__(self, reason: Failure) -> None:
        super().__init__(reason.detail)
        self.reason = reason


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
    async with await _send_upstream(session, request, route, upstream, body) as answer:
        observer.start_response(answer.status, answer.headers)
        response = _start_response(answer, upstream)
        await response.prepare(request)
        await _copy_response(request, answer, response, SecretMask(upstream.secrets), observer)
        return response


async def _send_upstream(
    session: ClientSession, request: web.BaseRequest, route: Route, upstream: ModelUpstream, body: bytes
) -> ClientResponse:
    address = URL(upstream.address(route.path)).update_query(query_to_send(request.query))
    try:
        return await session.request(
            request.method,
            address,
            data=_body_to_send(body),
            headers=headers_to_send(request.headers, route.provider, upstream.key or ""),
            allow_redirects=False,  # another host must not get the key
            proxy=upstream.proxy,
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


def _start_response(answer: ClientResponse, upstream: ModelUpstream) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, reason=answer.reason)
    for name, value in headers_to_return(answer.headers, upstream.secrets):
        response.headers.add(name, value)
    is_unchanged = "content-encoding" not in answer.headers and answer.content_type != "text/event-stream"
    if is_unchanged and answer.content_length is not None:
        response.content_length = answer.content_length
    return response


async def _copy_response(
    request: web.BaseRequest,
    answer: ClientResponse,
    response: web.StreamResponse,
    mask: SecretMask,
    observer: ResponseObserver,
) -> None:
    while True:
        try:
            chunk = await answer.content.readany()
        except (ClientError, TimeoutError, OSError):
            observer.abort()
            _close_client(request)
            return
        passed = observer.feed(mask.feed(chunk)) if chunk else observer.feed(mask.finish()) + observer.finish()
        if passed:
            await response.write(passed)
        if not chunk:
            return


def _close_client(request: web.BaseRequest) -> None:
    """Close the connection, so that the client does not take an incomplete response for a complete one."""
    if request.transport is not None:
        request.transport.close()


_REFUSAL_REASONS = {
    FailureKind.BUDGET_REACHED: RefusalReason.CAP_REACHED,
    FailureKind.UNKNOWN_MODEL: RefusalReason.UNKNOWN_MODEL,
    FailureKind.UNAUTHORIZED: RefusalReason.UNKNOWN_KEY,
    FailureKind.NOT_ALLOWED: RefusalReason.NOT_ALLOWED,
}


@dataclass(frozen=True, slots=True)
class ServedRun:
    """A run at the gateway: what is kept about it, and what reads its requests."""

    ledger: RunLedger
    reader: RequestReader


class ReverseProxy:
    """Forwards or refuses the requests of all runs."""

    def __init__(self, session: ClientSession, upstreams: Mapping[Provider, ModelUpstream]) -> None:
        self._session = session
        self._upstreams = upstreams

    async def answer(self, served: ServedRun, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request that came in on a run's port."""
        run = served.ledger
        route = find_route(request.method, request.path, request.headers)
        dialect = None if route is None else route.dialect
        if not (run.is_open and shows_run_key(run.key, request.headers, request.query)):
            message = "This key is not valid here: it is not the key of the run behind this port."
            return _refusal_response(make_refusal(dialect, RefusalReason.UNKNOWN_KEY, message))
        if route is None:
            wanted = f"{request.method} {request.path}"
            run.note_unserved(wanted)
            return _refusal_response(
                make_refusal(None, RefusalReason.NOT_SERVED, f"The gateway does not serve {wanted}.")
            )
        if request.headers.get("content-encoding", "identity").lower() != "identity":
            message = (
                "A compressed request is not read, because a small one can contain gigabytes; send it uncompressed."
            )
            return _refusal_response(make_refusal(dialect, RefusalReason.UNREADABLE, message))
        with RequestBody(run.body_limit) as body:
            try:
                await receive_body(request, body)
            except BodyTooLargeError as fault:
                return _refusal_response(make_refusal(dialect, RefusalReason.TOO_LARGE, str(fault)))
            if route.purpose is RoutePurpose.GENERATE:
                return await self._generate(served, request, route, body.content())
            return await self._pass(served, request, route, body.content())

    async def _pass(self, served: ServedRun, request: web.BaseRequest, route: Route, body: bytes) -> web.StreamResponse:
        """Forward a request that costs no tokens, without metering it; to count tokens, providers fetch files too."""
        if route.purpose is RoutePurpose.COUNT:
            try:
                refused = served.ledger.policy_failure((await served.reader.read(route, body)).parsed)
            except UnreadableRequestError as fault:
                return _refusal_response(make_refusal(route.dialect, RefusalReason.UNREADABLE, str(fault)))
            if refused is not None:
                return _refusal_response(make_refusal(route.dialect, RefusalReason.NOT_ALLOWED, refused.detail))
        upstream = self._upstreams[route.provider]
        if (missing := _missing_key_failure(route.provider, upstream)) is not None:
            return _refusal_response(make_refusal(route.dialect, RefusalReason.UNKNOWN_KEY, missing.detail))
        try:
            return await forward_request(self._session, request, route, upstream, body, NullResponseObserver())
        except UpstreamError as fault:
            return _refusal_response(make_refusal(route.dialect, RefusalReason.UNREACHABLE, fault.reason.detail))

    async def _generate(
        self, served: ServedRun, request: web.BaseRequest, route: Route, body: bytes
    ) -> web.StreamResponse:
        run = served.ledger
        try:
            parsed = await served.reader.read(route, body)
        except UnreadableRequestError as fault:
            run.note_unserved(f"{request.method} {request.path}: {fault}")
            return _refusal_response(make_refusal(route.dialect, RefusalReason.UNREADABLE, str(fault)))
        round_trip = RoundTrip(route, parsed, is_logged=run.keeps_bodies)
        upstream = self._upstreams[route.provider]
        failure = _missing_key_failure(route.provider, upstream) or run.refusal_failure(parsed.parsed)
        if failure is not None:
            refusal = make_refusal(route.dialect, _REFUSAL_REASONS[failure.kind], failure.detail)
            round_trip.fail(failure, refusal.status)
            run.refuse(round_trip)
            return _refusal_response(refusal)
        return await self._meter(run, request, upstream, round_trip)

    async def _meter(
        self, run: RunLedger, request: web.BaseRequest, upstream: ModelUpstream, round_trip: RoundTrip
    ) -> web.StreamResponse:
        route = round_trip.route
        run.begin(round_trip)
        try:
            return await forward_request(self._session, request, route, upstream, round_trip.request.body, round_trip)
        except UpstreamError as fault:
            refusal = make_refusal(route.dialect, RefusalReason.UNREACHABLE, fault.reason.detail)
            round_trip.fail(fault.reason, refusal.status)
            return _refusal_response(refusal)
        finally:
            run.end(round_trip)


def _missing_key_failure(provider: Provider, upstream: ModelUpstream) -> Failure | None:
    if upstream.key is not None:
        return None
    return make_failure(
        FailureKind.UNAUTHORIZED,
        f"There is no key for {provider}: set {upstream.variable}, name another variable as key under "
        f'[gateway.{provider}] in the suite, or key = "" where none is needed. Nothing was sent.',
    )


def _refusal_response(refusal: GatewayRefusal) -> web.Response:
    response = web.Response(status=refusal.status, body=refusal.body, content_type="application/json")
    if not refusal.is_retryable:
        response.headers["x-should-retry"] = "false"  # clients of two providers respect this
    return response


MAX_CONNECTIONS = 256
"""More than any agent needs; all runs share the descriptors of the engine's process."""

# What a client does to its connection is accounted for; tracebacks about it would only be noise.
_NULL_LOGGER = logging.Logger("outweigh.gateway")
_NULL_LOGGER.addHandler(logging.NullHandler())


class GatewayServer:
    """Serves one run on one socket. Used only in the gateway's thread."""

    def __init__(self, ledger: RunLedger, proxy: ReverseProxy) -> None:
        self._served = ServedRun(ledger, RequestReader(ledger.read_request))
        self._proxy = proxy
        self._tasks: set[Task[Any]] = set()

    async def start(self, listening: socket) -> None:
        """Start tasks."""
        self._server = _BoundedServer(
            self._answer,
            handler_cancellation=True,
            access_log=None,
            logger=_NULL_LOGGER,
            auto_decompress=False,
        )
        self._accepting = await asyncio.get_running_loop().create_server(self._server, sock=listening)

    async def stop(self) -> None:
        """Close all connections; the ledger keeps the requests as far as they got."""
        self._accepting.close()
        tasks = tuple(self._tasks)
        for task in tasks:
            task.cancel()
        if tasks:
            await asyncio.wait(tasks)
        for connection in self._server.connections:
            connection.force_close()
        self._served.reader.close()

    async def _answer(self, request: web.BaseRequest) -> web.StreamResponse:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            return await self._proxy.answer(self._served, request)
        finally:
            self._tasks.discard(task)


class _BoundedServer(web.Server):
    """Closes connections beyond the limit at once."""

    def connection_made(self, handler: web.RequestHandler, transport: asyncio.Transport) -> None:
        """Accept or close a new connection."""
        super().connection_made(handler, transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
