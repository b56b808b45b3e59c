"""How an experiment is going, on standard error: one line that changes, or a few that stay."""

import os
from collections import Counter
from collections.abc import Sequence
from threading import Lock
from time import monotonic
from typing import TextIO

from outweigh.record.status import EXCLUDED
from outweigh.report.wording import visible
from outweigh.run.events import Event, EventKind
from outweigh.run.experiment import Progress
from outweigh.run.plan import PlannedRun

QUIET_EVERY = 100
"""Where the line cannot change, it is written once per so many results."""


def tell(text: str, stream: TextIO) -> None:
    """Say something to whoever watches; that nobody does any more is no reason to stop."""
    try:
        stream.write(text)
        stream.flush()
    except OSError:
        # What is left in the buffer must not fail again when the process ends.
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


class ProgressLine:
    """Listens to the engine. Per arm: trials with a result, how many passed; dollars, what runs, and time left."""

    def __init__(self, plan: Sequence[PlannedRun], stream: TextIO) -> None:
        self._total = Counter(run.trial.arm for run in plan)
        self._done: Counter[str] = Counter()
        self._passed: Counter[str] = Counter()
        self._spent = 0.0
        self._running = 0
        self._earlier = 0
        self._began = monotonic()
        self._stream = stream
        self._live = stream.isatty()
        self._lock = Lock()

    def __enter__(self) -> "ProgressLine":
        return self

    def __exit__(self, *trouble: object) -> None:
        if self._live:
            tell("\n", self._stream)

    def resume(self, progress: Progress) -> None:
        """Tell where an earlier engine got to."""
        self._done.update(progress.done)
        self._passed.update(progress.passed)
        self._spent = progress.spent_usd
        self._earlier = self._done.total()
        if self._done.total():
            self._say(f"{self._done.total()} of {self._total.total()} trials have a result already")

    def __call__(self, event: Event) -> None:
        """Take note of one moment."""
        with self._lock:
            if event.kind is EventKind.STARTED:
                self._running += 1
            elif event.kind is EventKind.FINISHED and event.arm is not None:
                self._running -= 1
                counts = event.status not in EXCLUDED
                self._done[event.arm] += counts
                self._passed[event.arm] += counts and event.passed is True
                self._spent += event.cost_usd or 0.0
                self._show()
            elif event.kind is EventKind.RETRYING:
                self._say(f"{event.task_id}, {event.arm}, repeat {event.repeat}: {event.detail}")
            elif event.kind in (EventKind.PAUSED, EventKind.NOTE, EventKind.STOPPED):
                self._say(event.detail)

    def _show(self) -> None:
        if self._live:
            tell(f"\r\x1b[K{self._line()}", self._stream)
        elif self._done.total() % QUIET_EVERY == 0:
            self._say(self._line())

    def _line(self) -> str:
        arms = "  ".join(
            f"{visible(arm)} {self._done[arm]}/{total} ({self._passed[arm]} passed)"
            for arm, total in self._total.items()
        )
        return f"{arms}  ${self._spent:,.2f}  {self._running} running{self._time_left()}"

    def _time_left(self) -> str:
        """From this engine's own pace; nothing before it has any."""
        made, left = self._done.total() - self._earlier, self._total.total() - self._done.total()
        if made < 1 or left < 1:
            return ""
        seconds = (monotonic() - self._began) / made * left
        return f", about {seconds / 60:.0f} min left" if seconds >= 90 else f", about {seconds:.0f} s left"

    def _say(self, text: str) -> None:
        clear = "\r\x1b[K" if self._live else ""
        tell(f"{clear}{visible(text)}\n", self._stream)
