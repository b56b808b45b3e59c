"""One request and its response while they pass through the gateway: the request's body within the limits of a run, the
state of the round trip, and the traffic log of both bodies where a suite asks for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic
from types import TracebackType
from typing import Self

import msgspec

from outweigh.gateway.dialects.api_errors import (
    ReportedError,
    classify_provider_error,
    read_error_message,
    read_retry_after,
)
from outweigh.gateway.dialects.request_and_response import GenerationResponse
from outweigh.gateway.request_parsing import RESPONSE_TYPES, ParsedRequest, Route
from outweigh.gateway.response_readers import ErrorBodyReader, EventStreamReader, JsonBodyReader, ResponseReader
from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.redact import redact_secrets

MAX_REQUEST_BYTES = 64 << 20
MAX_PENDING_BYTES_PER_RUN = 256 << 20


class BodyTooLargeError(Exception):
    """There is no room for more; the message is a sentence for the client."""


class BodyLimit:
    """What the requests of one run may take together."""

    def __init__(self, most_bytes: int = MAX_PENDING_BYTES_PER_RUN) -> None:
        self.left_bytes = most_bytes


class RequestBody:
    """One request's body; leaving the context makes room for others."""

    def __init__(self, room: BodyLimit, largest_bytes: int = MAX_REQUEST_BYTES) -> None:
        self._room = room
        self._largest = largest_bytes
        self._content = bytearray()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._room.left_bytes += len(self._content)

    def add(self, chunk: bytes) -> None:
        """Hold a piece more."""
        if len(self._content) + len(chunk) > self._largest:
            raise BodyTooLargeError(f"A request may have {self._largest >> 20} MiB; this one has more.")
        if len(chunk) > self._room.left_bytes:
            raise BodyTooLargeError("The requests that this run has under way are too large together.")
        self._room.left_bytes -= len(chunk)
        self._content += chunk

    def content(self) -> bytes:
        """All of it."""
        return bytes(self._content)


MAX_LOGGED_BODY_BYTES = 4 << 20
MAX_LOGGED_BYTES_PER_RUN = 64 << 20


@dataclass(slots=True)
class LoggedBody:
    """The beginning of one body."""

    content: bytearray = field(default_factory=bytearray)
    is_truncated: bool = False

    def hear(self, chunk: bytes) -> None:
        """Keep what there is room for."""
        room = MAX_LOGGED_BODY_BYTES - len(self.content)
        self.content += chunk[:room]
        self.is_truncated = self.is_truncated or len(chunk) > room


class TrafficLog:
    """The bodies of one run."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        self._lines = bytearray()

    def add(self, number: int, path: str, request: bytes, status: int | None, answer: LoggedBody) -> None:
        """Keep one exchange; beyond a run's limit only that there was one."""
        line: dict[str, object] = {"request_number": number, "path": path, "status": status}
        if len(self._lines) < MAX_LOGGED_BYTES_PER_RUN:
            asked = LoggedBody()
            asked.hear(request)
            line |= {"request": self._clean(asked), "answer": self._clean(answer)}
            line["is_truncated"] = asked.is_truncated or answer.is_truncated
        else:
            line["is_truncated"] = True
        self._lines += msgspec.json.encode(line) + b"\n"

    def lines(self) -> bytes:
        """All lines."""
        return bytes(self._lines)

    def _clean(self, kept: LoggedBody) -> str:
        """Without secrets; where it was cut, without an end that may be part of one."""
        content = redact_secrets(bytes(kept.content), self._secrets)
        if kept.is_truncated:
            content = content[: len(content) - max(map(len, self._secrets), default=0)]
        return content.decode(errors="replace")


class RoundTrip:
    """What is known about a request so far. Times are in seconds of one clock.

    Everything is heard before it is passed on: whatever the client has received is in the account already.
    """

    def __init__(self, way: Route, demand: ParsedRequest, *, is_kept: bool) -> None:
        self.way = way
        self.demand = demand
        self.answer: GenerationResponse = RESPONSE_TYPES[way.dialect]()
        self.kept = LoggedBody() if is_kept else None
        self.http_status: int | None = None
        self.started_at = monotonic()
        self.first_token_at: float | None = None
        self.ended_at: float | None = None
        self._headers: Mapping[str, str] = {}
        self._listener: ResponseReader = ErrorBodyReader()
        self._failure: Failure | None = None
        self._is_over = False

    def begin_answer(self, status: int, headers: Mapping[str, str]) -> None:
        """The provider has begun to answer."""
        self.http_status = status
        self._headers = headers
        if status >= 300:
            return
        if headers.get("Content-Type", "").startswith("text/event-stream"):
            self._listener = EventStreamReader(self.answer, self.demand.is_ours)
        else:
            self._listener = JsonBodyReader(self.answer)

    def hear(self, chunk: bytes) -> bytes:
        """A piece of the answer; what is to be passed on for it."""
        if self.kept is not None:
            self.kept.hear(chunk)
        passed = self._listener.hear(chunk)
        if self.first_token_at is None and self.answer.said_bytes:
            self.first_token_at = monotonic()
        return passed

    def hear_end(self) -> bytes:
        """The provider has said all that it will say; what is still to be passed on."""
        self._is_over = True
        return self._listener.rest()

    def break_off(self) -> None:
        """The provider's answer ended in the middle."""
        self._is_over = True

    def fail(self, reason: Failure, http_status: int) -> None:
        """There is no answer, for this reason; the client is told so with this status."""
        self._failure = reason
        self.http_status = http_status

    def end(self) -> None:
        """Nothing more will be heard, whether the answer is whole or its client has gone."""
        self.ended_at = monotonic()

    def settle(self) -> None:
        """Read what can be read so far."""
        self._listener.settle()

    @property
    def failure(self) -> Failure | None:
        """Why there is no whole answer; None also where there might have been one, had the client waited for it."""
        if self._failure is not None:
            return self._failure
        if isinstance(self._listener, ErrorBodyReader) and self.http_status is not None:
            said = self._listener.said
            wait = read_retry_after(self._headers, said, datetime.now(UTC))
            return classify_provider_error(ReportedError(self.http_status, read_error_message(said)), wait)
        if self.answer.error is not None:
            return classify_provider_error(self.answer.error, None)
        if self._is_over and not self.answer.is_complete:
            return make_failure(FailureKind.CUT_STREAM, "the model's answer ended before it was complete")
        return None
