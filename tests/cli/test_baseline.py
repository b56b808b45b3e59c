"""Baselines that are paid for once: pinned, reused, and checked for drift before they are trusted."""

import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.engines import records
from tests.cli.two_sides import Project, agent

from outweigh.cli.main import main
from outweigh.model.run_record import REUSED_LABEL, RunRecord
from outweigh.store.experiment_file import read_experiment
from outweigh.store.pins import find_pins, read_check, read_checks, read_pin
from outweigh.store.run_store import FolderRunStore

COSTS = 'echo \'{"cost_usd": 0.5, "version": "1.0"}\' >"$OUTWEIGH_USAGE"; '
SOLVES = {"CLAUDE.md": "The answer is 42.\n"}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path, agent(COSTS + "echo 42 >answer.txt"), tasks=4)
    made.branch("better", SOLVES)
    return made


@pytest.fixture
def pinned(project: Project, tmp_path: Path) -> Path:
    """A pin of the base's runs."""
    assert main(["run", "-c", str(project.suite), "--base", "main", "-o", str(tmp_path / "first"), "-y"]) == 0
    assert main(["baseline", "pin", str(tmp_path / "first"), "-o", str(tmp_path / "pins"), "--name", "first"]) == 0
    return tmp_path / "pins" / "first"


def reused(store: Path) -> list[RunRecord]:
    return [run for run in records(store) if REUSED_LABEL in run.extra]


def aged(pin: Path, days: float, change: Callable[[RunRecord], RunRecord] = lambda run: run) -> None:
    """The same pin, made longer ago."""
    log = pin / "runs-pinned.jsonl"
    old = records(pin)
    log.unlink()
    moment = datetime.now(UTC) - timedelta(days=days)
    with FolderRunStore.open(pin, writer="pinned") as store:
        for run in old:
            store.append(change(msgspec.structs.replace(run, started_at=moment)))


def repeated(pin: Path, repeats: int, change: Callable[[RunRecord], RunRecord]) -> None:
    """The same pin with so many runs of every task.

    Its hash breaks ties in the evidence for drift and depends on the clock, so that it is fixed here.
    """
    fixed = msgspec.structs.replace(read_pin(pin), evidence_sha256="0" * 64)
    (pin / "pin.json").write_bytes(msgspec.json.encode(fixed))
    old = records(pin)
    (pin / "runs-pinned.jsonl").unlink()
    with FolderRunStore.open(pin, writer="pinned") as store:
        for run in old:
            for repeat in range(repeats):
                trial = msgspec.structs.replace(run.trial, repeat=repeat)
                store.append(change(msgspec.structs.replace(run, trial=trial, run_id=f"{run.run_id}-{repeat}")))


