"""A suite of the A/B harness becomes a suite: its commands are required checks, its repository the workspace."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interop.foreign_suites import AB_SUITE, ab_suite, write

from outweigh.errors import UsageError
from outweigh.interop.agent_ab.suite_reader import AgentAbSuiteReader, read_head_commit
from outweigh.model.task import CommandCheck, GitSource
from outweigh.ports.suites import SuiteDraft, SuiteOverrides, SuiteReader
from outweigh.testing.suite_reader_contract import SUITE_OVERRIDES, SuiteReaderContract, write_and_load

CONFIG = {"arms": ["without_skelly", "with_skelly"], "repeats": 7, "model": "openai/small", "agent": "build", "x": 1}

NO_OVERRIDES = SuiteOverrides(agent=None, model=None)


class TestAgentAb(SuiteReaderContract):
    def reader(self) -> SuiteReader:
        return AgentAbSuiteReader()

    def example(self, folder: Path) -> Path:
        return ab_suite(folder / "repository")


def drafted(path: Path) -> SuiteDraft:
    return AgentAbSuiteReader().read(path, SUITE_OVERRIDES)


def changed(**task: Any) -> dict[str, Any]:
    return {**AB_SUITE, "tasks": [{**AB_SUITE["tasks"][0], **task}]}


def test_the_acceptance_command_is_required_and_the_agent_is_told(tmp_path: Path) -> None:
    task = drafted(ab_suite(tmp_path / "repository")).tasks[0]

    assert task.settings.checks == [CommandCheck(name="acceptance", run=["bash", "-c", "sh check.sh empty"])]
    assert task.instruction.startswith("Let the parser take empty input.\n")
    assert "    sh check.sh empty\n" in task.instruction


def test_every_task_starts_from_what_is_checked_out(tmp_path: Path) -> None:
    draft = drafted(ab_suite(tmp_path / "repository"))

    origin = GitSource(repository=str(tmp_path / "repository"), commit=read_head_commit(tmp_path / "repository"))
    assert [task.settings.workspace for task in draft.tasks] == [origin, origin]
    assert [task.settings.timeout_seconds for task in draft.tasks] == [900, 1800]
    assert any(origin.commit[:12] in note for note in draft.notes)


def test_the_two_usual_arms_differ_and_the_one_without_comes_first(tmp_path: Path) -> None:
    suite = write_and_load(drafted(ab_suite(tmp_path / "repository")), tmp_path / "suite")

    assert list(suite.arms) == ["without_skelly", "with_skelly"]
    assert suite.spec.baseline == "without_skelly"
    assert "Do not use skelly" in str(suite.arms["without_skelly"].extra_prompt)


def test_context_files_are_laid_for_the_arm_that_has_the_tool(tmp_path: Path) -> None:
    extra = {"AGENTS.md": "Ask skelly.", ".skelly/skills/skelly.md": "How to ask."}
    draft = drafted(ab_suite(tmp_path / "repository", extra=extra))

    suite = write_and_load(draft, tmp_path / "suite")

    assert [file.path for file in suite.arms["with_skelly"].overlay] == [".skelly/skills/skelly.md", "AGENTS.md"]
    assert suite.arms["without_skelly"].overlay == ()
    assert any("takes that from the others" in note for note in draft.notes)


def test_the_folder_of_a_run_remembers_arms_repeats_and_model(tmp_path: Path) -> None:
    source = ab_suite(tmp_path / "repository")
    run = source.parent / "results" / "one"
    write(run, {"suite.json": source.read_text(), "config.json": json.dumps(CONFIG)})

    draft = drafted(run)

    assert draft.spec.repeats == 7
    assert {arm.model for arm in draft.spec.arms.values()} == {"openai/small"}


def test_arms_of_other_names_differ_too(tmp_path: Path) -> None:
    source = ab_suite(tmp_path / "repository")
    write(source.parent, {"config.json": json.dumps(CONFIG | {"arms": ["old", "new", "new"]})})

    suite = write_and_load(drafted(source), tmp_path / "suite")

    assert (list(suite.arms), suite.spec.baseline) == (["old", "new"], "old")


def test_what_is_not_carried_over_is_said(tmp_path: Path) -> None:
    suite = changed(setup_commands=["make deps", " "])

    notes = "\n".join(drafted(ab_suite(tmp_path / "repository", suite)).notes)

    assert "The setup of 'empty_input' ('make deps') is not run" in notes
    assert "Tags of tasks are left out" in notes
    assert "--policy gates" in notes


def test_the_template_of_a_folder_is_no_suite(tmp_path: Path) -> None:
    source = ab_suite(tmp_path / "repository")
    write(source.parent, {"suite.template.json": json.dumps(AB_SUITE)})

    assert len(drafted(source.parent).tasks) == 2


def test_of_several_suites_one_must_be_named(tmp_path: Path) -> None:
    source = ab_suite(tmp_path / "repository")
    write(source.parent, {"suite.other.json": json.dumps(AB_SUITE)})

    assert AgentAbSuiteReader().recognises(source.parent)
    with pytest.raises(
        UsageError, match=r"several suites \('suite.other.json', 'suite.pilot.json'\); name one of them"
    ):
        drafted(source.parent)


@pytest.mark.parametrize(
    ("suite", "said"),
    [
        (changed(prompt_file="bench/prompts/none.md"), "none.md is not there"),
        (changed(prompt_file="../outside.md"), "leads out of"),
        (changed(prompt_file="/etc/passwd"), "leads out of"),
        (changed(acceptance_command=""), "acceptance_command"),
        (changed(timeout_seconds=-1), "timeout_seconds"),
        (changed(acceptance_comand="x"), "Did you mean `acceptance_command`"),
        (changed(id=7), r"tasks\[0\]\.id"),
        ({"tasks": [AB_SUITE["tasks"][0]] * 2}, "two tasks have the id 'empty_input'"),
        ({"tasks": []}, "tasks"),
        ([], "Expected `object`"),
    ],
)
def test_what_is_wrong_is_a_sentence_with_the_file(tmp_path: Path, suite: Any, said: str) -> None:
    source = ab_suite(tmp_path / "repository", suite)
    (tmp_path / "outside.md").write_text("secret")

    with pytest.raises(UsageError, match=said) as refusal:
        drafted(source)
    assert "\n" not in str(refusal.value)


def test_an_empty_prompt_is_refused(tmp_path: Path) -> None:
    source = ab_suite(tmp_path / "repository")
    write(source.parent, {"prompts/empty.md": " \n"})

    with pytest.raises(UsageError, match="write down there what the agent is asked"):
        drafted(source)


def test_a_prompt_by_its_full_path_is_fine_within_the_repository(tmp_path: Path) -> None:
    full = str(tmp_path / "repository" / "bench/prompts/long.md")

    task = drafted(ab_suite(tmp_path / "repository", changed(prompt_file=full))).tasks[0]

    assert task.instruction.startswith("Let the parser take long input.")


def test_outside_of_a_repository_there_is_nothing_to_start_from(tmp_path: Path) -> None:
    write(tmp_path, {"suite.json": json.dumps(AB_SUITE)})

    with pytest.raises(UsageError, match="is not in a git repository"):
        drafted(tmp_path)


def test_the_harness_agent_works_unless_the_user_names_one(tmp_path: Path) -> None:
    source = ab_suite(tmp_path / "repository")

    theirs, mine = AgentAbSuiteReader().read(source, NO_OVERRIDES), AgentAbSuiteReader().read(source, SUITE_OVERRIDES)

    assert {arm.agent for arm in theirs.spec.arms.values()} == {"opencode"}
    assert any("opencode needs one with its provider" in note for note in theirs.notes)
    assert {arm.agent for arm in mine.spec.arms.values()} == {"claude-code"}
    assert any("`-a opencode` makes them as they were" in note for note in mine.notes)
