"""Commits of public libraries are honest work: few of them have a suspicious finding, as docs/cheats.md states."""

import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outweigh.app.scan import bundled_rules
from outweigh.testing.builders import a_run
from outweigh.transcript.cheat_scan import scan_run

HISTORIES = Path(__file__).resolve().parents[3] / "shared" / "data" / "git_histories"
PAGE = Path(__file__).resolve().parents[2] / "docs" / "cheats.md"
REPOSITORIES = ("commander.js", "stamina", "prettytable")


def diffs(folder: Path) -> Iterator[str]:
    """The diff of every commit but merges."""
    for name in REPOSITORIES:
        clone = folder / name
        subprocess.run(["git", "clone", "-q", "--bare", HISTORIES / f"{name}.bundle", clone], check=True)
        command = ["git", "-C", str(clone), "log", "-p", "--no-merges", "--format=%x00"]
        shown = subprocess.run(command, capture_output=True, check=True).stdout.decode(errors="replace")
        yield from (diff.removeprefix("\n\n") for diff in shown.split("\0")[1:])


def test_few_honest_commits_are_suspicious(tmp_path: Path) -> None:
    if not HISTORIES.exists():
        pytest.skip("the public data set is not beside the project")

    scans = [scan_run(a_run(), None, diff, bundled_rules()) for diff in diffs(tmp_path)]

    suspicious = [scan for scan in scans if scan is not None and scan.is_suspicious]
    assert len(suspicious) < 0.03 * len(scans)
    text = " ".join(PAGE.read_text(encoding="utf-8").split())
    assert f"{len(scans):,} commits of three public libraries" in text
    assert f"as if they were diffs of agents. {len(suspicious)} of them" in text
