"""Rows of aider's leaderboards stay what they are: sums over many runs."""

from pathlib import Path

import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.aider_leaderboard import AiderLeaderboardImporter
from outweigh.testing.importer_contract import ImporterContract, read_all

ROW = """\
- dirname: 2025-01-01--one
  test_cases: 225
  model: One
  pass_rate_1: 20.4
  pass_rate_2: 35.6
  pass_num_1: 46
  pass_num_2: 80
  total_tests: 225
  date: 2025-02-25
  total_cost: 0 # incorrect: 6.3174
"""


def written(folder: Path, text: str = ROW) -> Path:
    path = folder / "board.yml"
    path.write_text(text)
    return path


class TestAiderLeaderboard(ImporterContract):
    def importer(self) -> AiderLeaderboardImporter:
        return AiderLeaderboardImporter()

    def example(self, folder: Path) -> Path:
        return written(folder)


def test_a_row_is_an_aggregate_and_a_cost_of_nothing_unknown(tmp_path: Path) -> None:
    found, notes = read_all(AiderLeaderboardImporter(), written(tmp_path))

    assert not found
    (row,) = notes.aggregates
    assert (row["pass_num_2"], row["pass_rate_2"], row["date"], row["total_cost"]) == (80, 35.6, "2025-02-25", None)
    assert not notes.warnings


def test_a_rate_of_another_denominator_is_named(tmp_path: Path) -> None:
    uneven = ROW.replace("test_cases: 225", "test_cases: 220")

    _, notes = read_all(AiderLeaderboardImporter(), written(tmp_path, uneven))

    assert "1 of 1 rows" in next(iter(notes.warnings))


@pytest.mark.parametrize("text", ["- dirname: [\n", "dirname: x\n"])
def test_what_is_no_list_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(EvidenceError):
        read_all(AiderLeaderboardImporter(), written(tmp_path, text))
