"""A request on its way to a provider, and what a provider with ways of its own does to it and to its response."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, runtime_checkable

from outweigh.gateway.request_parsing import Route
from outweigh.model.failure import Failure

if TYPE_CHECKING:
    from aiohttp import ClientSession

HeaderPairs = list[tuple[str, str]]

FORM = {"content-type": "application/x-www-form-urlencoded"}
JSON = {"content-type": "application/json"}
"""What a body of the gateway's own is; its session leaves this to clients, whose headers it forwards."""


class UpstreamError(Exception):
    """The provider did not start to respond."""

    def __init__(self, reason: Failure) -> None:
        super().__init__(reason.detail)
        self.reason = reason


class UnreadableResponseError(Exception):
    """A response is not in the form that its provider promises."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ClientRequest:
    """A client's request in the plain form of its API, without any key."""

    route: Route
    method: str
    query: HeaderPairs
    headers: HeaderPairs
    body: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class OutgoingRequest:
    """What is sent: a complete address, already percent-encoded, and headers with what authorises the request."""

    method: str
    url: str
    headers: HeaderPairs = field(repr=False)
    body: bytes


class ResponseTranslator(Protocol):
    """Turns a provider's own response into that of the plain API, as it arrives."""

    content_type: str

    def feed(self, chunk: bytes) -> bytes:
        """Translate what this chunk completes; UnreadableResponseError where it is damaged."""

    def finish(self) -> bytes:
        """Translate the rest; UnreadableResponseError where something is missing."""


class ProviderService(Protocol):
    """A kind of provider with its own paths, its own way to authorise requests, or its own form of responses."""

    @property
    def secrets(self) -> tuple[str, ...]:
        """What must never be seen by a client."""

    def serves(self, route: Route) -> bool:
        """Whether it has such requests."""

    async def prepare(self, request: ClientRequest, session: "ClientSession") -> OutgoingRequest:
        """Address and authorise a request; raise UpstreamError where it cannot be authorised."""

    def translator(self, headers: Mapping[str, str]) -> ResponseTranslator | None:
        """What translates a response with these headers; None where it is in the plain form already."""


@runtime_checkable
class RenewsAuthorization(Protocol):
    """A service whose authorisation can be refused before it expires, and be renewed."""

    async def renew(self, refused: OutgoingRequest, session: "ClientSession") -> None:
        """Get another authorisation, so that the request can be sent again; raise UpstreamError where there is none."""
