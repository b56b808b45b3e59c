"""Sending a request on and its answer back, piece by piece. Loaded when a gateway is opened."""

from collections.abc import Mapping
from io import BytesIO
from typing import Protocol

from aiohttp import ClientConnectorError, ClientError, ClientResponse, ClientSession, ClientTimeout, web
from yarl import URL

from outweigh.gateway.headers import headers_to_return, headers_to_send, query_to_send
from outweigh.gateway.masking import Masking
from outweigh.gateway.routes import Route
from outweigh.gateway.upstream import Upstream
from outweigh.transcript.failure import Failure, FailureKind, failure

CONNECT_SECONDS = 30.0
SILENCE_SECONDS = 1200.0
"""Models may think for long before they say anything, but not for ever."""

LARGEST_PIECE_BYTES = 1 << 20

_TIMEOUT = ClientTimeout(total=None, sock_connect=CONNECT_SECONDS, sock_read=SILENCE_SECONDS)


class UpstreamError(Exception):
    """The provider did not even begin to answer."""

    def __init__(self, reason: Failure) -> None:
        super().__init__(reason.detail)
        self.reason = reason


class Ear(Protocol):
    """Hears an answer before its client does."""

    def begin_answer(self, status: int, headers: Mapping[str, str]) -> None:
        """The answer begins."""

    def hear(self, chunk: bytes) -> bytes:
        """A piece of it; what is to be passed on for it."""

    def hear_end(self) -> bytes:
        """All has come; what is still to be passed on."""

    def break_off(self) -> None:
        """The rest will not come."""


class Deaf:
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


async def relay(
    session: ClientSession, request: web.BaseRequest, way: Route, upstream: Upstream, body: bytes, ear: Ear
) -> web.StreamResponse:
    """Ask the provider, and answer with its answer while it comes. Leaving early hangs up on the provider."""
    async with await _ask(session, request, way, upstream, body) as answer:
        ear.begin_answer(answer.status, answer.headers)
        response = _response_to(answer, upstream)
        await response.prepare(request)
        await _pass_on(request, answer, response, Masking(upstream.secrets), ear)
        return response


async def _ask(
    session: ClientSession, request: web.BaseRequest, way: Route, upstream: Upstream, body: bytes
) -> ClientResponse:
    address = URL(upstream.address(way.path)).update_query(query_to_send(request.query))
    try:
        return await session.request(
            request.method,
            address,
            data=_sendable(body),
            headers=headers_to_send(request.headers, way.provider, upstream.key or ""),
            allow_redirects=False,  # another host must not get the key
            proxy=upstream.proxy,
            timeout=_TIMEOUT,
        )
    except ClientConnectorError as fault:
        said = f"{address.host} cannot be reached: {fault}"
        raise UpstreamError(failure(FailureKind.CONNECTION_REFUSED, said)) from fault
    except TimeoutError as fault:
        said = f"{address.host} did not answer in time"
        raise UpstreamError(failure(FailureKind.SERVER_ERROR, said)) from fault
    except (ClientError, OSError, ValueError) as fault:
        said = f"{address.host} hung up before it answered: {fault}"
        raise UpstreamError(failure(FailureKind.SERVER_ERROR, said)) from fault


def _sendable(body: bytes) -> bytes | BytesIO | None:
    """A large body is sent in pieces, between which others get their turn."""
    return BytesIO(body) if len(body) > LARGEST_PIECE_BYTES else body or None


def _response_to(answer: ClientResponse, upstream: Upstream) -> web.StreamResponse:
    response = web.StreamResponse(status=answer.status, reason=answer.reason)
    for name, value in headers_to_return(answer.headers, upstream.secrets):
        response.headers.add(name, value)
    is_as_long = "content-encoding" not in answer.headers and answer.content_type != "text/event-stream"
    if is_as_long and answer.content_length is not None:
        response.content_length = answer.content_length
    return response


async def _pass_on(
    request: web.BaseRequest, answer: ClientResponse, response: web.StreamResponse, masking: Masking, ear: Ear
) -> None:
    while True:
        try:
            chunk = await answer.content.readany()
        except (ClientError, TimeoutError, OSError):
            ear.break_off()
            _hang_up(request)
            return
        passed = ear.hear(masking.feed(chunk)) if chunk else ear.hear(masking.rest()) + ear.hear_end()
        if passed:
            await response.write(passed)
        if not chunk:
            return


def _hang_up(request: web.BaseRequest) -> None:
    """A client must not take an answer that broke off for a whole one."""
    if request.transport is not None:
        request.transport.close()
