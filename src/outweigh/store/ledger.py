"""The ledger of a repository's verdicts: one sealed line each, appended and never changed.

A store whose verdict was entered keeps a copy of the entry (`ledger.log` in its folder), so that everybody who reads
the store later knows what the ledger said.
"""

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta, Struct

from outweigh.errors import EvidenceError
from outweigh.model.base import Moment
from outweigh.store.journal import Journal, open_journal, read_journal

LEDGER_FILE = "ledger.log"
Probability = Annotated[float, Meta(ge=0, le=1)]


class LedgerLine(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One verdict: the hash of its evidence, its p-value (None where nothing improved), and the level it was held to.

    `promotable` is whether the ledger allows its promotion. Where it does not, the level is spent.
    """

    schema: Literal["outweigh.ledger/1"] = "outweigh.ledger/1"
    entered_at: Moment
    suite: str
    evidence_sha256: Annotated[str, Meta(pattern=r"^[0-9a-f]{64}$")]
    decision: str
    p_value: Probability | None
    level: Probability
    promotable: bool


class Ledger(Struct, frozen=True, kw_only=True):
    """Every entry once, however often it was copied. A damaged line counts as a verdict without a promotion."""

    lines: Sequence[LedgerLine]
    damaged: int

    @property
    def unpromoted(self) -> int:
        """The number of verdicts that spent their level."""
        return sum(not line.promotable for line in self.lines) + self.damaged

    @property
    def verdicts(self) -> int:
        """The number of verdicts."""
        return len(self.lines) + self.damaged

    def find(self, *hashes: str) -> LedgerLine | None:
        """The entry about this evidence, by any version of its hash; of several, the one that refuses."""
        found = [line for line in self.lines if line.evidence_sha256 in hashes]
        return min(found, key=lambda line: line.promotable, default=None)


def read_ledger(path: Path) -> Ledger:
    """Read a ledger; one that does not exist is empty."""
    lines, damaged = read_journal(path)
    return _ledger(path, lines, damaged)


def enter_in_ledger(path: Path, hashes: tuple[str, ...], make: Callable[[Ledger], LedgerLine]) -> Ledger:
    """Append the line that is made from the ledger as it is, unless this evidence is in it; returns it with the line.

    Nobody else enters anything between the reading and the writing.
    """
    with open_journal(path) as journal:
        known = _ledger(path, journal.lines, journal.damaged)
        if known.find(*hashes) is None:
            _append(journal, make(known))
        return _ledger(path, journal.lines, journal.damaged)


def mark_store(folder: Path) -> None:
    """Note that the verdict of a store belongs in a ledger: without a copy of its entry nothing is promoted."""
    with open_journal(folder / LEDGER_FILE):
        pass


def copy_to_store(folder: Path, line: LedgerLine) -> None:
    """Keep a copy of an entry with the store that it is about."""
    enter_in_ledger(folder / LEDGER_FILE, (line.evidence_sha256,), lambda _: line)


def read_store_ledger(folder: Path) -> Ledger | None:
    """The entries about a store; None where its verdict was never to be entered."""
    path = folder / LEDGER_FILE
    return read_ledger(path) if path.is_file() else None


def _append(journal: Journal, line: LedgerLine) -> None:
    journal.append(msgspec.json.encode(line))


def _ledger(path: Path, lines: Sequence[bytes], damaged: int) -> Ledger:
    found: dict[str, LedgerLine] = {}
    for line in lines:
        try:
            entry = msgspec.json.decode(line, type=LedgerLine)
        except msgspec.MsgspecError as fault:
            raise EvidenceError(
                f"{path} cannot be read: {fault}. Use the release that wrote it, or name another ledger with --ledger."
            ) from fault
        # Copies of a ledger that were put together may hold a verdict twice; the refusal counts.
        known = found.get(entry.evidence_sha256)
        if known is None or (known.promotable and not entry.promotable):
            found[entry.evidence_sha256] = entry
    return Ledger(lines=tuple(found.values()), damaged=damaged)
