"""How judging is going, on standard error: one line that changes, or a few that stay."""

from threading import Lock
from typing import TextIO

from outweigh.cli.progress import QUIET_EVERY, tell
from outweigh.report.wording import visible
from outweigh.run.events import Event, EventKind


class JudgingLine:
    """Listens to the judging: judgments so far, and dollars."""

    def __init__(self, stream: TextIO) -> None:
        self._stream = stream
        self._live = stream.isatty()
        self._judged = 0
        self._spent = 0.0
        self._shown = False
        self._lock = Lock()

    def __enter__(self) -> "JudgingLine":
        return self

    def __exit__(self, *trouble: object) -> None:
        if self._live and self._shown:
            tell("\n", self._stream)

    def __call__(self, event: Event) -> None:
        """Take note of one moment."""
        with self._lock:
            if event.kind is EventKind.JUDGED:
                self._judged += 1
                self._spent += event.cost_usd or 0.0
                self._show()
            elif event.kind in (EventKind.NOTE, EventKind.STOPPED):
                self._say(event.detail)

    def _show(self) -> None:
        line = f"{self._judged} judgments, ${self._spent:,.4f}"
        if self._live:
            tell(f"\r\x1b[K{line}", self._stream)
            self._shown = True
        elif self._judged % QUIET_EVERY == 0:
            self._say(line)

    def _say(self, words: str) -> None:
        tell(("\r\x1b[K" if self._live else "") + f"{visible(words)}\n", self._stream)
