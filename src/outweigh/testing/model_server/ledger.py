"""The ledger: every request, how it was answered, and the tokens of the answer, counted as in run records (input
without the prompt cache).
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from enum import StrEnum
from threading import Lock

from outweigh.model.usage import Usage


@dataclass(frozen=True, slots=True, kw_only=True)
class Tokens:
    """The tokens of one or more answers. Output includes reasoning; input excludes tokens read from or written to the
    cache.
    """

    input_tokens: int
    output_tokens: int
    cache_read_tokens: int = 0
    cache_write_tokens: int = 0
    reasoning_tokens: int = 0

    @property
    def prompt_tokens(self) -> int:
        """All tokens of the prompt, as counted by providers that include cached tokens in it."""
        return self.input_tokens + self.cache_read_tokens + self.cache_write_tokens

    @property
    def total_tokens(self) -> int:
        """All tokens of prompt and answer."""
        return self.prompt_tokens + self.output_tokens

    @property
    def usage(self) -> Usage:
        """The tokens as a run record stores them."""
        return Usage(
            input_tokens=self.input_tokens,
            output_tokens=self.output_tokens,
            cache_read_tokens=self.cache_read_tokens,
            cache_write_tokens=self.cache_write_tokens,
        )

    def with_writes_as_input(self) -> "Tokens":
        """The tokens as reported by a protocol that has no field for cache writes."""
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
"""The start value of a sum."""


class Ending(StrEnum):
    """How a request ends: answered, refused (also in mid-stream), cut off, or answered without the model (`free`)."""

    ANSWERED = "answered"
    REFUSED = "refused"
    CUT = "cut"
    FREE = "free"


@dataclass(frozen=True, slots=True, kw_only=True)
class LedgerEntry:
    """One request, recorded before the first byte of its response is sent.

    `tokens` is what the answer costs, None if nothing is generated: an answer that is cut off costs as much as a
    complete one, and `usage_sent` says whether the client is told. `rule` names the part of the script that answers,
    `problem` what it asks for and the request does not allow. A field that does not apply is None.
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
    """The sum of a ledger: the number of requests, how many of them were answered with tokens, and those tokens."""

    requests: int
    billed: int
    tokens: Tokens


class RequestLedger:
    """All entries so far, in the order in which they were answered. Thread-safe."""

    def __init__(self, on_entry: Callable[[LedgerEntry], None] | None = None) -> None:
        self._entries: list[LedgerEntry] = []
        self._lock = Lock()
        self._on_entry = on_entry

    def add(self, entry: LedgerEntry) -> None:
        """Record one request, and call `on_entry`."""
        with self._lock:
            self._entries.append(entry)
        if self._on_entry is not None:
            self._on_entry(entry)

    def entries(self) -> tuple[LedgerEntry, ...]:
        """All entries so far."""
        with self._lock:
            return tuple(self._entries)

    def totals(self, model: str | None = None) -> Totals:
        """The sum over all entries, or over those of one model."""
        entries = [entry for entry in self.entries() if model is None or entry.model == model]
        billed = [entry.tokens for entry in entries if entry.tokens is not None]
        return Totals(requests=len(entries), billed=len(billed), tokens=sum(billed, NO_TOKENS))
