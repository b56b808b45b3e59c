"""One request and its answer, while they pass."""

from collections.abc import Mapping
from datetime import UTC, datetime
from time import monotonic

from outweigh.gateway.demand import Demand
from outweigh.gateway.dialects.answer import Answer
from outweigh.gateway.dialects.speech import ANSWERS
from outweigh.gateway.dialects.spoken_error import SpokenError, message_in
from outweigh.gateway.kept_bodies import Kept
from outweigh.gateway.listening import BodyListener, EventListener, FailureListener, Listener
from outweigh.gateway.provider_failure import provider_failure
from outweigh.gateway.retry_after import retry_after_seconds
from outweigh.gateway.routes import Route
from outweigh.transcript.failure import Failure, FailureKind, failure


class Exchange:
    """What is known about a request so far. Times are in seconds of one clock.

    Everything is heard before it is passed on: whatever the client has received is in the account already.
    """

    def __init__(self, way: Route, demand: Demand, *, is_kept: bool) -> None:
        self.way = way
        self.demand = demand
        self.answer: Answer = ANSWERS[way.dialect]()
        self.kept = Kept() if is_kept else None
        self.http_status: int | None = None
        self.started_at = monotonic()
        self.first_token_at: float | None = None
        self.ended_at: float | None = None
        self._headers: Mapping[str, str] = {}
        self._listener: Listener = FailureListener()
        self._failure: Failure | None = None
        self._is_over = False

    def begin_answer(self, status: int, headers: Mapping[str, str]) -> None:
        """The provider has begun to answer."""
        self.http_status = status
        self._headers = headers
        if status >= 300:
            return
        if headers.get("Content-Type", "").startswith("text/event-stream"):
            self._listener = EventListener(self.answer, self.demand.is_ours)
        else:
            self._listener = BodyListener(self.answer)

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
        if isinstance(self._listener, FailureListener) and self.http_status is not None:
            said = self._listener.said
            wait = retry_after_seconds(self._headers, said, datetime.now(UTC))
            return provider_failure(SpokenError(self.http_status, message_in(said)), wait)
        if self.answer.error is not None:
            return provider_failure(self.answer.error, None)
        if self._is_over and not self.answer.is_complete:
            return failure(FailureKind.CUT_STREAM, "the model's answer ended before it was complete")
        return None
