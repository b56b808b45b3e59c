"""The HTTP server of the model gateway: checks the run key, and refuses or forwards each request.

Imports aiohttp, so it is loaded only when a gateway is opened.
"""

import asyncio
import logging
from asyncio import Task
from collections.abc import Mapping
from dataclasses import dataclass
from socket import socket
from typing import Any

from aiohttp import ClientSession, web

from outweigh.gateway.dialects.api_errors import GatewayRefusal, RefusalReason, make_refusal
from outweigh.gateway.forward_request import NullResponseObserver, forward_request
from outweigh.gateway.outgoing_request import UpstreamError
from outweigh.gateway.request_body import BodyTooLargeError, RequestBody, RequestReader, receive_body
from outweigh.gateway.request_parsing import Route, RoutePurpose, UnreadableRequestError, find_route
from outweigh.gateway.round_trip import RoundTrip
from outweigh.gateway.run_ledger import RunLedger
from outweigh.gateway.token_count import can_count, count_sent_tokens
from outweigh.gateway.token_queue import Admission, HeldTime, TokenQueue
from outweigh.gateway.upstream import ModelUpstream, provider_name, shows_run_key
from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.provider import ApiFamily

_REFUSAL_REASONS = {
    FailureKind.BUDGET_REACHED: RefusalReason.CAP_REACHED,
    FailureKind.UNKNOWN_MODEL: RefusalReason.UNKNOWN_MODEL,
    FailureKind.UNAUTHORIZED: RefusalReason.UNKNOWN_KEY,
    FailureKind.LOGIN_EXPIRED: RefusalReason.UNKNOWN_KEY,
    FailureKind.NOT_ALLOWED: RefusalReason.NOT_ALLOWED,
}


@dataclass(frozen=True, slots=True)
class ServedRun:
    """A run at the gateway: what is kept about it, what reads its requests, and for how long they have waited."""

    ledger: RunLedger
    reader: RequestReader
    held: HeldTime


