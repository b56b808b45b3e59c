"""The ledger: every request that came, and exactly what it is answered with."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from threading import Lock

from outweigh.testing.model_server.tokens import NO_TOKENS, Tokens


class Ending(StrEnum):
    """How a request is made to end: answered, refused (also in mid-stream), cut off, or told something for free."""

    ANSWERED = "answered"
    REFUSED = "refused"
    CUT = "cut"
    FREE = "free"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One request, noted before the first byte of its answer is sent.

    `tokens` is what the answer costs, `None` where nothing is generated: an answer that breaks off costs as much as a
    whole one, and `usage_sent` says whether the client is told. `rule` names the part of the script that answers,
    `problem` what it asks for and the request does not allow. What is `None` does not apply.
    """

    number: int
    method: str
    path: str
    api_key: str | None
    ending: Ending
    status: int
    body: bytes | None = None
    protocol: str | None = None
    model: str | None = None
    stream: bool = False
    conversation: str | None = None
    step: int | None = None
    tools: tuple[str, ...] = ()
    rule: str | None = None
    response_id: str | None = None
    tokens: Tokens | None = None
    usage_sent: bool = False
    problem: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Totals:
    """The sum of a ledger: how many requests came, how many were answered with tokens, and those tokens."""

    requests: int
    billed: int
    tokens: Tokens


class Ledger:
    """All entries so far, in the order in which they were answered; safe to look at from any thread."""

    def __init__(self, on_entry: Callable[[LedgerEntry], None] | None = None) -> None:
        self._entries: list[LedgerEntry] = []
        self._lock = Lock()
        self._on_entry = on_entry

    def add(self, entry: LedgerEntry) -> None:
        """Note one request, and tell whoever listens."""
        with self._lock:
            self._entries.append(entry)
        if self._on_entry is not None:
            self._on_entry(entry)

    def entries(self) -> tuple[LedgerEntry, ...]:
        """Everything so far."""
        with self._lock:
            return tuple(self._entries)

    def totals(self, model: str | None = None) -> Totals:
        """The sum over all entries, or over those of one model."""
        entries = [entry for entry in self.entries() if model is None or entry.model == model]
        billed = [entry.tokens for entry in entries if entry.tokens is not None]
        return Totals(requests=len(entries), billed=len(billed), tokens=sum(billed, NO_TOKENS))
