"""`outweigh` alone says where the folder stands, and offers commands that work when they are pasted."""

import os
import shlex
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.stores import write_store
from tests.engine.engine_fixtures import shell, write_suite

from outweigh.app.folder_status import MOST_RECORD_BYTES
from outweigh.app.starter_suite import write_starter
from outweigh.app.suite_selection import read_suite
from outweigh.model.suite import JudgeSpec, settings_fingerprint
from outweigh.store.arm_versions import ArmVersion
from outweigh.store.experiment_file import read_experiment
from outweigh.store.judging_file import JUDGING_FILE, JudgingFile
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.builders import a_judgment, runs_of_arm


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
    arms = dict.fromkeys(("plain", "new"), "0")
    words: dict[str, Any] = {"planned_runs": planned, "suite": suite, "tasks": tasks}
    if (here / "suite.toml").exists():
        loaded = read_suite(str(here))
        arms = {name: arm.fingerprint for name, arm in loaded.arms.items()}
        words["tasks"] = {task.id: task.checksum for task in loaded.tasks}
        words["settings"] = settings_fingerprint(loaded.spec)
    write_store(folder, runs, arms, **words)
    return folder


def a_suite(here: Path, *, new: str = "echo 42 >answer.txt", **settings: Any) -> None:
    """The suite that `a_store` is about."""
    for name in ("suite.toml", *(f"task-{number}" for number in range(1, 8))):
        place = here / name
        shutil.rmtree(place) if place.is_dir() else place.unlink(missing_ok=True)
    known: dict[str, Any] = {"name": "starter", "tasks": 6, "repeats": 2, "seed": 1}
    arms = {"plain": shell(":"), "new": shell(new)}
    write_suite(here, arms, **{**known, **settings})


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
    a_suite(here)
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


def test_failed_judgments_are_asked_for_again(outweigh: Any, here: Path) -> None:
    folder = a_store(here)
    judging = JudgingFile(
        schema="outweigh.judging/1", judges=(JudgeSpec(name="reviewer", backend="scripted"),), tasks={}, tell_tales=()
    )
    (folder / JUDGING_FILE).write_bytes(msgspec.json.encode(judging))
    with FolderRunStore.open(folder) as store:
        run = next(iter(store.finished().values()))[0]
        store.append_judgment(a_judgment(run, invalid_reason="crash: exit code 3", criteria=()))

    assert commands(outweigh().out)[0] == "outweigh judge outweigh-runs/starter --retry-invalid"


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
    a_suite(here)
    a_store(here, recorded=0)

    answer = outweigh()

    assert answer.out.startswith("An experiment is incomplete: 0 of 24 trials have a result.")
    assert commands(answer.out) == ["outweigh run"]


def test_fewer_repeats_than_the_suite_has_are_run_next(outweigh: Any, here: Path) -> None:
    a_suite(here, repeats=5)
    a_store(here)

    answer = outweigh()

    assert "run all 5 repeats of the suite" in answer.out
    assert commands(answer.out)[0] == "outweigh run"


def test_a_running_experiment_is_watched_and_not_started_again(outweigh: Any, here: Path) -> None:
    a_suite(here)
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


