"""aider's published leaderboards: 91 of the 100 rows that state counts state the pass rate of these counts."""

from pathlib import Path

import pytest

from outweigh.interop.aider_leaderboard import AiderLeaderboardImporter, is_consistent
from outweigh.testing.importer_contract import read_all

CONTRADICTING = {
    "deepseek-down.yml": {"2025-01-28-19-25-32--or-v3-deepinfra-diff", "2025-01-29-00-36-49--v3-hyperolic-diff"},
    "o1_polyglot_leaderboard.yml": {"2024-12-21-19-23-03--polyglot-o1-hard-diff"},
    "polyglot_leaderboard.yml": {
        "2024-12-21-19-23-03--polyglot-o1-hard-diff",
        "2025-01-31-20-42-47--o3-mini-diff-high",
        "2025-02-15-19-51-22--chatgpt4o-feb15-diff",
        "2025-02-27-20-26-15--gpt45-diff3",
        "2025-06-27-23-53-57--o3-mini-high-diff-arch",
    },
    "r1_architect.yml": {"2024-12-21-19-23-03--polyglot-o1-hard-diff"},
}
"""Rows by their `dirname`. Each ran fewer cases than the benchmark has, and states its share of all 225."""


def test_91_of_100_rows_match_their_own_counts_and_nine_have_another_denominator(aider_leaderboards: Path) -> None:
    counted = 0
    found: dict[str, set[str]] = {}
    for path in sorted(aider_leaderboards.glob("*.yml")):
        records, notes = read_all(AiderLeaderboardImporter(), path)
        assert not records
        assert not notes.unreadable
        rows = [row for row in notes.aggregates if row["pass_num_2"] is not None]
        counted += len(rows)
        odd = [row for row in rows if not is_consistent(row)]
        for row in odd:
            assert row["test_cases"] < row["total_tests"] == 225
            # 139 of 225 are 61.78 per cent; its author wrote 61.7.
            assert 100 * row["pass_num_2"] / row["total_tests"] == pytest.approx(row["pass_rate_2"], abs=0.1)
        if odd:
            found[path.name] = {row["dirname"] for row in odd}

    assert counted == 100
    assert sum(map(len, found.values())) == 9
    assert found == CONTRADICTING


def test_what_contradicts_are_rates_of_the_second_try_alone(aider_leaderboards: Path) -> None:
    """Of the same nine rows, as of all 100, the rate of the first try is of the cases that were run."""
    rows = [
        row
        for path in aider_leaderboards.glob("*.yml")
        for row in read_all(AiderLeaderboardImporter(), path)[1].aggregates
        if row["pass_num_1"] is not None
    ]

    assert len(rows) == 100
    for row in rows:
        assert 100 * row["pass_num_1"] / row["test_cases"] == pytest.approx(row["pass_rate_1"], abs=0.0501)


def test_324_rows_are_published_of_which_224_state_no_counts(aider_leaderboards: Path) -> None:
    sizes = {}
    for path in aider_leaderboards.glob("*.yml"):
        rows = read_all(AiderLeaderboardImporter(), path)[1].aggregates
        sizes[path.name] = (len(rows), sum(row["pass_num_2"] is not None for row in rows))

    assert sizes == {
        "architect.yml": (20, 0),
        "code-in-json.yml": (44, 0),
        "deepseek-down.yml": (5, 5),
        "edit_leaderboard.yml": (98, 1),
        "o1_polyglot_leaderboard.yml": (10, 10),
        "o1_results.yml": (8, 0),
        "polyglot_leaderboard.yml": (69, 69),
        "quant.yml": (14, 0),
        "qwen3_leaderboard.yml": (10, 10),
        "qwq.yml": (7, 0),
        "r1_architect.yml": (5, 5),
        "refactor_leaderboard.yml": (14, 0),
        "sonnet-fine.yml": (20, 0),
    }


def test_the_polyglot_leaderboard_has_69_rows_and_is_recognised(aider_leaderboards: Path) -> None:
    path = aider_leaderboards / "polyglot_leaderboard.yml"

    _, notes = read_all(AiderLeaderboardImporter(), path)

    assert AiderLeaderboardImporter().recognises(path)
    assert len(notes.aggregates) == 69
    assert notes.aggregates[0]["pass_rate_2"] == 35.6
