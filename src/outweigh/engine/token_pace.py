"""How many attempts run at once where a suite limits the tokens of a minute: as many as the limit serves.

If more were started, all of them would wait at the gateway for most of their time.
"""

from collections.abc import Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from math import ceil
from threading import Lock

from outweigh.engine.attempt import FinishedAttempt
from outweigh.engine.events import EventListener, note_event
from outweigh.engine.executor import AttemptExecutor, DoneFutures
from outweigh.engine.trial_plan import PlannedRun

ATTEMPTS_TO_TELL = 3
"""So many attempts have ended before it is said how many the limit serves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TokenUse:
    """What all attempts took so far: tokens by provider, and the seconds that they waited for tokens.

    While `is_paused` a provider has asked to send nothing.
    """

    tokens: Mapping[str, int]
    held_seconds: float
    is_paused: bool = False


class TokenPace:
    """How many attempts a limit serves, by what they took so far. Pure: it is told the time and what runs.

    Before anything is known one attempt runs. Each minute of an attempt, and each that has ended, lets two more run, so
    that their number doubles several times a minute until the limit is reached.
    """

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._running = 0
        self._ended = 0
        self._seconds = 0.0
        self._noted_at: float | None = None

    @property
    def is_measured(self) -> bool:
        """Whether enough attempts have ended to say how many the limit serves."""
        return self._ended >= ATTEMPTS_TO_TELL

    def note_start(self, now: float) -> None:
        """An attempt has started."""
        self._note(now)
        self._running += 1

    def note_end(self, now: float) -> None:
        """An attempt has ended."""
        self._note(now)
        self._running -= 1
        self._ended += 1

    def attempts(self, now: float, use: TokenUse) -> int:
        """How many attempts may run at once now."""
        self._note(now)
        minutes = max(0.0, self._seconds - use.held_seconds) / 60
        known = 1 + int(2 * (minutes + self._ended))
        most = max(use.tokens.values(), default=0)
        return max(1, min(known, ceil(self._limit * minutes / most))) if most else known

    def _note(self, now: float) -> None:
        if self._noted_at is not None:
            self._seconds += self._running * (now - self._noted_at)
        self._noted_at = now


class PacedExecutor:
    """An AttemptExecutor that has no more slots than a limit of tokens serves, and none in a provider's pause.

    Without a limit it only keeps to pauses.
    """

    def __init__(
        self, executor: AttemptExecutor, limit: int | None, use: Callable[[], TokenUse], listen: EventListener
    ) -> None:
        self._executor = executor
        self._pace = None if limit is None else TokenPace(limit)
        self._use = use
        self._listen = listen
        self._lock = Lock()
        self._has_told = False

    @property
    def slots(self) -> int:
        """How many attempts may run at once, now."""
        use = self._use()
        if use.is_paused:
            return 0
        if self._pace is None:
            return self._executor.slots
        with self._lock:
            return min(self._executor.slots, self._pace.attempts(self.now(), use))

    def start(self, planned: PlannedRun, attempt: int) -> Future[FinishedAttempt] | None:
        """Start an attempt."""
        future = self._executor.start(planned, attempt)
        if future is not None and (pace := self._pace) is not None:
            with self._lock:
                pace.note_start(self.now())
            future.add_done_callback(lambda _: self._note_end(pace))
        return future

    def wait(self, done: DoneFutures, timeout: float) -> None:
        """Wait until an attempt was made, and say once how many the limit serves."""
        self._executor.wait(done, timeout)
        if self._pace is not None and self._pace.is_measured and not self._has_told:
            allowed, places = self.slots, self._executor.slots
            if 0 < allowed < places:
                self._has_told = True
                told = f"`tokens_per_minute` serves about {allowed} runs at once, so not all {places} places are used"
                self._listen(note_event(told))

    def now(self) -> float:
        """The time of the executor."""
        return self._executor.now()

    def close(self) -> None:
        """Close the executor."""
        self._executor.close()

    def _note_end(self, pace: TokenPace) -> None:
        with self._lock:
            pace.note_end(self.now())
