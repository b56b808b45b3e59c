"""The histories of public projects have the candidates that were read by hand."""

from pathlib import Path

import pytest
from tests.mining.mined_repository import reasons
from tests.repositories import Repository

from outweigh.mining.candidate import HistoryScan, RejectionReason
from outweigh.mining.change_rules import HistorySettings
from outweigh.mining.history import scan_history
from outweigh.mining.repository import open_history

BUNDLES = Path(__file__).parents[3] / "shared/data/git_histories"
pytestmark = pytest.mark.skipif(not BUNDLES.is_dir(), reason="the histories are not on this machine")


def scanned(name: str, folder: Path) -> HistoryScan:
    repository = Repository(folder)
    repository.git("fetch", "--quiet", str(BUNDLES / f"{name}.bundle"), "HEAD:refs/heads/history")
    with open_history(folder, "history") as history:
        return scan_history(history, HistorySettings())


def full(scan: HistoryScan, short: str) -> str:
    (name,) = (each for each in reasons(scan) if each.startswith(short))
    return name


def test_a_linear_history_of_squash_merges(tmp_path: Path) -> None:
    scan = scanned("stamina", tmp_path / "stamina")

    assert (scan.commits, scan.not_looked_at) == (392, 0)
    assert len(scan.candidates) == 34
    assert {"b09d541fdf", "9878add048", "e0a3d7289d"} <= {each.short for each in scan.candidates}
    assert reasons(scan)[full(scan, "87ccfa4")] is RejectionReason.FORMATTING
    assert reasons(scan)[full(scan, "62c6fc2")] is RejectionReason.DEPENDENCIES
    assert reasons(scan)[full(scan, "d5884da")] is RejectionReason.RELEASE


def test_a_history_of_merged_pull_requests(tmp_path: Path) -> None:
    scan = scanned("prettytable", tmp_path / "prettytable")

    assert len(scan.candidates) == 77
    assert {"c801ad0af2", "2b96eb5d25", "66c884ffed"} <= {each.short for each in scan.candidates}
    assert reasons(scan)[full(scan, "460f1dd094")] is RejectionReason.REVERT
    assert reasons(scan)[full(scan, "9e7b657f96")] is RejectionReason.BACK_MERGE


def test_a_history_with_release_branches_and_three_runners(tmp_path: Path) -> None:
    scan = scanned("commander.js", tmp_path / "commander")

    assert len(scan.candidates) == 180
    assert {"a604a5d3f1", "e717283cd3", "f6302de32c", "e4abf050c5"} <= {each.short for each in scan.candidates}
    for short, reason in {
        "9aad0d01ba": RejectionReason.REVERT,
        "5b396ab34a": RejectionReason.REVERTED,
        "f570b089a7": RejectionReason.BACK_MERGE,
        "1bdc749ac0": RejectionReason.FORMATTING,
        "b855083a91": RejectionReason.DEPENDENCIES,
        "373f660f6f": RejectionReason.TESTS_DELETED,
        "994d24ddad": RejectionReason.UNSUPPORTED_FILES,
        "b51c0ea3d0": RejectionReason.BACK_MERGE,
    }.items():
        assert reasons(scan)[full(scan, short)] is reason, short
