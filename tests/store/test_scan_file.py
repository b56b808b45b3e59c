"""`scan.json`: what is written is read again, and what cannot be read is as if it were not there."""

from pathlib import Path

import pytest

from outweigh.model.scan_result import CheatFinding, RunScan, ScanFile, Severity
from outweigh.store.scan_file import SCAN_FILE, read_scan, write_scan

FINDING = CheatFinding(
    rule="hard-exit", title="ended", severity=Severity.HIGH, times=2, place="a.py:3", excerpt="os._exit(0)"
)
FOUND = RunScan(run_id="fix/new/1", attempt=1, looked_at=("diff",), complete=True, findings=(FINDING,))
CLEAN = RunScan(run_id="fix/old/1", attempt=2, looked_at=("diff", "transcript"), complete=False, findings=())


@pytest.mark.parametrize("runs", [(), (FOUND,), (FOUND, CLEAN)])
def test_what_is_written_is_read_again(tmp_path: Path, runs: tuple[RunScan, ...]) -> None:
    scan = ScanFile(rules_sha256="0" * 64, runs=runs)

    write_scan(tmp_path, scan)

    assert read_scan(tmp_path) == scan


def test_a_run_is_a_line(tmp_path: Path) -> None:
    write_scan(tmp_path, ScanFile(rules_sha256="0" * 64, runs=(FOUND, CLEAN)))

    assert len((tmp_path / SCAN_FILE).read_text().splitlines()) == 3


@pytest.mark.parametrize("content", [b"", b"[]", b"\xff", b'{"schema":"outweigh.scan/2"}', b"[" * 100_000])
def test_what_cannot_be_read_is_as_if_it_were_not_there(tmp_path: Path, content: bytes) -> None:
    (tmp_path / SCAN_FILE).write_bytes(content)

    assert read_scan(tmp_path) is None


def test_a_run_is_found_by_its_id_and_attempt() -> None:
    assert ScanFile(rules_sha256="0" * 64, runs=(FOUND, CLEAN)).by_run() == {
        ("fix/new/1", 1): FOUND,
        ("fix/old/1", 2): CLEAN,
    }


def test_plain_facts_make_no_run_suspicious() -> None:
    fact = CheatFinding(rule="x", title="x", severity=Severity.LOW, times=1, place="p", excerpt="")
    only_facts = RunScan(run_id="r", attempt=1, looked_at=("diff",), complete=True, findings=(fact,))

    assert not only_facts.is_suspicious
    assert FOUND.is_suspicious