class TestChanges:
    """The suite was edited after its last run."""

    def test_an_unchanged_suite_is_complete(self, outweigh: Any, here: Path) -> None:
        a_suite(here)
        a_store(here)

        answer = outweigh()

        assert answer.out.startswith("An experiment is complete")
        assert "Changed" not in answer.out

    def test_an_edited_candidate_is_named_and_run_next(self, outweigh: Any, here: Path) -> None:
        a_suite(here)
        a_store(here)
        a_suite(here, new="echo 43 >answer.txt")

        answer = outweigh()

        assert answer.out.startswith("The suite has changed since the last run.")
        assert "new has changed since it was run." in answer.out
        assert "run the new version beside the old; the baseline's runs are reused" in answer.out
        assert commands(answer.out)[0] == "outweigh run"
        assert "reused: 12 of 24 runs" in outweigh("run", "--dry-run").out

    def test_a_store_elsewhere_is_named_in_the_command(self, outweigh: Any, here: Path) -> None:
        a_suite(here)
        a_store(here).rename(here / "elsewhere")
        a_suite(here, new="echo 43 >answer.txt")

        assert commands(outweigh().out)[0] == "outweigh run -o elsewhere"

    def test_an_edited_task_says_why_it_is_refused_and_shows_the_command_that_works(
        self, outweigh: Any, here: Path
    ) -> None:
        a_suite(here)
        a_store(here)
        (here / "outweigh-runs" / "starter-2").mkdir()
        (here / "task-3" / "instruction.md").write_text("Write 43 to answer.txt.\n", encoding="utf-8")

        answer = outweigh()

        assert answer.code == 0
        assert "tasks differ (changed since they were run there: 'task-3')" in " ".join(answer.out.split())
        command = commands(answer.out)[0]
        assert command == "outweigh run -o outweigh-runs/starter-3 --reuse outweigh-runs/starter"
        assert outweigh("run", "--dry-run").code == 2
        assert outweigh(*shlex.split(command)[1:], "--dry-run").code == 0

    def test_an_edited_baseline_is_refused_in_the_same_words_as_by_run(self, outweigh: Any, here: Path) -> None:
        a_suite(here)
        a_store(here)
        written = (here / "suite.toml").read_text(encoding="utf-8")
        (here / "suite.toml").write_text(written.replace('":"', '"true"'), encoding="utf-8")

        assert "the baseline 'plain' has changed" in " ".join(outweigh().out.split())
        assert "the baseline 'plain' has changed" in " ".join(outweigh("run", "--dry-run").err.split())

    @pytest.mark.parametrize(
        ("rule", "words"),
        [
            ({"policy": {"name": "gates"}}, "policy is not what the store was begun with."),
            ({"profile": "even"}, "profile is not what the store was begun with."),
        ],
    )
    def test_changed_rules_are_named_and_the_command_runs_them_elsewhere(
        self, outweigh: Any, here: Path, rule: dict[str, Any], words: str
    ) -> None:
        a_suite(here)
        a_store(here)
        a_suite(here, **rule)

        answer = outweigh()

        assert answer.out.startswith("The suite has changed since the last run.")
        assert words in " ".join(answer.out.split())
        command = commands(answer.out)[0]
        assert command == "outweigh run -o outweigh-runs/starter-2 --reuse outweigh-runs/starter"
        assert outweigh(*shlex.split(command)[1:], "--dry-run").code == 0

    def test_a_new_task_is_named(self, outweigh: Any, here: Path) -> None:
        a_suite(here)
        a_store(here)
        a_suite(here, tasks=7)

        answer = outweigh()

        assert "task-7 has not been run yet." in answer.out
        assert commands(answer.out)[0] == "outweigh run"

    def test_a_candidate_that_is_back_at_an_earlier_version_is_said(self, outweigh: Any, here: Path) -> None:
        a_suite(here)
        folder = a_store(here)
        experiment = read_experiment(folder)
        assert experiment is not None
        later = ArmVersion(arm="new", number=2, begun_at=datetime(2026, 1, 1, tzinfo=UTC))
        edited = msgspec.structs.replace(
            experiment,
            arms={**experiment.arms, "new@2": "2"},
            current={"plain": "plain", "new": "new@2"},
            versions={"new@2": later},
        )
        (folder / "experiment.json").write_bytes(msgspec.json.encode(edited))

        assert "The suite is back at new, which has been run." in outweigh().out

    def test_a_task_that_cannot_be_read_does_not_end_the_command(self, outweigh: Any, here: Path) -> None:
        a_suite(here)
        a_store(here)
        (here / "task-3" / "task.toml").write_text("=", encoding="utf-8")

        answer = outweigh()

        assert answer.code == 0
        assert "task-3" in answer.out
        assert commands(answer.out)[0] == "outweigh doctor"

    def test_a_running_experiment_is_not_started_again_for_an_edit(self, outweigh: Any, here: Path) -> None:
        a_suite(here)
        with FolderRunStore.open(a_store(here)):
            a_suite(here, new="echo 43 >answer.txt")
            answer = outweigh()

        assert commands(answer.out)[0] == "outweigh view"
        assert "new has changed since it was run." in answer.out
