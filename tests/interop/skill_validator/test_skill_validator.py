"""Scenarios of skill-validator become tasks: what a program can decide exactly is checked, the rest is judged."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from tests.interop.foreign_suites import (
    SCENARIOS,
    STIMULI,
    skill_with_scenarios,
    skill_with_stimuli,
    write,
)

from outweigh.errors import UsageError
from outweigh.interop.skill_validator.scenarios import ScenarioAssertion, make_check
from outweigh.interop.skill_validator.suite_reader import SkillValidatorSuiteReader
from outweigh.model.rubric import BinaryCriterion, ScaledCriterion
from outweigh.model.task import AnswerContainsCheck, CommandCheck, FileContainsCheck, FileExistsCheck, UnchangedCheck
from outweigh.ports.suites import SuiteDraft, SuiteOverrides, SuiteReader
from outweigh.testing.suite_reader_contract import SUITE_OVERRIDES, SuiteReaderContract, write_and_load


class TestSkillValidator(SuiteReaderContract):
    def reader(self) -> SuiteReader:
        return SkillValidatorSuiteReader()

    def example(self, folder: Path) -> Path:
        return skill_with_scenarios(folder / "page-maker")


class TestStimuli(SuiteReaderContract):
    def reader(self) -> SuiteReader:
        return SkillValidatorSuiteReader()

    def example(self, folder: Path) -> Path:
        return skill_with_stimuli(folder / "page-maker")


def drafted(path: Path) -> SuiteDraft:
    return SkillValidatorSuiteReader().read(path, SUITE_OVERRIDES)


def with_scenario(folder: Path, lines: str) -> Path:
    return skill_with_scenarios(folder, f"scenarios:\n  - name: One\n    prompt: Do it.\n{lines}")


def test_the_skill_is_what_the_arms_differ_in_and_its_tests_stay_behind(tmp_path: Path) -> None:
    suite = write_and_load(drafted(skill_with_scenarios(tmp_path / "page-maker")), tmp_path / "suite")

    assert suite.arms["without_skill"].overlay == ()
    laid = {file.path.removeprefix(".claude/skills/page-maker/") for file in suite.arms["with_skill"].overlay}
    assert laid == {"SKILL.md", "templates/page.html", "fixtures/list.csv"}


def test_setup_is_the_workspace(tmp_path: Path) -> None:
    task = drafted(skill_with_scenarios(tmp_path)).tasks[0]

    assert {path: file.content for path, file in task.files.items()} == {
        "environment/workspace/notes.txt": b"# Notes\n",
        "environment/workspace/data/list.csv": b"a,b\n",
    }
    assert (task.instruction, task.settings.timeout_seconds) == ("Turn notes.txt into a page.\n", 240)


def test_files_beside_the_evals_are_copied_where_they_are_asked_for(tmp_path: Path) -> None:
    path = with_scenario(tmp_path, "    setup: {copy_test_files: true}\n    rubric: [Good]\n")
    write(path, {"tests/eval.vally.yaml": "stimuli: []\n"})

    assert list(drafted(path).tasks[0].files) == ["environment/workspace/secret.txt"]


@pytest.mark.parametrize("setup", ["copy_test_files: true", "files: [{path: a, source: .}]"])
def test_the_skill_itself_is_no_file_for_both_arms(tmp_path: Path, setup: str) -> None:
    scenarios = f"scenarios:\n- {{name: a, prompt: Do it., rubric: [Good], setup: {{{setup}}}}}\n"
    write(tmp_path, {"SKILL.md": "---\nname: pages\n---\n", "eval.yaml": scenarios})

    with pytest.raises(UsageError, match="is the skill itself, which only one arm may have"):
        drafted(tmp_path)


def test_no_form_of_the_evals_reaches_an_agent(tmp_path: Path) -> None:
    setup = "files: [{path: a, source: given}]"
    scenarios = f"scenarios:\n- {{name: a, prompt: Do it., rubric: [Good], setup: {{{setup}}}}}\n"
    named = scenarios.replace("source: given", "source: eval.yaml").removeprefix("scenarios:\n").replace("a,", "b,", 1)
    skill = {"SKILL.md": "---\nname: pages\n---\n", "eval.yaml": scenarios + named, "eval.vally.yaml": "x: 1\n"}
    write(tmp_path, {**skill, "given/x.txt": "x", "given/eval.yaml": "x: 1\n"})

    draft = drafted(tmp_path)

    assert [list(task.files) for task in draft.tasks] == [["environment/workspace/a/x.txt"]]
    assert sorted(draft.files) == ["skills/pages/SKILL.md", "skills/pages/given/x.txt"]
    assert any("'b' was left out: its file 'eval.yaml' would tell" in note for note in draft.notes)


def test_assertions_are_checks_or_questions(tmp_path: Path) -> None:
    settings = drafted(skill_with_scenarios(tmp_path)).tasks[0].settings

    assert [check.name for check in settings.checks] == [
        "1-file-exists",
        "2-file-contains",
        "3-output-contains",
        "4-run-command-and-assert",
    ]
    assert settings.checks[1] == FileContainsCheck(name="2-file-contains", path="pages/notes.html", text="<h1>")
    assert settings.rubric is not None
    order, script = settings.rubric.criteria
    assert isinstance(order, ScaledCriterion)
    assert (order.min, order.max, script.description) == (1, 5, "Wrote no script for one page")


def test_what_is_not_carried_over_is_said(tmp_path: Path) -> None:
    draft = drafted(skill_with_scenarios(tmp_path))

    notes = "\n".join(draft.notes)
    assert "convert-the-notes: 'expect_tools' is left out" in notes
    assert "say-what-a-page-needs: the skill is not meant to be used here" in notes
    assert "Not in the copy of the skill, because an agent could look up there what is expected: 'tests'." in notes
    assert draft.spec.policy.gates == ["judge_score"], "one task can only be judged"


def test_setup_commands_and_inexact_assertions_are_said(tmp_path: Path) -> None:
    lines = (
        "    setup: {commands: [make], additional_required_skills: [other]}\n    rubric: [Good]\n"
        "    assertions:\n      - {type: file_exists, path: 'a/**/b/*.cs'}\n"
    )

    notes = "\n".join(drafted(with_scenario(tmp_path, lines)).notes)

    assert "its setup ('make') is not run" in notes
    assert "'other' would be copied beside the skill" in notes
    assert "no check here does exactly what '1-file-exists' does" in notes


def test_tests_of_a_plugin_find_its_skill(tmp_path: Path) -> None:
    skill = skill_with_scenarios(tmp_path / "plugins/web/skills/page-maker")
    tests = write(tmp_path / "tests/web/page-maker", {"eval.yaml": SCENARIOS})
    (skill / "tests/eval.yaml").unlink()

    assert SkillValidatorSuiteReader().recognises(tests)
    assert drafted(tests).spec.name == "page-maker"


FILES = ("a.csv", "sub/b.csv", "sub/deep/c.cs", "sub/deep/d.txt")


@pytest.mark.parametrize(
    ("stated", "passes"),
    [
        ({"type": "file_exists", "path": "*.csv"}, True),
        ({"type": "file_exists", "path": "*.cs"}, False),
        ({"type": "file_exists", "path": "**/*.cs"}, True),
        ({"type": "file_exists", "path": "**/a.csv"}, True),
        ({"type": "file_exists", "path": "sub/**/*.cs"}, True),
        ({"type": "file_exists", "path": "other/**/*.cs"}, False),
        ({"type": "file_exists", "path": "*/*.csv"}, True),
        ({"type": "file_exists", "path": "s*b/b*"}, True),
        ({"type": "file_exists", "path": "*/c.cs"}, False),
        ({"type": "file_not_exists", "path": "*.cs"}, True),
        ({"type": "file_not_exists", "path": "a.csv"}, False),
        ({"type": "file_not_exists", "path": "sub"}, True),
        ({"type": "file_contains", "path": "**/*.csv", "value": "-e sub/b"}, True),
        ({"type": "file_contains", "path": "*.csv", "value": "sub/b.csv"}, False),
        ({"type": "file_contains", "path": "**/*.csv", "value": "a.*"}, False),
        ({"type": "file_not_contains", "path": "*.csv", "value": "sub"}, True),
        ({"type": "file_not_contains", "path": "**/*.csv", "value": "sub"}, False),
        ({"type": "file_not_contains", "path": "*.none", "value": "sub"}, False),
        ({"type": "file_not_contains", "path": "a.csv", "value": "sub"}, True),
        ({"type": "run_command_and_assert", "command_to_run": "false", "expected_exit_code": 1}, True),
        ({"type": "run_command_and_assert", "command_to_run": "ls", "expected_std_output_contains": "A.CSV"}, True),
        ({"type": "run_command_and_assert", "command_to_run": "ls", "expected_std_output_contains": "b.csv"}, False),
        (
            {
                "type": "run_command_and_assert",
                "command_to_run": "ls",
                "command_arguments": "a.csv none",
                "expected_std_output_contains": "a.csv",
                "expected_exit_code": 0,
            },
            False,
        ),
    ],
)
def test_commands_do_what_assertions_did(tmp_path: Path, stated: dict[str, Any], passes: bool) -> None:
    write(tmp_path, {name: f"-e {name}\n" for name in FILES})

    check = make_check(ScenarioAssertion(**stated), "it", 60)

    assert isinstance(check, CommandCheck)
    done = subprocess.run(check.run, cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode == check.exit_code) is passes, done.stderr


@pytest.mark.parametrize(
    "stated",
    [
        {"type": "file_exists", "path": "a/**/b/*.cs"},
        {"type": "file_exists", "path": "[ab]*.cs"},
        {"type": "file_contains", "path": "*.cs", "value": "one\ntwo"},
        {
            "type": "run_command_and_assert",
            "command_to_run": "a",
            "command_arguments": "'b c'",
            "expected_exit_code": 0,
        },
        {"type": "run_command_and_assert", "command_to_run": "a", "expected_std_error_matches": "x+"},
        {"type": "run_command_and_assert", "command_to_run": "a"},
        {"type": "output_matches", "pattern": r"\p{Lu}(?<name>x)"},
        {"type": "file_exists", "path": "../x"},
        {"type": "file_contains", "path": "/etc/passwd", "value": "root"},
    ],
)
def test_what_no_check_does_exactly_is_none(stated: dict[str, Any]) -> None:
    assert make_check(ScenarioAssertion(**stated), "it", 60) is None


@pytest.mark.parametrize(
    ("stated", "regex", "absent"),
    [
        ({"type": "output_contains", "value": "a.b (c)"}, r"(?i)a\.b\ \(c\)", False),
        ({"type": "output_not_contains", "value": "x"}, "(?i)x", True),
        ({"type": "output_matches", "pattern": "(429|Too)"}, "(?i)(429|Too)", False),
        ({"type": "output_matches", "pattern": "(?is)a.b"}, "(?is)a.b", False),
        ({"type": "output_not_matches", "pattern": "(?m)^x$"}, "(?im)^x$", True),
    ],
)
def test_what_the_agent_says_is_checked_whatever_its_capitals(stated: dict[str, Any], regex: str, absent: bool) -> None:
    check = make_check(ScenarioAssertion(**stated), "it", 60)

    assert check == AnswerContainsCheck(name="it", regex=regex, absent=absent)


def test_an_expression_that_is_none_here_is_put_to_the_judges(tmp_path: Path) -> None:
    lines = "    assertions: [{type: output_matches, pattern: '(?<name>x)'}]\n"

    settings = drafted(with_scenario(tmp_path, lines)).tasks[0].settings

    assert settings.checks == []
    assert settings.rubric is not None
    (criterion,) = settings.rubric.criteria
    assert isinstance(criterion, BinaryCriterion)
    assert "that the regular expression '(?<name>x)' matches" in criterion.description


def test_a_plain_path_needs_no_command() -> None:
    assert make_check(ScenarioAssertion(type="file_exists", path="./a.txt"), "it", 60) == FileExistsCheck(
        name="it", path="a.txt"
    )


@pytest.mark.parametrize(
    ("lines", "said"),
    [
        ("    rubic: [Good]\n", "Did you mean `rubric`"),
        ("    rubric: Good\n", "rubric"),
        ("    timeout: 0\n", "timeout"),
        ("    assertions: [{type: vibes}]\n", "vibes"),
        ("    assertions: [{type: file_exists}]\n", "`file_exists` needs `path`"),
        ("    assertions: [{type: file_exists, path: ../x}]\n", "neither an assertion that can be looked at here"),
        ("    assertions: [{type: output_matches, value: x}]\n", "`output_matches` needs `pattern`"),
        ("    assertions: [{type: exit_success}]\n", "neither an assertion that can be looked at here nor a rubric"),
        ("    rubric: [Good]\n    setup: {files: [{path: ../x, content: a}]}\n", "leads out of the workspace"),
        ("    rubric: [Good]\n    setup: {files: [{path: x, source: ../../x}]}\n", "leads out of"),
        ("    rubric: [Good]\n    setup: {files: [{path: x, source: none.txt}]}\n", "none.txt is not there"),
        ("    rubric: [Good]\n    setup: {files: [{path: x}]}\n", "neither a content nor a source"),
    ],
)
def test_what_is_wrong_is_a_sentence_with_the_file(tmp_path: Path, lines: str, said: str) -> None:
    path = with_scenario(tmp_path / "skill", lines)

    with pytest.raises(UsageError, match=said) as refusal:
        drafted(path)
    assert str(path / "tests/eval.yaml") in str(refusal.value)
    assert "\n" not in str(refusal.value)


def test_one_bad_scenario_does_not_take_the_others_with_it(tmp_path: Path) -> None:
    path = skill_with_scenarios(tmp_path, SCENARIOS.replace('"fixtures/list.csv"', '"none.csv"'))

    draft = drafted(path)

    assert [task.name for task in draft.tasks] == ["say-what-a-page-needs"]
    assert draft.notes[0].startswith("'Convert the notes' was left out")


def test_evals_without_a_skill_are_refused(tmp_path: Path) -> None:
    write(tmp_path / "tests", {"eval.yaml": SCENARIOS})

    with pytest.raises(UsageError, match="has no skill beside it"):
        drafted(tmp_path / "tests/eval.yaml")


def test_an_agent_without_skills_is_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="aider does not support skills"):
        SkillValidatorSuiteReader().read(skill_with_scenarios(tmp_path), SuiteOverrides(agent="aider", model=None))


def test_stimuli_are_scenarios_under_other_names(tmp_path: Path) -> None:
    page, look = drafted(skill_with_stimuli(tmp_path)).tasks

    assert [check.name for check in page.settings.checks] == [
        "1-file-exists",
        "2-file-not-contains",
        "3-output-contains",
        "grader-4-run-command",
    ]
    assert page.settings.checks[3] == CommandCheck(
        name="grader-4-run-command", run="grep -q h1 pages/notes.html", timeout_seconds=30
    )
    assert look.settings.checks == [UnchangedCheck(name="grader-1-diff-empty", paths=["*"])]
    assert (page.settings.timeout_seconds, look.settings.timeout_seconds) == (90, 300)
    assert page.settings.rubric is not None
    assert [criterion.name for criterion in page.settings.rubric.criteria] == ["rubric-1"]


def test_all_stimuli_start_from_what_stands_at_the_top(tmp_path: Path) -> None:
    page, look = drafted(skill_with_stimuli(tmp_path)).tasks

    assert set(page.files) == {"environment/workspace/base.css", "environment/workspace/inputs/notes.txt"}
    assert set(look.files) == {"environment/workspace/base.css"}


def test_what_stimuli_say_in_vain_is_said(tmp_path: Path) -> None:
    notes = "\n".join(drafted(skill_with_stimuli(tmp_path)).notes)

    assert "'runs' of the file is left out" in notes
    assert "'scoring' of the file has no counterpart" in notes
    assert "its setup ('make tools') is not run" in notes
    assert "no check here does exactly what 'grader-5-run-command' does" in notes
    assert "'tags' has no counterpart in a task" in notes
    assert "look-and-leave-alone: what its `prompt` graders tell a judge is left out" in notes


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("timeout: 5m", "timeout: soon", "'soon' is not a duration"),
        ("max_duration: 90s", "max_duration: 0s", "is not a duration"),
        ("    prompt: What is wrong with the page?\n", "", "missing required field `prompt`"),
        ("stimuli:", "stimuli: none\nothers:", "is not a list of tables"),
        ("      - type: diff-empty\n", "      - diff-empty\n", "is not a table"),
        ("dest: inputs/notes.txt", "dest: ../notes.txt", "leads out"),
        ("src: common", "src: ../../common", "leads out"),
    ],
)
def test_what_is_wrong_with_stimuli_is_a_sentence(tmp_path: Path, old: str, new: str, said: str) -> None:
    path = skill_with_stimuli(tmp_path / "skill", STIMULI.replace(old, new))

    try:
        answer = "\n".join(drafted(path).notes)
    except UsageError as refusal:
        answer = str(refusal)
        assert str(path / "tests/eval.yaml") in answer
    assert said in answer
