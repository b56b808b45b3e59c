"""`outweigh history`: a suite over time."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.cli.two_sides import Project

from outweigh.cli.main import main

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "history"


def history(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    capsys.readouterr()
    assert main(["history", *words, "--format", "json"]) == 0
    found: dict[str, Any] = json.loads(capsys.readouterr().out)
    return found


def test_points_are_in_order_with_intervals_and_what_changed(capsys: pytest.CaptureFixture[str]) -> None:
    (arm,) = history(capsys, str(EXAMPLE))["arms"]

    assert [point["began_at"][:7] for point in arm["points"]] == ["2026-05", "2026-06", "2026-07", "2026-08"]
    changes = [point["change"] for point in arm["points"][1:]]
    assert [change["causes"] for change in changes] == [[], ["model"], []]
    assert [change["drift"] for change in changes] == [True, False, True]
    assert [(change["edited"], change["added"], change["shared_tasks"]) for change in changes] == [
        (["sort-entries"], [], 3),
        ([], [], 4),
        ([], ["rename-key"], 4),
    ]


def test_an_interval_of_a_change_ends_where_no_change_can_be_larger(capsys: pytest.CaptureFixture[str]) -> None:
    """In July, on four shared tasks, Student's interval would reach down to -109 points."""
    (arm,) = history(capsys, str(EXAMPLE))["arms"]

    intervals = [point["change"]["delta"]["interval"] for point in arm["points"][1:]]
    assert [round(interval["low"], 2) for interval in intervals] == [-0.59, -1.0, -0.18]
    assert [round(interval["high"], 2) for interval in intervals] == [0.37, 0.75, 0.35]


def test_only_the_task_that_broke_is_said_to_have_flipped(capsys: pytest.CaptureFixture[str]) -> None:
    (arm,) = history(capsys, str(EXAMPLE))["arms"]

    assert [(flip["task"], Path(flip["store"]).name) for flip in arm["flips"]] == [("fix-parser", "2026-07.jsonl")]
    assert arm["unstable"] == ["port-to-async"]


def test_a_copy_of_a_store_is_no_second_measurement(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    copy = tmp_path / "copy.jsonl"
    copy.write_bytes((EXAMPLE / "2026-05.jsonl").read_bytes())

    (arm,) = history(capsys, str(EXAMPLE), str(copy))["arms"]

    assert len(arm["points"]) == 4


def test_unknown_costs_stay_unknown(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    file = tmp_path / "may.jsonl"
    lines = (
        (EXAMPLE / "2026-05.jsonl")
        .read_text()
        .replace('"usd":0.060159,"provenance":"reported"', '"usd":null,"provenance":"unknown"', 1)
    )
    file.write_text(lines)

    (arm,) = history(capsys, str(file))["arms"]

    assert arm["points"][0]["cost_usd"]["value"] is None
    assert arm["points"][0]["unknown_costs"] == 1


def test_pages_and_tables_are_written(tmp_path: Path) -> None:
    page, table = tmp_path / "history.html", tmp_path / "history.csv"

    assert main(["history", str(EXAMPLE), "-o", str(page), "-o", str(table)]) == 0

    assert "flipped at 2026-07-03" in page.read_text()
    assert len(table.read_text().splitlines()) == 5


def test_a_folder_without_stores_is_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["history", str(tmp_path)]) == 2
    assert "holds no store" in capsys.readouterr().err


def test_a_ci_job_feeds_the_history_and_replaces_the_copy_of_the_same_head(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("GITHUB_ACTIONS", "GITLAB_CI", "GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY"):
        monkeypatch.delenv(name, raising=False)
    project, kept = Project(tmp_path), tmp_path / "history"
    commit = project.branch("better", {"CLAUDE.md": "The answer is 42.\n"})

    for _ in range(2):
        main(["ci", *project.sides("better"), "--history", str(kept)])

    assert [folder.name for folder in kept.iterdir()] == [f"suite-{commit[:10]}"]
    arms = {arm["arm"]: arm["points"] for arm in history(capsys, str(kept))["arms"]}
    assert {arm: points[0]["pass_rate"]["value"] for arm, points in arms.items()} == {"base": 0.0, "head": 1.0}
    assert arms["head"][0]["commit"] == commit
