"""The ledger of a repository's verdicts on disk."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from outweigh.errors import EvidenceError
from outweigh.store.journal import open_journal
from outweigh.store.ledger import (
    Ledger,
    LedgerLine,
    copy_to_store,
    enter_in_ledger,
    mark_store,
    read_ledger,
    read_store_ledger,
)


def line_of(evidence: int, *, promotable: bool = False) -> LedgerLine:
    return LedgerLine(
        entered_at=datetime(2026, 1, 1, tzinfo=UTC),
        suite="suite",
        evidence_sha256=f"{evidence:064x}",
        decision="improved",
        p_value=0.01,
        level=0.001,
        promotable=promotable,
    )


def enter(path: Path, line: LedgerLine) -> None:
    enter_in_ledger(path, (line.evidence_sha256,), lambda _: line)


def entered(path: Path, *lines: LedgerLine) -> Ledger:
    for line in lines:
        enter(path, line)
    return read_ledger(path)


def test_a_ledger_that_does_not_exist_is_empty(tmp_path: Path) -> None:
    found = read_ledger(tmp_path / "ledger.log")

    assert (found.verdicts, found.unpromoted) == (0, 0)


def test_only_verdicts_without_a_promotion_spend_their_level(tmp_path: Path) -> None:
    found = entered(tmp_path / "ledger.log", line_of(1), line_of(2, promotable=True), line_of(3))

    assert (found.verdicts, found.unpromoted) == (3, 2)


def test_the_same_evidence_is_entered_once_and_keeps_its_first_answer(tmp_path: Path) -> None:
    path = tmp_path / "ledger.log"
    entered(path, line_of(1))
    before = path.read_bytes()
    found = entered(path, line_of(1, promotable=True))

    assert path.read_bytes() == before
    assert found.find(f"{1:064x}") == line_of(1)


def test_of_entries_by_two_versions_of_the_hash_the_refusal_counts(tmp_path: Path) -> None:
    found = entered(tmp_path / "ledger.log", line_of(1, promotable=True), line_of(2))

    assert found.find(f"{1:064x}", f"{2:064x}") == line_of(2)
    assert found.find(f"{3:064x}") is None


def test_a_damaged_line_counts_as_a_verdict_without_a_promotion(tmp_path: Path) -> None:
    path = tmp_path / "ledger.log"
    entered(path, line_of(1, promotable=True), line_of(2, promotable=True))
    path.write_bytes(path.read_bytes().replace(b'"promotable":true', b'"promotable":True', 1))

    assert (read_ledger(path).verdicts, read_ledger(path).unpromoted) == (2, 1)


def test_copies_that_were_put_together_hold_every_verdict_once_and_a_refusal_counts(tmp_path: Path) -> None:
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    entered(ours, line_of(1), line_of(2, promotable=True))
    entered(theirs, line_of(1), line_of(2), line_of(3))
    ours.write_bytes(ours.read_bytes() + theirs.read_bytes())

    assert (read_ledger(ours).verdicts, read_ledger(ours).unpromoted) == (3, 3)


def test_a_line_of_another_release_is_refused_with_a_way_out(tmp_path: Path) -> None:
    with open_journal(tmp_path / "ledger.log") as journal:
        journal.append(b'{"schema":"outweigh.ledger/2"}')

    with pytest.raises(EvidenceError, match="Use the release that wrote it"):
        read_ledger(tmp_path / "ledger.log")


def test_a_store_knows_whether_its_verdict_was_to_be_entered_and_what_came_of_it(tmp_path: Path) -> None:
    assert read_store_ledger(tmp_path) is None
    mark_store(tmp_path)
    marked = read_store_ledger(tmp_path)
    copy_to_store(tmp_path, line_of(1))
    copied = read_store_ledger(tmp_path)

    assert marked is not None
    assert copied is not None
    assert (list(marked.lines), list(copied.lines)) == ([], [line_of(1)])
