"""Who may ask, what is sent on and what is refused. Loaded when a gateway is opened."""

from collections.abc import Mapping

from aiohttp import ClientSession, web

from outweigh.gateway.demand import UnreadableRequestError, read_demand
from outweigh.gateway.dialects.refusals import Reason, Refusal, refusal
from outweigh.gateway.exchange import Exchange
from outweigh.gateway.held_body import HeldBody, TooLargeError
from outweigh.gateway.relay import Deaf, UpstreamError, relay
from outweigh.gateway.routes import Provider, Purpose, Route, route
from outweigh.gateway.run_key import opens
from outweigh.gateway.run_ledger import RunLedger
from outweigh.gateway.upstream import Upstream
from outweigh.transcript.failure import Failure, FailureKind, failure

_REASONS = {
    FailureKind.BUDGET_REACHED: Reason.CAP_REACHED,
    FailureKind.UNKNOWN_MODEL: Reason.UNKNOWN_MODEL,
    FailureKind.UNAUTHORIZED: Reason.UNKNOWN_KEY,
}


class ReverseProxy:
    """Answers the requests of all runs."""

    def __init__(self, session: ClientSession, upstreams: Mapping[Provider, Upstream]) -> None:
        self._session = session
        self._upstreams = upstreams

    async def answer(self, run: RunLedger, request: web.BaseRequest) -> web.StreamResponse:
        """Answer one request that came through one run's door."""
        way = route(request.method, request.path, request.headers)
        dialect = None if way is None else way.dialect
        if not (run.is_open and opens(run.key, request.headers, request.query)):
            said = "This key opens nothing here: it is not that of the run behind this door."
            return _answer_with(refusal(dialect, Reason.UNKNOWN_KEY, said))
        if way is None:
            asked = f"{request.method} {request.path}"
            run.note_unserved(asked)
            return _answer_with(refusal(None, Reason.NOT_SERVED, f"The gateway does not serve {asked}."))
        with HeldBody(run.room) as body:
            try:
                await _read(request, body)
            except TooLargeError as fault:
                return _answer_with(refusal(dialect, Reason.TOO_LARGE, str(fault)))
            if way.purpose is Purpose.GENERATE:
                return await self._generate(run, request, way, body.content())
            return await self._pass(request, way, body.content())

    async def _pass(self, request: web.BaseRequest, way: Route, body: bytes) -> web.StreamResponse:
        """What costs no tokens is nobody's business."""
        upstream = self._upstreams[way.provider]
        if (missing := _missing_key(way.provider, upstream)) is not None:
            return _answer_with(refusal(way.dialect, Reason.UNKNOWN_KEY, missing.detail))
        try:
            return await relay(self._session, request, way, upstream, body, Deaf())
        except UpstreamError as fault:
            return _answer_with(refusal(way.dialect, Reason.UNREACHABLE, fault.reason.detail))

    async def _generate(self, run: RunLedger, request: web.BaseRequest, way: Route, body: bytes) -> web.StreamResponse:
        try:
            demand = read_demand(way, body)
        except UnreadableRequestError as fault:
            run.note_unserved(f"{request.method} {request.path}: {fault}")
            return _answer_with(refusal(way.dialect, Reason.UNREADABLE, str(fault)))
        exchange = Exchange(way, demand, is_kept=run.keeps_bodies)
        upstream = self._upstreams[way.provider]
        objection = _missing_key(way.provider, upstream) or run.objection(demand.asked)
        if objection is not None:
            no = refusal(way.dialect, _REASONS[objection.kind], objection.detail)
            exchange.fail(objection, no.status)
            run.refuse(exchange)
            return _answer_with(no)
        return await self._meter(run, request, upstream, exchange)

    async def _meter(
        self, run: RunLedger, request: web.BaseRequest, upstream: Upstream, exchange: Exchange
    ) -> web.StreamResponse:
        way = exchange.way
        run.begin(exchange)
        try:
            return await relay(self._session, request, way, upstream, exchange.demand.body, exchange)
        except UpstreamError as fault:
            no = refusal(way.dialect, Reason.UNREACHABLE, fault.reason.detail)
            exchange.fail(fault.reason, no.status)
            return _answer_with(no)
        finally:
            run.end(exchange)


def _missing_key(provider: Provider, upstream: Upstream) -> Failure | None:
    if upstream.key is not None:
        return None
    return failure(
        FailureKind.UNAUTHORIZED,
        f"There is no key for {provider}: set {upstream.variable}, name another variable as key under "
        f'[gateway.{provider}] in the suite, or key = "" where none is needed. Nothing was sent.',
    )


async def _read(request: web.BaseRequest, body: HeldBody) -> None:
    if request.headers.get("expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    while chunk := await request.content.readany():
        body.add(chunk)


def _answer_with(no: Refusal) -> web.Response:
    response = web.Response(status=no.status, body=no.body, content_type="application/json")
    if not no.may_help_again:
        response.headers["x-should-retry"] = "false"  # the clients of two providers obey this
    return response
