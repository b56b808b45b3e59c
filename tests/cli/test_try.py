"""`outweigh try`: one command from a change of an agent's set-up to a first answer."""

import os
from pathlib import Path
from typing import Any

import pytest
from tests.cli.agent_experiment import END, INSTALLED, require_agent
from tests.cli.engines import records
from tests.conftest import Outweigh
from tests.engine.engine_fixtures import toml_lines
from tests.mining.tally_history import make_tally_history
from tests.prerequisites import require
from tests.repositories import Repository

from outweigh.engine.load_suite import LoadedSuite, load_suite
from outweigh.model.run_record import RunRecord
from outweigh.model.suite import SUITE_FILE
from outweigh.plugins import load_adapter
from outweigh.testing.model_server import ModelServer, Script, Turn
from outweigh.verdict.policy import check_policy

PROGRAMS = "/usr/local/bin:/usr/bin:/bin"
DONE = {"type": "file_contains", "name": "done", "path": "answer.txt", "text": "42"}
WORKS = (
    'n=$(cat number.txt); {condition} && echo 42 >answer.txt; cost=$(printf "0.%03d" $((100 + n % 7)));'
    """ printf '{{"cost_usd": %s, "input_tokens": 9, "output_tokens": 5}}' $cost >"$OUTWEIGH_USAGE" """
)
GAINS = WORKS.format(condition="{ [ $((n % 10)) -lt 3 ] || { grep -q better CLAUDE.md && [ $((n % 10)) -lt 9 ]; }; }")
"""Passes 3 of 10 tasks, and 9 of 10 where CLAUDE.md says better."""
SAME = WORKS.format(condition="[ $((n % 10)) -lt 5 ]")


class Tried:
    """A repository with a suite of small tasks, and the agent that its baseline has."""

    def __init__(self, folder: Path, outweigh: Outweigh) -> None:
        self.repository = Repository(folder)
        self.folder, self.outweigh = folder, outweigh

    def write_suite(self, agent: dict[str, Any], tasks: int, **settings: Any) -> None:
        """Every workspace has an old CLAUDE.md, which says better, too."""
        for number in range(tasks):
            task = self.folder / "suite" / "tasks" / f"task-{number:02}"
            (task / "environment").mkdir(parents=True)
            (task / "solution").mkdir()
            (task / "instruction.md").write_text("Write 42 to answer.txt.\n")
            (task / "environment" / "number.txt").write_text(f"{number}\n")
            (task / "environment" / "CLAUDE.md").write_text("An old one, and better.\n")
            (task / "solution" / "solve.sh").write_text("#!/bin/sh\necho 42 >answer.txt\n")
            (task / "solution" / "solve.sh").chmod(0o755)
            (task / "task.toml").write_text(toml_lines({"metadata": {"outweigh": {"checks": [DONE]}}}))
        suite = {
            "name": "own",
            "tasks": ["tasks/*"],
            "baseline": "plain",
            "sandbox": {"kind": "local"},
            "arms": {"plain": agent, "idle": {"agent": "noop"}},
            **settings,
        }
        (self.folder / "suite" / SUITE_FILE).write_text(toml_lines(suite))
        self.repository.commit({"README.md": "A repository.\n"})

    def shell(self, line: str, tasks: int = 16, **settings: Any) -> None:
        self.write_suite({"agent": "shell", "options": {"command": line}}, tasks, **settings)

    def attempt(self, *arguments: str) -> Any:
        return self.outweigh("try", *arguments)

    def suite(self, name: str = "claude-md") -> LoadedSuite:
        return load_suite(self.folder / "outweigh-try" / name, check_policy=check_policy)

    def runs(self) -> list[RunRecord]:
        return records(self.folder / "outweigh-runs" / "try-claude-md")

    def left_behind(self) -> set[str]:
        return {path.name for path in self.folder.iterdir()} - {".git", "suite", "README.md", "CLAUDE.md"}

    def files(self, suite: LoadedSuite, arm: str) -> dict[str, str]:
        return {file.path: suite.overlays[file.sha256].decode() for file in suite.arms[arm].overlay}


