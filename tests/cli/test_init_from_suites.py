"""What people wrote for other harnesses is read, looked at by the doctor, run, and judged, by the real commands."""

import sys
from pathlib import Path
from typing import Any

import pytest
from tests.interop.foreign_suites import (
    SCENARIOS,
    SCYLLA_TEST,
    ab_suite,
    scylla_suite,
    skill_with_scenarios,
    skillci_suite,
    write,
)
from tests.interop.scylla.scylla_repository import scylla_repository
from tests.repositories import Repository

from outweigh.engine.load_suite import load_suite
from outweigh.model.codec import Record, refuse_invalid
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.store.records import RecordReader
from outweigh.verdict.policy import check_policy

LOCAL = '\n[sandbox]\nkind = "local"\n'
JUDGE = """\
import json, sys
asked = json.load(sys.stdin)["answer_schema"]["properties"]["answers"]["items"]["properties"]["id"]["enum"]
print(json.dumps({"answers": [{"id": name, "score": 1, "evidence": "it is there"} for name in asked]}))
"""


def change(suite: Path, *changes: tuple[str, str]) -> None:
    """Edit the suite as its user would, and let agents work in plain folders."""
    text = (suite / "suite.toml").read_text()
    for old, new in changes:
        assert old in text, text
        text = text.replace(old, new)
    (suite / "suite.toml").write_text(text + LOCAL)


def records(store: Path) -> list[Record]:
    return [located.record for located in RecordReader(str(store)).records(refuse_invalid)]


def passed(store: Path) -> set[tuple[str, str]]:
    """Arm and task of the runs that passed."""
    runs = [record for record in records(store) if isinstance(record, RunRecord)]
    return {
        (run.trial.arm, run.trial.task_id)
        for run in runs
        if run.checks and all(check.passed for check in run.checks if check.required)
    }


@pytest.fixture
def suite(tmp_path: Path) -> Path:
    return tmp_path / "suite"


def test_tasks_of_skillci_are_run_and_checked(outweigh: Any, tmp_path: Path, suite: Path) -> None:
    source = skillci_suite(tmp_path / "source")

    made = outweigh("init", str(suite), "--from", str(source), "-a", "noop")
    worker = 'agent = "shell"\noptions = { command = ["sh", "-c", "echo hello > greeting.txt"] }\nextra_prompt'
    change(suite, ("extra_prompt", worker))
    looked = outweigh("doctor", "-c", str(suite))
    ran = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "-k", "1")
    decided = outweigh("verdict", str(tmp_path / "runs"), "--format", "json")

    assert (made.code, looked.code, ran.code) == (0, 0, 0), made.err + looked.err + ran.err
    assert "was read as skillci: 2 tasks" in made.out
    assert passed(tmp_path / "runs") == {("candidate", "greet")}
    assert decided.json()["decision"] == "inconclusive", "two tasks cannot carry more"


def test_tasks_of_the_ab_harness_start_from_its_repository(outweigh: Any, tmp_path: Path, suite: Path) -> None:
    source = ab_suite(tmp_path / "repository")

    made = outweigh("init", str(suite), "--from", str(source), "-a", "noop")
    worker = 'agent = "shell"\noptions = { command = ["sh", "-c", "test -f check.sh && echo empty > done.txt"] }'
    change(suite, ('[arms.with_skelly]\nagent = "noop"', f"[arms.with_skelly]\n{worker}"))
    looked = outweigh("doctor", "-c", str(suite))
    ran = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "-k", "1")

    assert (made.code, looked.code, ran.code) == (0, 0, 0), made.err + looked.err + ran.err
    assert passed(tmp_path / "runs") == {("with_skelly", "empty_input")}


def test_tests_of_scylla_are_judged_by_their_rubric(outweigh: Any, tmp_path: Path, suite: Path) -> None:
    commit = Repository(tmp_path / "recipes").commit({"justfile": "build:\n  cc\n"})
    test = SCYLLA_TEST.replace("https://git.example.org/tools/recipes", f"file://{tmp_path / 'recipes'}")
    source = scylla_suite(tmp_path / "source", test.replace("0123456789abcdef0123456789abcdef01234567", commit))

    made = outweigh("init", str(suite), "--from", str(source), "-a", "noop")
    write(tmp_path, {"judge.py": JUDGE})
    command = f'backend = "command"\noptions = {{ command = ["{sys.executable}", "{tmp_path / "judge.py"}"] }}'
    inherit = '\n[arms.t1-01-quality.inherit]\nbest_of = [0]\nby = "median-judge"\n'
    change(suite, ('backend = "claude-cli"', command), (inherit, ""))
    looked = outweigh("doctor", "-c", str(suite))
    ran = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "-k", "1")
    decided = outweigh("verdict", str(tmp_path / "runs"), "--candidate", "t1-01-quality", "--format", "json")

    assert (made.code, looked.code, ran.code) == (0, 0, 0), made.err + looked.err + ran.err
    assert sum(isinstance(record, Judgment) for record in records(tmp_path / "runs")) == 6, "two tests, three arms"
    assert decided.json()["decision"] == "inconclusive"


def test_scenarios_of_a_skill_are_run_without_it_and_with_it(outweigh: Any, tmp_path: Path, suite: Path) -> None:
    source = skill_with_scenarios(tmp_path / "page-maker", SCENARIOS.partition('  - name: "Say')[0])

    made = outweigh("init", str(suite), "--from", str(source), "-a", "noop")
    skill = "test -f .claude/skills/page-maker/SKILL.md"
    work = f"{skill} && mkdir pages && echo '<h1>' > pages/notes.html && echo Look at NOTES.html || true"
    worker = f'agent = "shell"\noptions = {{ command = ["sh", "-c", "{work}"] }}'
    change(suite, ('agent = "noop"', worker))
    looked = outweigh("doctor", "-c", str(suite))
    ran = outweigh("run", "-c", str(suite), "-o", str(tmp_path / "runs"), "-k", "1")

    assert (made.code, looked.code, ran.code) == (0, 0, 0), made.err + looked.err + ran.err
    assert passed(tmp_path / "runs") == {("with_skill", "convert-the-notes")}


@pytest.mark.parametrize(("options", "agents"), [([], {"codex"}), (["-a", "noop"], {"noop"})])
def test_the_agent_of_a_suite_stays_unless_the_user_names_another(
    outweigh: Any, tmp_path: Path, suite: Path, options: list[str], agents: set[str]
) -> None:
    source = skillci_suite(tmp_path / "source", agent="codex")

    made = outweigh("init", str(suite), "--from", str(source / "prices"), *options)

    assert made.code == 0, made.err
    assert {arm.agent for arm in load_suite(suite, check_policy=check_policy).arms.values()} == agents


def test_bad_input_is_one_paragraph_and_leaves_nothing(outweigh: Any, tmp_path: Path, suite: Path) -> None:
    source = skillci_suite(tmp_path / "source", promt="Do it.")

    answer = outweigh("init", str(suite), "--from", str(source))

    assert answer.code == 2
    assert answer.err.startswith(f"outweigh: {source / 'prices' / 'task.json'}: ")
    assert answer.err.count("\n") == 1
    assert not suite.exists()


def test_arms_that_inherit_are_counted(outweigh: Any, tmp_path: Path) -> None:
    source = scylla_repository(tmp_path / "source", tests=1)

    converted = outweigh("init", str(tmp_path / "suite"), "--from", str(source / "tests/fixtures/tests"))

    assert "1 task, 117 arms." in converted.out