class ReverseProxy:
    """Forwards or refuses the requests of all runs."""

    def __init__(
        self, session: ClientSession, counters: Mapping[ApiFamily, ModelUpstream], tokens: TokenQueue | None
    ) -> None:
        self._session = session
        self._counters = counters
        self._tokens = tokens

    async def answer(self, served: ServedRun, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request that came in on a run's port."""
        run = served.ledger
        route = find_route(request.method, request.path, request.headers)
        refused = _refuse_unread(run, request, route)
        if refused is not None or route is None:
            return _refusal_response(refused or _refuse_unserved(run, request, route))
        dialect, upstream = route.dialect, run.upstreams[route.provider]
        with RequestBody(run.body_limit) as body:
            try:
                await receive_body(request, body)
            except BodyTooLargeError as fault:
                return _refusal_response(make_refusal(dialect, RefusalReason.TOO_LARGE, str(fault)))
            if route.purpose is RoutePurpose.GENERATE:
                return await self._generate(served, request, route, upstream, body.content())
            return await self._pass(served, request, route, upstream, body.content())

    async def _pass(
        self, served: ServedRun, request: web.BaseRequest, route: Route, upstream: ModelUpstream, body: bytes
    ) -> web.StreamResponse:
        """Forward a request that costs no tokens, without metering it; to count tokens, providers fetch files too."""
        if route.purpose is RoutePurpose.COUNT:
            try:
                refused = served.ledger.policy_failure((await served.reader.read(route, body)).parsed)
            except UnreadableRequestError as fault:
                return _refusal_response(make_refusal(route.dialect, RefusalReason.UNREADABLE, str(fault)))
            if refused is not None:
                return _refusal_response(make_refusal(route.dialect, RefusalReason.NOT_ALLOWED, refused.detail))
        if (missing := _missing_key_failure(route, upstream)) is not None:
            return _refusal_response(make_refusal(route.dialect, RefusalReason.UNKNOWN_KEY, missing.detail))
        try:
            return await forward_request(self._session, request, route, upstream, body, NullResponseObserver())
        except UpstreamError as fault:
            return _refusal_response(_refusal_of(route, fault))

    async def _generate(
        self, served: ServedRun, request: web.BaseRequest, route: Route, upstream: ModelUpstream, body: bytes
    ) -> web.StreamResponse:
        run = served.ledger
        try:
            parsed = await served.reader.read(route, body)
        except UnreadableRequestError as fault:
            run.note_unserved(f"{request.method} {request.path}: {fault}")
            return _refusal_response(make_refusal(route.dialect, RefusalReason.UNREADABLE, str(fault)))
        round_trip = RoundTrip(route, parsed, is_logged=run.keeps_bodies)
        failure = _missing_key_failure(route, upstream) or run.refusal_failure(parsed.parsed)
        admission = None
        if failure is None and self._tokens is not None:
            expected = run.request_tokens.expect(parsed.parsed, route.provider)
            admission = await self._tokens.admit(provider_name(route.provider, upstream), expected, served.held)
            round_trip.start_clock()
            failure = run.refusal_failure(parsed.parsed)  # other requests of the run may have taken what was left
        if failure is not None:
            refusal = make_refusal(route.dialect, _REFUSAL_REASONS[failure.kind], failure.detail)
            round_trip.fail(failure, refusal.status)
            run.refuse(round_trip)
            self._settle(run, admission, round_trip)
            return _refusal_response(refusal)
        try:
            return await self._meter(run, request, upstream, round_trip)
        finally:
            self._settle(run, admission, round_trip)

    def _settle(self, run: RunLedger, admission: Admission | None, round_trip: RoundTrip) -> None:
        """Count what a request took, and let all others wait where its provider asks for that."""
        if self._tokens is None or admission is None:
            return
        self._tokens.settle(admission, run.request_tokens.take(round_trip))
        failure = round_trip.failure
        if failure is not None and failure.kind is FailureKind.RATE_LIMITED and failure.retry_after_seconds:
            self._tokens.pause(admission.provider, failure.retry_after_seconds)

    async def _meter(
        self, run: RunLedger, request: web.BaseRequest, upstream: ModelUpstream, round_trip: RoundTrip
    ) -> web.StreamResponse:
        route = round_trip.route
        round_trip.served_by = upstream
        run.begin(round_trip)
        try:
            counter = self._counters.get(route.provider)
            if counter is not None and can_count(route):
                sent = round_trip.request.body
                round_trip.counted_input = await count_sent_tokens(self._session, request, route, counter, sent)
            return await forward_request(self._session, request, route, upstream, round_trip.request.body, round_trip)
        except UpstreamError as fault:
            refusal = _refusal_of(route, fault)
            round_trip.fail(fault.reason, refusal.status)
            return _refusal_response(refusal)
        finally:
            place = run.end(round_trip)
            if place is not None and can_count(route):
                sent = round_trip.request.body
                run.estimates.count_later(place, count_sent_tokens(self._session, request, route, upstream, sent))


def _refuse_unread(run: RunLedger, request: web.BaseRequest, route: Route | None) -> GatewayRefusal | None:
    """The refusal of a request that is not even read: its key, its path or its encoding is not accepted."""
    dialect = None if route is None else route.dialect
    if not (run.is_open and shows_run_key(run.key, request.headers, request.query)):
        message = "This key is not valid here: it is not the key of the run behind this port."
        return make_refusal(dialect, RefusalReason.UNKNOWN_KEY, message)
    upstream = None if route is None else run.upstreams.get(route.provider)
    if route is None or upstream is None or (upstream.service is not None and not upstream.service.serves(route)):
        return _refuse_unserved(run, request, route)
    if request.headers.get("content-encoding", "identity").lower() != "identity":
        message = "A compressed request is not read, because a small one can contain gigabytes; send it uncompressed."
        return make_refusal(dialect, RefusalReason.UNREADABLE, message)
    return None


def _refuse_unserved(run: RunLedger, request: web.BaseRequest, route: Route | None) -> GatewayRefusal:
    """The refusal of a request that the gateway or the run's provider does not support; the run notes it."""
    wanted = f"{request.method} {request.path}"
    if route is None:
        run.note_unserved(wanted)
        return make_refusal(None, RefusalReason.NOT_SERVED, f"The gateway does not serve {wanted}.")
    message = f"The provider {run.provider_name!r} of this run does not serve {wanted}."
    if route.provider not in run.upstreams:
        own = " and ".join(run.upstreams)
        message = (
            f"The provider {run.provider_name!r} of this run has {own}'s API, and {wanted} is {route.provider}'s. "
            f'Nothing was sent. Name a provider with dialect = "{route.provider}" in the arm.'
        )
    run.note_unserved(f"{wanted}: {message}")
    return make_refusal(route.dialect, RefusalReason.NOT_SERVED, message)


def _refusal_of(route: Route, fault: UpstreamError) -> GatewayRefusal:
    """The response where a provider gave none; one that could not be authorised is not to be tried again."""
    reason = _REFUSAL_REASONS.get(fault.reason.kind, RefusalReason.UNREACHABLE)
    return make_refusal(route.dialect, reason, fault.reason.detail)


def _missing_key_failure(route: Route, upstream: ModelUpstream) -> Failure | None:
    if upstream.key is not None:
        return None
    table = f"[providers.{upstream.name}]" if upstream.name else f"[gateway.{route.provider}]"
    return make_failure(
        FailureKind.UNAUTHORIZED,
        f"There is no key for {upstream.name or route.provider}: set {upstream.variable}, name another variable as key "
        f'under {table} in the suite, or key = "" where none is needed. Nothing was sent.',
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

    def __init__(self, ledger: RunLedger, proxy: ReverseProxy, held: HeldTime) -> None:
        self._served = ServedRun(ledger, RequestReader(ledger.read_request), held)
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
