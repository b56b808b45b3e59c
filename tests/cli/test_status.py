"""`outweigh` alone says where the folder stands, and offers commands that work when they are pasted."""

import os
import shlex
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.stores import write_store

from outweigh.app.folder_status import MOST_RECORD_BYTES
from outweigh.app.starter_suite import write_starter
from outweigh.model.suite import JudgeSpec
from outweigh.store.judging_file import JUDGING_FILE, JudgingFile
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import runs_of_arm


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def a_store(here: Path, *, planned: int = 24, suite: str = "starter", recorded: int = 2) -> Path:
    """Six tasks, two arms, two repeats, of which the new arm passes all and the old one none."""
    (here / "outweigh-runs").mkdir(exist_ok=True)
    runs = [
        run for arm, passes in (("plain", False), ("new", True)) for run in runs_of_arm(arm, [[passes] * recorded] * 6)
    ]
    tasks = {run.trial.task_id: "0" for run in runs} or {f"task-{number}": "0" for number in range(6)}
    folder = here / "outweigh-runs" / suite
    write_store(folder, runs, ("plain", "new"), planned_runs=planned, suite=suite, tasks=tasks)
    return folder


def commands(text: str) -> list[str]:
    return [line.strip() for line in text.splitlines() if line.strip().startswith("outweigh ")]


def test_an_empty_folder_offers_the_demo_a_suite_and_the_check(outweigh: Any, here: Path) -> None:
    answer = outweigh()

    assert answer.code == 0
    assert answer.out.startswith("Nothing has been run in this folder, and it has no suite.")
    assert commands(answer.out) == ["outweigh demo", "outweigh init", "outweigh doctor"]
    assert list(here.iterdir()) == []


def test_a_suite_that_has_not_run_says_its_size(outweigh: Any, here: Path) -> None:
    write_starter(here)

    answer = outweigh()

    assert "Suite  starter: 2 tasks × 2 arms × 5 repeats (plain, candidate)" in answer.out
    assert commands(answer.out) == ["outweigh doctor", "outweigh run"]


def test_a_suite_below_the_folder_is_named(outweigh: Any, here: Path) -> None:
    write_starter(here / "my suite")

    answer = outweigh()

    assert "none here; below this folder in my suite" in answer.out
    assert commands(answer.out)[0] == "outweigh run -c 'my suite'"
    assert outweigh(*shlex.split(commands(answer.out)[0])[1:], "--dry-run").code == 0


def test_a_suite_with_a_mistake_says_what_is_wrong(outweigh: Any, here: Path) -> None:
    write_starter(here)
    written = (here / "suite.toml").read_text(encoding="utf-8")
    (here / "suite.toml").write_text(written.replace("repeats = 5", 'repeats = "five"'), encoding="utf-8")

    answer = outweigh()

    assert answer.code == 0
    assert "suite.toml" in answer.out
    assert "repeats" in answer.out
    assert commands(answer.out) == ["outweigh doctor"]


def test_a_complete_experiment_says_its_decision_in_the_sentence_of_the_verdict(outweigh: Any, here: Path) -> None:
    a_store(here)

    answer = outweigh()

    assert answer.out.startswith("An experiment is complete: 24 trials, each with a result.")
    sentence = "new passes 100 points more often (no interval) for the same per run; plain never passes."
    assert f"Decision inconclusive: {sentence}" in " ".join(answer.out.split())
    assert sentence in " ".join(outweigh("verdict").out.split())
    assert commands(answer.out) == [
        "outweigh verdict outweigh-runs/starter",
        "outweigh report outweigh-runs/starter -o report.html",
    ]
    for command in commands(answer.out):
        assert outweigh(*shlex.split(command)[1:]).code in (0, 1, 3)


def test_missing_trials_are_counted_and_run_next(outweigh: Any, here: Path) -> None:
    write_starter(here)
    a_store(here, planned=36)

    answer = outweigh()

    assert answer.out.startswith("An experiment is incomplete: 24 of 36 trials have a result.")
    assert "run the 12 missing trials" in answer.out
    assert commands(answer.out)[0] == "outweigh run"


def test_the_store_of_another_suite_is_not_taken_for_this_one(outweigh: Any, here: Path) -> None:
    write_starter(here)
    a_store(here, suite="other", planned=36)

    answer = outweigh()

    assert "run starter, which the last store is not about" in answer.out
    assert "missing trial" not in answer.out


def test_runs_without_a_judgment_are_judged_next(outweigh: Any, here: Path) -> None:
    folder = a_store(here)
    judging = JudgingFile(
        schema="outweigh.judging/1", judges=(JudgeSpec(name="reviewer", backend="scripted"),), tasks={}, tell_tales=()
    )
    (folder / JUDGING_FILE).write_bytes(msgspec.json.encode(judging))

    answer = outweigh()

    assert "Judged    0 of 24 runs" in answer.out
    assert "judge 24 runs" in answer.out
    assert commands(answer.out)[0] == "outweigh judge outweigh-runs/starter"


def test_damage_is_said_and_does_not_end_the_command(outweigh: Any, here: Path) -> None:
    records = a_store(here) / "runs-engine.jsonl"
    lines = records.read_bytes().splitlines(keepends=True)
    records.write_bytes(b"".join([lines[0][:40] + b"\n", *lines[1:]]))

    answer = outweigh()

    assert answer.code == 0
    assert "and 1 line cannot be read" in answer.out
    assert commands(answer.out)[0] == "outweigh store show outweigh-runs/starter"


def test_an_experiment_that_cannot_be_read_is_named_and_does_not_end_the_command(outweigh: Any, here: Path) -> None:
    (a_store(here) / "experiment.json").write_text("{", encoding="utf-8")

    answer = outweigh()

    assert answer.code == 0
    assert "experiment.json cannot be read" in " ".join(answer.out.split())


def test_a_store_that_was_begun_and_has_no_result_offers_to_go_on(outweigh: Any, here: Path) -> None:
    write_starter(here)
    a_store(here, recorded=0)

    answer = outweigh()

    assert answer.out.startswith("An experiment is incomplete: 0 of 24 trials have a result.")
    assert commands(answer.out) == ["outweigh run"]


def test_fewer_repeats_than_the_suite_has_are_run_next(outweigh: Any, here: Path) -> None:
    write_starter(here)
    a_store(here)

    answer = outweigh()

    assert "run all 5 repeats of the suite" in answer.out
    assert commands(answer.out)[0] == "outweigh run"


def test_a_running_experiment_is_watched_and_not_started_again(outweigh: Any, here: Path) -> None:
    write_starter(here)
    with FolderRunStore.open(a_store(here, planned=36)):
        answer = outweigh()

    assert answer.out.startswith("An experiment is running: 24 of 36 trials have a result.")
    assert commands(answer.out)[0] == "outweigh view"
    assert "outweigh run" not in commands(answer.out)


def test_records_that_take_long_to_read_are_left_to_other_commands(outweigh: Any, here: Path) -> None:
    os.truncate(a_store(here) / "runs-engine.jsonl", MOST_RECORD_BYTES + 1)

    answer = outweigh()

    assert answer.out.startswith("The last store of this folder is outweigh-runs/starter.")
    assert "too many records to count here" in answer.out
    assert commands(answer.out)[0] == "outweigh verdict outweigh-runs/starter"


def test_older_stores_are_counted(outweigh: Any, here: Path) -> None:
    a_store(here, suite="one")
    a_store(here, suite="two")

    assert "(and 1 older store): 24 of 24 trials" in outweigh().out
