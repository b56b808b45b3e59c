"""The ledger: every request, how it was answered, and the tokens of the answer, counted as records count them (input
without the prompt cache).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Lock

from outweigh.model.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of one answer, or of many. Output includes reasoning, input excludes what the cache read or wrote."""

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """Everything that went in, as the providers count who put cached tokens into the prompt."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """Everything that went in and came out."""
        return self.prompt_tokens + self.output_tokens

    @property
    def usage(self) -> Usage:
        """The same as a record keeps it."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )

    def with_writes_as_input(self) -> "Tokens":
        """As a protocol tells it that has no word for what is written to the cache."""
        return replace(self, input_tokens=self.input_tokens + self.cache_write_tokens, cache_write_tokens=0)

    def __add__(self, other: "Tokens") -> "Tokens":
        return Tokens(
            input_tokens=self.input_tokens + other.input_tokens,
            output_tokens=self.output_tokens + other.output_tokens,
            cache_read_tokens=self.cache_read_tokens + other.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


NO_TOKENS = Tokens(input_tokens=0, output_tokens=0)
"""What a sum starts from."""


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


class RequestLedger:
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