@pytest.fixture
def tried(tmp_path: Path, outweigh: Outweigh, monkeypatch: pytest.MonkeyPatch) -> Tried:
    """Without any coding agent, key or address."""
    found = Tried(tmp_path / "repository", outweigh)
    monkeypatch.chdir(found.folder)
    monkeypatch.setenv("PATH", PROGRAMS)
    monkeypatch.setenv("HOME", str(tmp_path))
    for name in [name for name in os.environ if name.endswith(("_API_KEY", "_BASE_URL", "_TOKEN"))]:
        monkeypatch.delenv(name)
    return found


class TestAnswers:
    def test_a_gain_of_60_points_ends_improved_and_everything_is_an_ordinary_store(self, tried: Tried) -> None:
        tried.shell(GAINS, tasks=20, policy={"gates": ["pass_rate"]})
        tried.repository.write({"CLAUDE.md": "Do better.\n"})

        ended = tried.attempt("CLAUDE.md", "--run-cost", "0.11", "--gain", "60", "-y")

        assert ended.code == 0, ended.err
        assert "IMPROVED  candidate against baseline" in ended.out
        assert "Cost       about $4.40 ($0.11 a run: as stated by --run-cost), never more than $5.00." in ended.out
        store = tried.folder / "outweigh-runs" / "try-claude-md"
        assert (store / "report.html").is_file()
        assert str(Path("outweigh-runs/try-claude-md/report.html")) in ended.out
        verdict = tried.outweigh("verdict", str(store), "--format", "json").json()
        assert (verdict["decision"], verdict["baseline"], verdict["candidate"]) == ("improved", "baseline", "candidate")
        assert tried.repository.git("status", "--porcelain") == "?? CLAUDE.md", "git sees nothing of outweigh"

    def test_a_change_that_does_nothing_does_not_end_improved(self, tried: Tried) -> None:
        tried.shell(SAME, policy={"gates": ["pass_rate"]})
        tried.repository.write({"CLAUDE.md": "Do better.\n"})

        ended = tried.attempt("CLAUDE.md", "--run-cost", "0.11", "-y")

        assert ended.code == 0, ended.err
        assert "IMPROVED" not in ended.out

    def test_no_workspace_keeps_the_file_that_the_task_had(self, tried: Tried) -> None:
        """The agent passes wherever it finds a CLAUDE.md, so the baseline would pass with the task's own."""
        tried.shell(WORKS.format(condition="grep -q . CLAUDE.md"), tasks=2)
        tried.repository.write({"CLAUDE.md": "42, as of now.\n"})

        ended = tried.attempt("CLAUDE.md", "--run-cost", "0.1", "--budget", "1", "-y")

        assert ended.code == 0, ended.err
        passed = {(run.trial.arm, check.passed) for run in tried.runs() for check in run.checks or ()}
        assert passed == {("baseline", False), ("candidate", True)}

    def test_an_edit_is_tried_again_beside_the_first_and_the_baseline_is_not_run_again(self, tried: Tried) -> None:
        tried.shell(GAINS, tasks=2)
        tried.repository.write({"CLAUDE.md": "One.\n"})
        options = ("CLAUDE.md", "--run-cost", "0.1", "--budget", "1", "-y")
        assert tried.attempt(*options).code == 0
        tried.repository.write({"CLAUDE.md": "Two.\n"})

        again = tried.attempt(*options)

        assert "2 runs in local sandboxes; 2 runs of an earlier try are used again." in " ".join(again.out.split())
        arms = [run.trial.arm for run in tried.runs()]
        assert sorted(arms) == ["baseline", "baseline", "candidate", "candidate", "candidate@2", "candidate@2"]

    def test_with_another_budget_it_is_another_experiment_that_takes_over_the_baseline(self, tried: Tried) -> None:
        tried.shell(GAINS, tasks=3)
        tried.repository.write({"CLAUDE.md": "One.\n"})
        assert tried.attempt("CLAUDE.md", "--run-cost", "0.1", "--budget", "0.7", "-y").code == 0

        more = tried.attempt("CLAUDE.md", "--run-cost", "0.1", "--budget", "1", "-y")

        assert more.code == 0
        assert "2 of 3 runs of baseline are reused" in more.err
        assert len(tried.suite("claude-md-2").tasks) == 3