class TestReuse:
    def test_an_unchanged_baseline_is_not_paid_for_twice(
        self, project: Project, pinned: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert main(["run", *project.sides("better", "--reuse", str(pinned.parent))]) == 0

        said = capsys.readouterr().err
        assert {run.trial.arm for run in reused(project.store)} == {"base"}
        assert len(reused(project.store)) == 4
        assert len(records(project.store)) == 8
        assert "4 of 4 runs of base are reused" in said
        assert "$2.00 spent" in said

    def test_a_reused_run_says_whose_copy_it_is_and_brings_its_artifacts(self, project: Project, pinned: Path) -> None:
        main(["run", *project.sides("better", "--reuse", str(pinned))])

        (original, *_) = records(pinned)
        copies = {run.extra[REUSED_LABEL]["run_id"]: run for run in reused(project.store)}
        with FolderRunStore.open(project.store) as store:
            assert b"answer.txt" in store.artifact(copies[original.run_id].artifacts["diff.patch"])
        assert copies[original.run_id].started_at == original.started_at

    def test_every_reader_is_told_that_runs_were_reused(
        self, project: Project, pinned: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        aged(pinned, 3.0)
        main(["run", *project.sides("better", "--reuse", str(pinned))])
        capsys.readouterr()
        main(["verdict", str(project.store), "--format", "json"])

        (note,) = json.loads(capsys.readouterr().out)["setup"]["notes"]
        assert "4 runs of base are reused from an earlier experiment, the oldest 3.0 days old" in note

    def test_a_single_run_of_a_task_that_is_too_old_is_made_again(self, project: Project, pinned: Path) -> None:
        aged(pinned, 8.0)
        main(["run", *project.sides("better", "--reuse", str(pinned))])

        assert reused(project.store) == []
        assert len(records(project.store)) == 8

    def test_the_age_limit_can_be_set(self, project: Project, pinned: Path) -> None:
        aged(pinned, 8.0)
        main(["run", *project.sides("better", "--reuse", str(pinned), "--reuse-days", "9")])

        assert len(reused(project.store)) == 4

    def test_the_suite_sets_the_age_limit_and_the_store_keeps_it(self, tmp_path: Path) -> None:
        project = Project(tmp_path, agent(COSTS + "echo 42 >answer.txt"), tasks=2, reuse_max_age="36h")
        project.branch("better", SOLVES)
        main(["run", *project.sides("better")])

        experiment = read_experiment(project.store)
        assert experiment is not None
        assert experiment.reuse_max_age == "36h"

    def test_a_limit_that_changes_once_results_are_in_is_refused(
        self, project: Project, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["run", *project.sides("better")])

        assert main(["run", *project.sides("better", "--reuse-days", "30")]) == 2
        assert "was begun under other rules: reuse_max_age differ" in capsys.readouterr().err

    def test_a_limit_in_other_words_is_refused(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        project = Project(tmp_path, reuse_max_age="a week")
        project.branch("better", SOLVES)

        assert main(["run", *project.sides("better")]) == 2
        assert "reuse_max_age must be" in capsys.readouterr().err

    @pytest.mark.parametrize(
        "files",
        [
            {"CLAUDE.md": "Other words.\n"},
            {"evals/task-1/instruction.md": "Other words.\n", "evals/task-2/instruction.md": "Yet others.\n"},
        ],
    )
    def test_another_arm_or_another_task_is_not_the_same_baseline(
        self, project: Project, pinned: Path, files: dict[str, str]
    ) -> None:
        project.branch("moved", files)
        project.repository.git("checkout", "--quiet", "-b", "moved-better")
        project.repository.commit(SOLVES)
        main(["run", *project.sides("moved-better", "--reuse", str(pinned), base="moved")])

        assert len(reused(project.store)) == (0 if "CLAUDE.md" in files else 2)

    def test_other_settings_make_another_run(self, project: Project, pinned: Path) -> None:
        text = (project.suite / "suite.toml").read_text()
        project.branch("patient", {"evals/suite.toml": text + '"limits" = {"timeout_seconds" = 77}\n'})
        project.repository.git("checkout", "--quiet", "-b", "patient-better")
        project.repository.commit(SOLVES)
        main(["run", *project.sides("patient-better", "--reuse", str(pinned), base="patient")])

        assert reused(project.store) == []

    def test_the_head_of_yesterday_is_the_base_of_today(self, project: Project, tmp_path: Path) -> None:
        main(["run", *project.sides("better")])
        project.repository.git("checkout", "--quiet", "main")
        project.repository.git("merge", "--quiet", "better")
        project.branch("next", {"CLAUDE.md": "It is 42, and politely.\n"})
        second = tmp_path / "second"

        words = ["-c", str(project.suite), "--base", "main", "--head", "next", "-o", str(second), "-y"]
        assert main(["run", *words, "--reuse", str(project.store)]) == 0

        assert len(reused(second)) == 4
        assert {run.extra[REUSED_LABEL]["run_id"].split("/")[1] for run in reused(second)} == {"head"}

    def test_one_run_never_stands_for_two(self, project: Project, pinned: Path, tmp_path: Path) -> None:
        words = ["--reuse", str(pinned), "--reuse", str(pinned.parent), "-k", "2"]
        main(["run", *project.sides("better", *words)])

        assert len(reused(project.store)) == 4
        assert len(records(project.store)) == 16

    def test_a_run_whose_artifacts_are_gone_is_made_again(self, project: Project, pinned: Path) -> None:
        for file in (pinned / "artifacts").rglob("*"):
            if file.is_file():
                file.unlink()
        main(["run", *project.sides("better", "--reuse", str(pinned))])

        assert reused(project.store) == []
        assert len(records(project.store)) == 8

    def test_other_agents_than_those_of_the_reused_runs_are_called_out(
        self, project: Project, pinned: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        aged(
            pinned, 1.0, lambda run: msgspec.structs.replace(run, agent=msgspec.structs.replace(run.agent, version="9"))
        )
        main(["run", *project.sides("better", "--reuse", str(pinned))])

        experiment = read_experiment(project.store)
        assert experiment is not None
        assert "the reused runs were made by shell 9, the others by shell 1.0" in experiment.notes[-1]
        assert "NOTE: the reused runs were made by" in capsys.readouterr().err

    def test_a_folder_of_pins_may_still_be_missing(self, project: Project, tmp_path: Path) -> None:
        assert main(["run", *project.sides("better", "--reuse", str(tmp_path / "none yet"))]) == 0


class TestStaleBaseline:
    """A baseline beyond its age limit: fresh runs of it are made among the candidate's, and those decide."""

    TASKS = 8

    @pytest.fixture
    def project(self, tmp_path: Path) -> Project:
        made = Project(tmp_path, agent(COSTS + "echo 42 >answer.txt"), tasks=self.TASKS, repeats=2)
        made.branch("better", SOLVES)
        return made

    def test_half_of_it_is_made_anew_among_the_runs_of_the_candidate(self, project: Project, pinned: Path) -> None:
        aged(pinned, 30.0)
        assert main(["run", *project.sides("better", "--reuse", str(pinned), "-j", "1")]) == 0

        by_label = {
            label: [run for run in records(project.store) if (REUSED_LABEL in run.extra) is label and _is_base(run)]
            for label in (True, False)
        }
        assert [len({run.trial.task_id for run in runs}) for runs in by_label.values()] == [self.TASKS, self.TASKS]
        assert [len(runs) for runs in by_label.values()] == [self.TASKS, self.TASKS]
        starts = sorted((run.started_at, _is_base(run)) for run in records(project.store) if not _is_reused(run))
        fresh = [place for place, (_, base) in enumerate(starts) if base]
        assert fresh[0] < len(starts) / 2 < fresh[-1]

    def test_the_verdict_rests_on_the_fresh_runs_and_states_the_drift(
        self, project: Project, pinned: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The old runs all failed; both arms of today pass, and a comparison with the old ones would be won."""
        aged(pinned, 30.0, _failed)
        main(["run", *project.sides("better", "--reuse", str(pinned))])
        capsys.readouterr()
        main(["verdict", str(project.store), "--format", "json"])

        page = json.loads(capsys.readouterr().out)
        (note,) = [words for words in page["warnings"] if "are older than 7 days" in words]
        assert "8 reused runs of base are older than 7 days and are left out" in note
        assert "pass rate +100.0 points" in note
        assert "8 of them are older than reuse_max_age (7d)" in page["setup"]["notes"][0]
        (passes,) = [gate for gate in page["gates"] if gate["name"] == "pass_rate"]
        assert (passes["baseline"], passes["candidate"]) == (1.0, 1.0)

    def test_a_higher_limit_takes_the_old_runs_as_they_are(self, project: Project, pinned: Path) -> None:
        aged(pinned, 30.0)
        main(["run", *project.sides("better", "--reuse", str(pinned), "--reuse-days", "40")])

        assert len(reused(project.store)) == 2 * self.TASKS


class TestPins:
    def test_a_pin_knows_what_it_is_of(self, project: Project, pinned: Path) -> None:
        pin = read_pin(pinned)

        assert (pin.name, pin.suite, pin.arm, pin.runs, len(pin.tasks)) == ("first", "suite", "base", 4, 4)
        assert pin.agents == ("shell 1.0",)

    def test_the_same_runs_are_pinned_once(self, pinned: Path, tmp_path: Path) -> None:
        assert main(["baseline", "pin", str(tmp_path / "first"), "-o", str(pinned.parent)]) == 0

        assert find_pins(pinned.parent) == [pinned]

    def test_other_runs_do_not_take_a_name_that_is_taken(
        self, project: Project, pinned: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        main(["run", *project.sides("better")])

        words = [str(project.store), "--arm", "head", "--name", "first", "-o", str(pinned.parent)]
        assert main(["baseline", "pin", *words]) == 2
        assert "is a pin already" in capsys.readouterr().err

    @pytest.mark.parametrize("name", ["../up", "-o", "a b", ".hidden"])
    def test_a_name_never_leads_elsewhere(self, pinned: Path, tmp_path: Path, name: str) -> None:
        words = [str(tmp_path / "first"), f"--name={name}", "-o", str(tmp_path / "others")]

        assert main(["baseline", "pin", *words]) == 2
        assert not (tmp_path / "others").exists()

    def test_the_list_shows_age_agents_and_checks(self, pinned: Path, capsys: pytest.CaptureFixture[str]) -> None:
        capsys.readouterr()
        main(["baseline", "list", str(pinned.parent), "--format", "json"])
        (row,) = json.loads(capsys.readouterr().out)["pins"]
        main(["baseline", "list", str(pinned.parent)])
        page = capsys.readouterr().out

        assert (row["name"], row["agents"], row["drifted"]) == ("first", ["shell 1.0"], None)
        assert "never" in page

    def test_a_folder_without_pins_has_none(self, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
        assert main(["baseline", "list", str(tmp_path / "nowhere")]) == 0
        assert "0 pinned baselines" in capsys.readouterr().out


class TestChecks:
    def test_a_steady_baseline_is_found_steady(self, project: Project, pinned: Path, tmp_path: Path) -> None:
        assert self._check(project, pinned, tmp_path / "check", "--tasks", "3") == 0

        found = read_check(pinned)
        assert found is not None
        assert (found.drifted, found.findings, found.runs) == (False, (), 3)

    def test_results_that_moved_are_drift_and_the_pin_is_not_reused(
        self, project: Project, pinned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        """The agent of the pin failed every task six times; today's solves them."""
        repeated(pinned, 6, _failed)
        code = self._check(project, pinned, tmp_path / "check", "-k", "6")
        said = capsys.readouterr().out
        main(["run", *project.sides("better", "--reuse", str(pinned))])

        assert code == 1
        assert "the pass rate moved by +100.0 points over 24 runs" in said
        assert reused(project.store) == []
        assert "is not reused: a check found drift" in capsys.readouterr().err

    def test_small_checks_add_up_to_an_alarm_that_stays(self, project: Project, pinned: Path, tmp_path: Path) -> None:
        repeated(pinned, 6, _failed)
        codes = [self._check(project, pinned, tmp_path / f"check-{day}", "--tasks", "2") for day in range(6)]

        assert codes == sorted(codes)
        assert (codes[0], codes[-1]) == (0, 1)
        assert [check.drifted for check in read_checks(pinned)] == [code == 1 for code in codes]

    def test_every_task_gets_its_turn(self, project: Project, pinned: Path, tmp_path: Path) -> None:
        for day in range(2):
            self._check(project, pinned, tmp_path / f"check-{day}", "--tasks", "2")

        first, second = ({run.task_id for run in check.outcomes} for check in read_checks(pinned))
        assert first | second == {f"task-{number}" for number in range(1, 5)}

    def test_what_is_said_names_the_evidence_and_where_the_alarm_is(
        self, project: Project, pinned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        self._check(project, pinned, tmp_path / "check", "--tasks", "3")
        said = capsys.readouterr().out
        main(["baseline", "list", str(pinned.parent), "--format", "json"])
        (row,) = json.loads(capsys.readouterr().out)["pins"]

        assert "first: no drift shown (1 check, 3 runs of 3 tasks): evidence " in said
        assert said.endswith(", alarm at 20\n")
        assert (row["checks"], row["drifted"]) == (1, False)
        assert 0 < row["evidence"] < 20

    def test_the_check_of_an_earlier_release_is_still_read(
        self, project: Project, pinned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        moved = ["the pass rate moved by -1 on 4 tasks, from 1"]
        old = {"schema": "outweigh.pin_check/1", "checked_at": "2026-01-01T00:00:00Z", "drifted": True}
        (pinned / "check.json").write_text(json.dumps({**old, "findings": moved, "runs": 4}))
        main(["run", *project.sides("better", "--reuse", str(pinned))])
        assert reused(project.store) == []
        assert self._check(project, pinned, tmp_path / "check") == 0

        assert [check.drifted for check in read_checks(pinned)] == [True, False]

    def test_a_check_that_a_crash_cut_short_is_dropped_and_the_others_stay(
        self, project: Project, pinned: Path, tmp_path: Path
    ) -> None:
        self._check(project, pinned, tmp_path / "check-1", "--tasks", "2")
        log = pinned / "checks.log"
        whole = log.read_bytes()
        log.write_bytes(whole + whole[: len(whole) // 2])
        assert len(read_checks(pinned)) == 1
        self._check(project, pinned, tmp_path / "check-2", "--tasks", "2")

        assert log.read_bytes().startswith(whole)
        assert len(read_checks(pinned)) == 2

    def test_another_version_of_the_agent_is_drift(self, project: Project, pinned: Path, tmp_path: Path) -> None:
        pin = read_pin(pinned)
        changed = msgspec.structs.replace(pin, agents=("shell 0.9",))
        (pinned / "pin.json").write_bytes(msgspec.json.encode(changed))

        assert self._check(project, pinned, tmp_path / "check") == 1
        found = read_check(pinned)
        assert found is not None
        assert found.findings == ("the agent was shell 0.9 and is shell 1.0",)

    def test_a_pin_of_another_arm_is_not_checked(
        self, project: Project, pinned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        words = [str(pinned), "-c", str(project.suite), "--base", "better", "-o", str(tmp_path / "check"), "-y"]

        assert main(["baseline", "check", *words]) == 2
        assert "made with another configuration" in capsys.readouterr().err

    def test_a_check_takes_runs_of_its_own(
        self, project: Project, pinned: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
    ) -> None:
        assert self._check(project, pinned, tmp_path / "check") == 0
        assert self._check(project, pinned, tmp_path / "check") == 2
        assert "exists already" in capsys.readouterr().err

    def _check(self, project: Project, pin: Path, store: Path, *more: str) -> int:
        words: Sequence[str] = [str(pin), "-c", str(project.suite), "--base", "main", "-o", str(store), "-y", *more]
        return main(["baseline", "check", *words])


def test_the_key_changes_with_everything_that_makes_a_baseline(
    project: Project, capsys: pytest.CaptureFixture[str]
) -> None:
    def key(base: str) -> str:
        capsys.readouterr()
        assert main(["baseline", "key", "-c", str(project.suite), "--base", base]) == 0
        return capsys.readouterr().out.strip()

    first = key("main")
    project.branch("unrelated", {"README.md": "Other words.\n"})
    project.branch("words", {"CLAUDE.md": "Other words.\n"})
    project.branch("task", {"evals/task-1/instruction.md": "Other words.\n"})

    assert key("unrelated") == first
    assert len({first, key("words"), key("task")}) == 3


def test_an_unknown_verb_names_the_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["baseline", "pins"]) == 2
    assert "there is no verb 'baseline pins'. Did you mean 'baseline pin'?" in capsys.readouterr().err


def _is_base(run: RunRecord) -> bool:
    return run.trial.arm == "base"


def _is_reused(run: RunRecord) -> bool:
    return REUSED_LABEL in run.extra


def _failed(run: RunRecord) -> RunRecord:
    checks: Any = tuple(msgspec.structs.replace(check, passed=False) for check in run.checks or ())
    return msgspec.structs.replace(run, checks=checks)
