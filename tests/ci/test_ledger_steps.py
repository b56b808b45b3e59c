"""How the action carries the ledger of verdicts from job to job."""

import json
import os
import subprocess
from datetime import UTC, datetime
from pathlib import Path
from zipfile import ZipFile

import msgspec
import pytest

from outweigh.store.ledger import LedgerLine, enter_in_ledger, read_ledger

ACTION = Path(__file__).resolve().parents[2] / "action.yml"
# Answers as GitHub's own tool does: the list of artifacts, filtered by what `--jq` asks for, and their content.
GH = """#!/usr/bin/env python3
import json, sys
from pathlib import Path
place = Path(__file__).parent / "artifacts"
if not place.exists():
    sys.exit("gh: Resource not accessible by integration (HTTP 403)")
if sys.argv[-1].endswith("/zip"):
    sys.stdout.buffer.write((place / sys.argv[-1].split("/")[-2]).with_suffix(".zip").read_bytes())
    sys.exit()
assert "head_repository_id == .workflow_run.repository_id" in sys.argv[-1] and ".expired | not" in sys.argv[-1]
assert f"name={json.loads((place / 'name').read_text())}" in sys.argv
for file in sorted(place.glob("*.zip")):
    print(file.stem)
"""


def line_of(number: int) -> LedgerLine:
    return LedgerLine(
        entered_at=datetime(2026, 1, 1, tzinfo=UTC),
        suite="suite",
        evidence_sha256=f"{number:064x}",
        decision="neutral",
        p_value=None,
        level=0.001,
        promotable=False,
    )


class Runner:
    """One job's machine: where the step leaves the ledger, and what the forge has."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ledger = folder / "outweigh-ledger" / "ledger.log"
        (folder / "gh").write_text(GH)
        (folder / "gh").chmod(0o755)

    def uploaded(self, *jobs: tuple[int, ...]) -> None:
        """What earlier jobs uploaded: the verdicts by number."""
        place = self.folder / "artifacts"
        place.mkdir()
        (place / "name").write_text(json.dumps("outweigh-ledger"))
        for job, numbers in enumerate(jobs):
            log = self.folder / f"ledger-{job}.log"
            for number in numbers:
                self._enter(log, line_of(number))
            with ZipFile(place / f"{job}.zip", "w") as archive:
                archive.write(log, "ledger.log")

    def fetch(self) -> subprocess.CompletedProcess[str]:
        """Run the step that fetches the ledger."""
        steps = msgspec.yaml.decode(ACTION.read_bytes())["runs"]["steps"]
        (script,) = (step["run"] for step in steps if step["name"] == "Fetch the ledger of verdicts")
        return subprocess.run(
            ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", script],
            env={
                "PATH": f"{self.folder}:{os.environ['PATH']}",
                "RUNNER_TEMP": str(self.folder),
                "GITHUB_REPOSITORY": "team/project",
                "GH_TOKEN": "token",
                "NAME": "outweigh-ledger",
            },
            capture_output=True,
            text=True,
            check=False,
        )

    @staticmethod
    def _enter(log: Path, line: LedgerLine) -> None:
        enter_in_ledger(log, (line.evidence_sha256,), lambda _: line)


@pytest.fixture
def runner(tmp_path: Path) -> Runner:
    return Runner(tmp_path)


def test_the_ledgers_of_jobs_that_ran_at_the_same_time_are_put_together(runner: Runner) -> None:
    runner.uploaded((1, 2), (1, 3), (4,))

    assert runner.fetch().returncode == 0
    found = read_ledger(runner.ledger)
    assert {line.evidence_sha256 for line in found.lines} == {line_of(number).evidence_sha256 for number in range(1, 5)}
    assert found.damaged == 0


def test_the_first_job_of_a_repository_finds_no_ledger(runner: Runner) -> None:
    runner.uploaded()

    assert runner.fetch().returncode == 0
    assert not runner.ledger.exists()


def test_a_job_without_the_right_to_read_says_so(runner: Runner) -> None:
    done = runner.fetch()

    assert done.returncode == 1
    assert "::warning title=outweigh::the ledger of verdicts could not be fetched" in done.stdout
    assert not runner.ledger.exists()
