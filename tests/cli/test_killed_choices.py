"""kill -9 at 100 moments of a run with inheritance: the same choices, no trial twice, no run before its choice."""

import json
import os
import subprocess
import sys
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import records
from tests.cli.test_run_inheriting import inheriting, scripted
from tests.engine.engine_fixtures import write_suite

from outweigh.model.choice import ChoiceRecord
from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.store.choice_file import read_choices

KILLS = 100
ARMS = {
    "base": scripted(0, False),
    "one-a": scripted(1, True, 900),
    "one-b": scripted(1, True, 50),
    "inheriting-2": inheriting(2, 0, 1),
    "inheriting-3": inheriting(3, 2),
}
PLANNED = {"base": 6, "one-a": 4, "one-b": 4, "inheriting-2": 4, "inheriting-3": 2}


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory) -> list[dict[str, Any]]:
    """What was seen in stores whose engines were killed; the last one of each ended by itself."""
    folder = tmp_path_factory.mktemp("killed")
    (folder / "tmp").mkdir()
    suite = write_suite(folder / "suite", ARMS, tasks=2, repeats=1)
    command = [sys.executable, "-m", "tests.cli.killed_engines", str(suite), str(folder), str(KILLS), "1"]
    path = os.pathsep.join(path for path in sys.path if path)
    clean = {"PATH": os.environ["PATH"], "TMPDIR": str(folder / "tmp"), "PYTHONPATH": path}
    made = subprocess.run(command, env=clean, capture_output=True, text=True, check=True)
    return [json.loads(line) for line in made.stdout.splitlines()]


def without_time(choice: ChoiceRecord) -> tuple[object, ...]:
    """What every run of the suite must choose; hashes of records and the number of lines differ from run to run."""
    figures = [(each.arm, each.runs, each.value, each.is_close, each.tokens) for each in choice.candidates]
    return choice.arm, choice.chosen, choice.fingerprint, choice.reason, figures


def test_engines_were_killed_at_as_many_moments_as_asked(killed: list[dict[str, Any]]) -> None:
    assert sum(len(seen["moments"]) for seen in killed) == KILLS
    assert len({moment for seen in killed for moment in seen["moments"]}) > KILLS / 4, "not always at the same one"


def test_every_run_comes_to_its_end(killed: list[dict[str, Any]]) -> None:
    assert {seen["code"] for seen in killed} == {0}


def test_all_of_them_made_the_same_choices(killed: list[dict[str, Any]]) -> None:
    found = [[without_time(choice) for choice in read_choices(Path(seen["store"]))] for seen in killed]
    assert [choice[:2] for choice in found[0]] == [("inheriting-2", "one-b"), ("inheriting-3", "inheriting-2")]
    assert all(each == found[0] for each in found)


def test_no_choice_was_ever_changed(killed: list[dict[str, Any]]) -> None:
    assert [seen["rewritten"] for seen in killed] == [0] * len(killed)


def test_no_inheriting_run_began_before_its_choice_was_on_the_disk(killed: list[dict[str, Any]]) -> None:
    assert [seen["runs_before_choice"] for seen in killed] == [[]] * len(killed)


def test_every_trial_has_one_result(killed: list[dict[str, Any]]) -> None:
    for seen in killed:
        counted = [run for run in records(Path(seen["store"])) if run.status not in EXCLUDED_STATUSES]
        assert len({run.trial.key for run in counted}) == len(counted)
        assert Counter(run.trial.arm for run in counted) == PLANNED