class TestPretending:
    def test_without_an_agent_a_scripted_one_makes_the_runs_and_that_is_said_before_and_after(
        self, tried: Tried
    ) -> None:
        tried.write_suite({"agent": "noop"}, 6)
        suite = tried.folder / "suite" / SUITE_FILE
        suite.write_text(suite.read_text().replace('"noop"', '"claude-code"', 1))
        tried.repository.write({"CLAUDE.md": "Do better.\n"})

        ended = tried.attempt("CLAUDE.md")

        words = " ".join(ended.out.split())
        said = "This only pretends: no coding agent that reads CLAUDE.md is installed."
        assert ended.code == 0, ended.err
        assert said in words
        assert words.endswith("The agent only pretended, so this says nothing about CLAUDE.md.")
        assert "nothing; the dollars of a scripted agent are simulated" in words
        assert "simulated agent" in words
        assert "IMPROVED" not in words, "the scripted agent reads nothing"
        assert tried.outweigh("verdict", "--format", "json").json()["may_promote"] is False

    def test_a_model_is_nothing_that_an_agent_reads(self, tried: Tried) -> None:
        tried.write_suite({"agent": "noop"}, 6)
        suite = tried.folder / "suite" / SUITE_FILE
        suite.write_text(suite.read_text().replace('"noop"', '"claude-code"', 1))

        ended = tried.attempt("claude-haiku-4-5")

        assert ended.code == 0, ended.err
        assert "This only pretends: no coding agent is installed." in " ".join(ended.out.split())

    @pytest.mark.needs_agent
    def test_an_installed_agent_without_a_key_is_named(self, tried: Tried, monkeypatch: pytest.MonkeyPatch) -> None:
        require_agent("claude")
        monkeypatch.setenv("PATH", f"{INSTALLED}:{PROGRAMS}")
        tried.write_suite({"agent": "claude-code"}, 2)
        tried.repository.write({"CLAUDE.md": "Do better.\n"})

        ended = tried.attempt("CLAUDE.md", "--budget", "2")

        said = "claude-code is installed, and there is neither a key (ANTHROPIC_API_KEY) nor a login for its model"
        assert said in " ".join(ended.out.split())


class TestPlan:
    def test_nothing_is_run_unless_the_question_is_answered_with_yes(self, tried: Tried, outweigh_process: Any) -> None:
        tried.shell(GAINS, tasks=2)
        tried.repository.write({"CLAUDE.md": "Do better.\n"})
        arguments = ("try", "CLAUDE.md", "--run-cost", "0.1", "--budget", "1")

        for answer in (b"n\n", b""):
            ended = outweigh_process(*arguments, stdin=answer)
            assert "Spend up to $1.00 on 4 runs? [y/N]" in ended.err
            assert "Nothing was run. The suite is ready: outweigh run -c outweigh-try/claude-md" in ended.out
            assert ended.code == 1
        assert not (tried.folder / "outweigh-runs").exists()
        agreed = outweigh_process(*arguments, stdin=b"y\n")
        assert (agreed.code, len(tried.runs())) == (0, 4)

    def test_a_small_budget_buys_some_of_the_tasks_and_the_chance_and_what_is_missing_are_said(
        self, tried: Tried
    ) -> None:
        tried.write_suite({"agent": "scripted"}, 20)
        tried.repository.write({"CLAUDE.md": "Do better.\n"})

        ended = tried.attempt("CLAUDE.md", "--run-cost", "0.1", "--budget", "1.6")

        words = " ".join(ended.out.split())
        assert "Tasks 7 of the 20 tasks of suite, once in each arm: 14 runs in local sandboxes." in words
        assert "% of a decision (" in words
        assert "if the candidate passes 10 points more" in words
        assert "For 50 % 1" in words
        assert "tasks (the suite has 20)" in words
        assert len(tried.suite().tasks) == 7

    def test_the_baseline_is_the_file_as_a_revision_has_it(self, tried: Tried) -> None:
        tried.write_suite({"agent": "scripted"}, 2)
        tried.repository.commit({"CLAUDE.md": "First.\n"})
        tried.repository.write({"CLAUDE.md": "Second.\n"})

        ended = tried.attempt("CLAUDE.md", "--base", "HEAD", "--budget", "2")

        assert ended.code == 0, ended.err
        assert "Baseline   as it is at HEAD." in ended.out
        assert tried.files(tried.suite(), "baseline") == {"CLAUDE.md": "First.\n"}
        assert tried.files(tried.suite(), "candidate") == {"CLAUDE.md": "Second.\n"}
        assert tried.suite().spec.workspaces.without == ["CLAUDE.md"]

    def test_a_task_whose_solution_changes_the_file_itself_is_left_out(self, tried: Tried) -> None:
        tried.write_suite({"agent": "scripted"}, 3)
        patch = "--- a/CLAUDE.md\n+++ b/CLAUDE.md\n@@ -1 +1 @@\n-a\n+b\n"
        (tried.folder / "suite/tasks/task-01/solution/fix.patch").write_text(patch)
        tried.repository.write({"CLAUDE.md": "Do better.\n"})

        ended = tried.attempt("CLAUDE.md", "--budget", "2")

        assert "1 of 3 tasks are left out: their solutions change CLAUDE.md itself." in ended.err
        assert [task.id for task in tried.suite().tasks] == ["task-00", "task-02"]


