"""One request and its response while they pass through the gateway: the state of the round trip, and the traffic log of
both bodies where a suite asks for it.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from time import monotonic

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
from outweigh.gateway.upstream import ModelUpstream
from outweigh.model.failure import Failure, FailureKind, make_failure
from outweigh.model.redact import redact_secrets

MAX_LOGGED_BODY_BYTES = 4 << 20
MAX_LOGGED_BYTES_PER_RUN = 64 << 20


@dataclass(slots=True)
class LoggedBody:
    """The beginning of one body, for the log."""

    content: bytearray = field(default_factory=bytearray)
    is_truncated: bool = False

    def add(self, chunk: bytes) -> None:
        """Keep what fits."""
        remaining = MAX_LOGGED_BODY_BYTES - len(self.content)
        self.content += chunk[:remaining]
        self.is_truncated = self.is_truncated or len(chunk) > remaining


class TrafficLog:
    """The request and response bodies of one run."""

    def __init__(self, secrets: Sequence[str]) -> None:
        self._secrets = secrets
        self._lines = bytearray()

    def add(
        self,
        number: int,
        path: str,
        request: bytes,
        status: int | None,
        response: LoggedBody,
        counted_input: int | None = None,
    ) -> None:
        """Log one round trip; beyond the run's limit, only that it happened."""
        line: dict[str, object] = {"request_number": number, "path": path, "status": status}
        if len(self._lines) < MAX_LOGGED_BYTES_PER_RUN:
            sent = LoggedBody()
            sent.add(request)
            line |= {"request": self._clean(sent), "answer": self._clean(response)}
            line["is_truncated"] = sent.is_truncated or response.is_truncated
        else:
            line["is_truncated"] = True
        if counted_input is not None:
            line["counted_input_tokens"] = counted_input
        self._lines += msgspec.json.encode(line) + b"\n"

    def lines(self) -> bytes:
        """All lines."""
        return bytes(self._lines)

    def _clean(self, kept: LoggedBody) -> str:
        """The body without secrets; where it was truncated, without an end that may be part of one."""
        content = redact_secrets(bytes(kept.content), self._secrets)
        if kept.is_truncated:
            content = content[: len(content) - max(map(len, self._secrets), default=0)]
        return content.decode(errors="replace")


class RoundTrip:
    """The state of one request and its response. Times are in seconds of the monotonic clock.

    `served_by` is the provider that it was sent to, None where it was not sent. `counted_input` is how many tokens
    another provider counts in the request, None where none was asked or it did not say.

    Every chunk is read before it is forwarded, so that whatever the client has received is already accounted for.
    """

    def __init__(self, route: Route, request: ParsedRequest, *, is_logged: bool) -> None:
        self.route = route
        self.request = request
        self.response: GenerationResponse = RESPONSE_TYPES[route.dialect]()
        self.logged_response = LoggedBody() if is_logged else None
        self.served_by: ModelUpstream | None = None
        self.counted_input: int | None = None
        self.http_status: int | None = None
        self.started_at = monotonic()
        self.first_token_at: float | None = None
        self.ended_at: float | None = None
        self._headers: Mapping[str, str] = {}
        self._reader: ResponseReader = ErrorBodyReader()
        self._failure: Failure | None = None
        self._is_over = False

    def start_clock(self) -> None:
        """The request is sent only now: it has waited for tokens of the minute."""
        self.started_at = monotonic()

    def start_response(self, status: int, headers: Mapping[str, str]) -> None:
        """The provider has started to respond."""
        self.http_status = status
        self._headers = headers
        if status >= 300:
            return
        if headers.get("Content-Type", "").startswith("text/event-stream"):
            self._reader = EventStreamReader(self.response, self.request.is_added_event)
        else:
            self._reader = JsonBodyReader(self.response)

    def feed(self, chunk: bytes) -> bytes:
        """Read a chunk of the response; returns the bytes to forward."""
        if self.logged_response is not None:
            self.logged_response.add(chunk)
        passed = self._reader.feed(chunk)
        if self.first_token_at is None and self.response.response_bytes:
            self.first_token_at = monotonic()
        return passed

    def finish(self) -> bytes:
        """The response is complete; returns the bytes that are still to be forwarded."""
        self._is_over = True
        return self._reader.finish()

    def abort(self) -> None:
        """The response ended in the middle."""
        self._is_over = True

    def fail(self, reason: Failure, http_status: int) -> None:
        """There is no response, for this reason; the client gets this status."""
        self._failure = reason
        self.http_status = http_status

    def end(self) -> None:
        """The round trip is over, whether the response is complete or the client has disconnected."""
        self.ended_at = monotonic()

    def read_pending(self) -> None:
        """Read what has arrived so far."""
        self._reader.read_pending()

    @property
    def stops_when_closed(self) -> bool:
        """Whether the provider is known to write nothing more once the connection is closed."""
        return self.served_by is not None and self.served_by.stops_when_closed and self.request.parsed.is_streamed

    @property
    def is_free(self) -> bool:
        """Whether nothing can be charged: the request was refused, or answered with an error."""
        return self.http_status is not None and self.http_status >= 300

    @property
    def failure(self) -> Failure | None:
        """Why there is no complete response; None also where the client disconnected before its end."""
        if self._failure is not None:
            return self._failure
        if isinstance(self._reader, ErrorBodyReader) and self.http_status is not None:
            body = self._reader.body
            wait = read_retry_after(self._headers, body, datetime.now(UTC))
            return classify_provider_error(ReportedError(self.http_status, read_error_message(body)), wait)
        if self.response.error is not None:
            return classify_provider_error(self.response.error, None)
        if self._is_over and not self.response.is_complete:
            return make_failure(FailureKind.CUT_STREAM, "the model's answer ended before it was complete")
        return None