class TestBadInput:
    @pytest.fixture(autouse=True)
    def _ready(self, tried: Tried) -> None:
        tried.write_suite({"agent": "scripted"}, 3)
        tried.repository.commit({"CLAUDE.md": "Do better.\n"})

    def refused(self, tried: Tried, *arguments: str) -> str:
        ended = tried.attempt(*arguments)
        assert ended.code == 2, ended.out
        assert tried.left_behind() <= {"docs.md", "empty.md"}, "nothing is left behind"
        assert "Traceback" not in ended.err
        assert len(ended.err.strip().splitlines()) == 1, "one paragraph"
        return str(ended.err)

    def test_outside_of_a_repository(self, tried: Tried, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        (tmp_path / "elsewhere").mkdir()
        monkeypatch.chdir(tmp_path / "elsewhere")
        (tmp_path / "elsewhere" / "CLAUDE.md").write_text("Do better.\n")

        assert "is not in a working copy of a git repository" in self.refused(tried, "CLAUDE.md")
        assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["CLAUDE.md"]

    def test_a_name_that_is_neither_a_file_nor_a_model(self, tried: Tried) -> None:
        said = self.refused(tried, "CLAUDE.mdd")

        assert "there is no file or folder 'CLAUDE.mdd', and no price list has a model of that name" in said

    def test_an_empty_file(self, tried: Tried) -> None:
        (tried.folder / "CLAUDE.md").write_text(" \n")

        assert "CLAUDE.md is empty" in self.refused(tried, "CLAUDE.md")

    def test_no_difference_from_the_base(self, tried: Tried) -> None:
        assert "CLAUDE.md is the same at HEAD as it is now" in self.refused(tried, "CLAUDE.md", "--base", "HEAD")

    def test_a_base_that_does_not_exist(self, tried: Tried) -> None:
        assert "there is no commit 'no-such'" in self.refused(tried, "CLAUDE.md", "--base", "no-such")

    def test_a_file_that_no_agent_reads(self, tried: Tried) -> None:
        (tried.folder / "docs.md").write_text("Some words.\n")

        assert "-a codex" in self.refused(tried, "docs.md", "-a", "codex")

    def test_an_agent_that_does_not_exist_or_is_not_installed(self, tried: Tried) -> None:
        assert "there is no agent 'claude-cod'" in self.refused(tried, "CLAUDE.md", "-a", "claude-cod")
        assert "there is no program 'claude' on your PATH" in self.refused(tried, "CLAUDE.md", "-a", "claude-code")

    def test_a_budget_that_buys_less_than_two_tasks(self, tried: Tried) -> None:
        said = self.refused(tried, "CLAUDE.md", "--run-cost", "0.5", "--budget", "2.9")

        assert "--budget $2.90 buys fewer than 2 tasks" in said
        assert "$3.00 is enough" in said

    def test_a_repository_without_a_suite_and_without_a_history_to_make_tasks_of(self, tried: Tried) -> None:
        (tried.folder / "suite" / SUITE_FILE).unlink()

        ended = tried.attempt("CLAUDE.md")

        assert ended.code == 2
        assert "A suite that you have already is named with -s SUITE." in ended.err
        assert tried.left_behind() == set()

    def test_a_suite_without_tasks(self, tried: Tried) -> None:
        suite = tried.folder / "suite" / SUITE_FILE
        suite.write_text(suite.read_text().replace("tasks/*", "none/*"))

        assert "matches no task" in self.refused(tried, "CLAUDE.md")

    def test_a_suite_with_one_task(self, tried: Tried) -> None:
        suite = tried.folder / "suite" / SUITE_FILE
        suite.write_text(suite.read_text().replace("tasks/*", "tasks/task-00"))

        assert "own has 1 task that CLAUDE.md can be tried on" in self.refused(tried, "CLAUDE.md")


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_a_changed_file_gets_its_first_answer_from_the_real_agent_in_one_step(
    tried: Tried, outweigh_process: Any
) -> None:
    """The model does what CLAUDE.md says, where there is one; nothing is set up but a key and an address."""
    require_agent("claude")
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    tried.write_suite({"agent": "scripted"}, 2, sandbox={"kind": "bubblewrap"})
    tried.repository.commit({"CLAUDE.md": "Answer 41.\n"})
    tried.repository.write({"CLAUDE.md": "Answer 42.\n"})
    with ModelServer(Script(turn=[Turn(run="cp CLAUDE.md answer.txt || true"), END])) as server:
        environment = {
            "PATH": f"{INSTALLED}:{PROGRAMS}",
            "HOME": str(tried.folder.parent),
            "ANTHROPIC_BASE_URL": server.url,
            "ANTHROPIC_API_KEY": "a-dummy-key",
        }
        ended = outweigh_process("try", "CLAUDE.md", "--base", "HEAD", "-y", environment=environment)

    assert ended.code == 0, ended.err
    assert "Agent      claude-code 2." in ended.out
    assert "both apply as declared" in ended.err
    passed = {(run.trial.arm, check.passed) for run in tried.runs() for check in run.checks or ()}
    assert passed == {("baseline", False), ("candidate", True)}
    assert "INCONCLUSIVE  candidate against baseline (2 tasks × 1 repeat)" in ended.out
    assert "report.html" in ended.out


@pytest.mark.needs_bubblewrap
def test_without_a_suite_tasks_are_made_from_the_history_and_found_by_later_tries(
    tmp_path: Path, outweigh: Outweigh, monkeypatch: pytest.MonkeyPatch
) -> None:
    require("bubblewrap", load_adapter("sandbox", "bubblewrap").missing())
    history = make_tally_history(tmp_path / "tally", features=2)
    (history / "CLAUDE.md").write_text("Do better.\n")
    monkeypatch.chdir(history)
    for name in [name for name in os.environ if name.endswith("_API_KEY")]:
        monkeypatch.delenv(name)

    first = outweigh("try", "CLAUDE.md", "--budget", "1.2")
    (history / "CLAUDE.md").write_text("Do even better.\n")
    second = outweigh("try", "CLAUDE.md", "--budget", "1.2")

    assert first.code == 0, first.err
    assert "no suite here has 2 tasks, so they are made from the repository's history; that is free" in first.err
    assert "all 2 tasks of outweigh-try/mined, once in each arm" in first.out
    assert "made from" not in second.err
    assert {run.trial.arm for run in records(history / "outweigh-runs" / "try-claude-md")} == {
        "baseline",
        "candidate",
        "candidate@2",
    }
