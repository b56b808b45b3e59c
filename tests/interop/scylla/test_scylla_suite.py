"""A test of ProjectScylla becomes a task for judges, and its tiers a ladder of arms."""

from pathlib import Path

import pytest
from tests.interop.foreign_suites import (
    SCYLLA_RUBRIC,
    SCYLLA_SHARED,
    SCYLLA_TEST,
    scylla_files,
    scylla_suite,
    write,
)

from outweigh.engine.inherited_arms import load_inheriting_arm
from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.interop.scylla.suite_reader import ScyllaSuiteReader
from outweigh.model.arm import Arm
from outweigh.model.rubric import BinaryCriterion, ChecklistCriterion, ScaledCriterion
from outweigh.model.task import GitSource
from outweigh.ports.suites import SuiteDraft, SuiteOverrides, SuiteReader
from outweigh.testing.suite_reader_contract import SUITE_OVERRIDES, SuiteReaderContract, write_and_load

EVERY_TIER = SCYLLA_TEST.partition("tiers:")[0]


class TestScylla(SuiteReaderContract):
    def reader(self) -> SuiteReader:
        return ScyllaSuiteReader()

    def example(self, folder: Path) -> Path:
        return scylla_suite(folder)


class TestScyllaWithoutSharedFolder(SuiteReaderContract):
    def reader(self) -> SuiteReader:
        return ScyllaSuiteReader()

    def example(self, folder: Path) -> Path:
        own = {
            "t0/01-vanilla/config.yaml": "system_prompt_mode: default\n",
            "t1/01-style/config.yaml": "name: Style\n",
            "t1/01-style/CLAUDE.md": "Write short lines.\n",
        }
        return write(folder / "a/b/c/test-101", {**scylla_files(), **own})


def drafted(path: Path) -> SuiteDraft:
    return ScyllaSuiteReader().read(path, SUITE_OVERRIDES)


def one_test(folder: Path, files: dict[str, str]) -> Path:
    return write(folder / "a/b/c/test-101", {**scylla_files(), **files})


def test_a_test_is_a_commit_a_prompt_and_a_time(tmp_path: Path) -> None:
    task = drafted(scylla_suite(tmp_path)).tasks[0]

    assert task.instruction == "# Task\n\nTurn the recipes into a makefile.\n"
    assert task.settings.workspace == GitSource(
        repository="https://git.example.org/tools/recipes", commit="0123456789abcdef0123456789abcdef01234567"
    )
    assert (task.settings.timeout_seconds, task.settings.family) == (600, "recipes")


def test_its_rubric_says_all_that_it_said(tmp_path: Path) -> None:
    rubric = drafted(scylla_suite(tmp_path)).tasks[0].settings.rubric

    assert rubric is not None
    recipes, old_file, tidy = rubric.criteria
    assert isinstance(recipes, ScaledCriterion)
    assert recipes.description == "Every recipe is there\n- names are kept\n- order is kept"
    assert isinstance(old_file, BinaryCriterion)
    assert isinstance(tidy, ChecklistCriterion)
    assert tidy.items[0].na_when == "nothing was made"
    assert (rubric.pass_threshold, rubric.notes) == (0.7, "# Criteria\n\nAll recipes, same names.")


def test_what_the_rubric_cannot_say_here_is_a_note(tmp_path: Path) -> None:
    notes = "\n".join(drafted(scylla_suite(tmp_path)).notes)

    assert "`grading.grade_scale` is none that is known here" in notes
    assert "skills that R002 name for a judge are left out" in notes


def test_sub_tests_are_arms_with_the_rank_of_their_tier(tmp_path: Path) -> None:
    suite = write_and_load(drafted(scylla_suite(tmp_path, EVERY_TIER)), tmp_path / "suite")

    assert suite.tiers == {
        "t0-01-vanilla": 0,
        "t0-03-full": 0,
        "t1-01-quality": 1,
        "t2-01-shell": 2,
        "t3-01-reviewer": 3,
        "t5-01-best": 5,
    }
    assert suite.spec.baseline == "t0-01-vanilla"


def built_on_vanilla(suite: LoadedSuite, name: str) -> Arm:
    assert suite.arm_files is not None
    return load_inheriting_arm(name, "t0-01-vanilla", suite.spec, suite.arm_files)[1]


def test_each_arm_lays_what_its_file_wants(tmp_path: Path) -> None:
    draft = drafted(scylla_suite(tmp_path, EVERY_TIER))

    suite = write_and_load(draft, tmp_path / "suite")

    arms = {name: suite.arms.get(name) or built_on_vanilla(suite, name) for name in suite.tiers}
    assert {name: {file.path for file in arm.overlay} for name, arm in arms.items()} == {
        "t0-01-vanilla": set(),
        "t0-03-full": {"CLAUDE.md"},
        "t1-01-quality": {".claude/skills/lint/SKILL.md"},
        "t2-01-shell": {".claude/settings.json"},
        "t3-01-reviewer": {".claude/agents/reviewer.md"},
        "t5-01-best": set(),
    }
    assert draft.files["arms/t0-03-full/CLAUDE.md"].content == b"This is a tool.\n\n\nKeep it small.\n"
    assert arms["t1-01-quality"].skills == ("lint",)
    assert arms["t2-01-shell"].mcp_servers["notes"].command[-1] == "@modelcontextprotocol/servers/notes"
    assert arms["t3-01-reviewer"].environment == {"CLAUDE_CODE_EXPERIMENTAL_AGENT_TEAMS": "1"}


def test_sub_tests_that_are_no_arms_are_named_with_the_reason(tmp_path: Path) -> None:
    notes = "\n".join(drafted(scylla_suite(tmp_path, EVERY_TIER)).notes)

    assert "no arm for t0-00-empty: agents keep their own system prompt" in notes
    assert "is kept of those with the same files: t1-02-again (as t1-01-quality)." in notes
    assert "the tests share does not have it: B09 (t0-03-full), skill gone (t1-02-again)." in notes
    assert "4 arms inherit the best arm of lower tiers" in notes


def test_tiers_that_no_test_takes_part_in_are_left_alone(tmp_path: Path) -> None:
    draft = drafted(scylla_suite(tmp_path))

    assert {arm.tier for arm in draft.spec.arms.values()} == {0, 1}


def test_another_agent_finds_words_where_it_looks(tmp_path: Path) -> None:
    draft = ScyllaSuiteReader().read(scylla_suite(tmp_path), SuiteOverrides(agent="codex", model="gpt-5"))

    assert "arms/t0-03-full/AGENTS.md" in draft.files
    assert {(arm.agent, arm.model) for arm in draft.spec.arms.values()} == {("codex", "gpt-5")}


def test_files_beside_a_tests_own_sub_test_are_laid(tmp_path: Path) -> None:
    own = {
        "t0/02-short/config.yaml": "name: Short\nextends_previous: false\n",
        "t0/02-short/CLAUDE.md": "Be short.",
        "t0/02-short/.claude/agents/helper.md": "Help.",
        "t0/02-short/README.md": "for people",
    }

    suite = write_and_load(drafted(one_test(tmp_path, own)), tmp_path / "suite")

    assert list(suite.arms) == ["plain", "t0-02-short"]
    assert [file.path for file in suite.arms["t0-02-short"].overlay] == [".claude/agents/helper.md", "CLAUDE.md"]


def test_tests_that_disagree_about_a_sub_test_are_named(tmp_path: Path) -> None:
    for number, words in (("101", "Be short."), ("102", "Be long.")):
        own = {"t0/02-style/config.yaml": "name: Style\n", "t0/02-style/CLAUDE.md": words}
        test = SCYLLA_TEST.replace("test-101", f"test-{number}")
        write(tmp_path / f"a/b/tests/test-{number}", {**scylla_files(test), **own})

    draft = drafted(tmp_path / "a/b/tests")

    assert draft.files["arms/t0-02-style/CLAUDE.md"].content == b"Be short."
    assert any("not taken: t0-02-style of test-102" in note for note in draft.notes)


def test_without_sub_tests_the_change_has_a_place(tmp_path: Path) -> None:
    assert list(drafted(one_test(tmp_path, {})).spec.arms) == ["baseline", "candidate"]


def test_the_purse_of_a_run_is_the_largest_that_a_test_allows(tmp_path: Path) -> None:
    tests = scylla_suite(tmp_path)
    write(tests / "test-101", {"config.yaml": "max_cost_usd: 3.0\ntimeout_seconds: 900\n"})
    write(tests / "test-102", {"config.yaml": "max_cost_usd: 5.0\n"})

    draft = drafted(tests)

    assert draft.spec.limits.budget_usd == 5
    assert any("a run may cost $5" in note for note in draft.notes)
    assert any("config.yaml beside it says 900" in note for note in draft.notes)


def test_the_repository_of_all_tests_may_be_named(tmp_path: Path) -> None:
    scylla_suite(tmp_path)

    assert ScyllaSuiteReader().recognises(tmp_path)
    assert len(drafted(tmp_path).tasks) == 2


@pytest.mark.parametrize(("here", "named"), [(".", "test-101"), ("test-101", "."), ("test-101", "test.yaml")])
def test_arms_are_found_from_wherever_one_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, here: str, named: str
) -> None:
    source = scylla_suite(tmp_path)
    monkeypatch.chdir(source / here)

    assert list(drafted(Path(named)).spec.arms) == ["t0-01-vanilla", "t0-03-full", "t1-01-quality"]


@pytest.mark.parametrize(
    ("file", "content", "said"),
    [
        ("test.yaml", "- a\n", "Expected `object`"),
        ("test.yaml", SCYLLA_TEST.replace("prompt_file", "promt_file"), "Did you mean `prompt_file`"),
        ("test.yaml", SCYLLA_TEST + "colour: red\n", "unknown field `colour`"),
        ("test.yaml", SCYLLA_TEST.replace('"prompt.md"', '"../../prompt.md"'), "leads out of"),
        ("test.yaml", SCYLLA_TEST.replace('"prompt.md"', '"/etc/passwd"'), "leads out of"),
        ("test.yaml", SCYLLA_TEST.replace('"prompt.md"', '"none.md"'), "none.md is not there"),
        ("test.yaml", SCYLLA_TEST.replace("https://", "ext::sh -c "), r"source\.repo"),
        ("test.yaml", SCYLLA_TEST.replace("0123456789abcdef" * 2 + "01234567", "--upload-pack"), r"source\.hash"),
        ("test.yaml", SCYLLA_TEST.replace("T0  #", "T9  #"), "T9"),
        ("test.yaml", "a: &a [1]\nb: *a\n", "refers to itself"),
        ("test.yaml", "a: " + "[" * 10_000, "test.yaml"),
        ("prompt.md", " ", "holds no text"),
        ("expected/rubric.yaml", "[]", "holds no table"),
        ("expected/rubric.yaml", "grading: {}", "criteria"),
        ("expected/rubric.yaml", SCYLLA_RUBRIC.replace("R002", "R001"), "the same name"),
        ("expected/rubric.yaml", SCYLLA_RUBRIC.replace("evaluation: binary", "evaluation: felt"), "felt"),
        ("expected/rubric.yaml", "categories: {a: {items: [{id: x, check: a}, {id: x, check: b}]}}", "same name"),
        ("expected/rubric.yaml", SCYLLA_RUBRIC.replace("criteria:\n", "criteria: 3\n    other:\n"), "rubric.yaml"),
        ("config.yaml", "max_cost_usd: much\n", "max_cost_usd"),
        ("t1/03-x/config.yaml", "skilz: [a]\n", "Did you mean `skills`"),
        ("t1/03-x/config.yaml", "resources: {skills: {names: [../../x]}}\n", "names"),
    ],
)
def test_what_is_wrong_is_a_sentence_with_the_file(tmp_path: Path, file: str, content: str, said: str) -> None:
    path = one_test(tmp_path, {file: content})

    with pytest.raises(UsageError, match=said) as refusal:
        drafted(path)
    assert str(path) in str(refusal.value)


def test_windows_text_is_read(tmp_path: Path) -> None:
    path = one_test(tmp_path, {})
    (path / "prompt.md").write_bytes("Grüße!".encode("cp1252"))

    assert drafted(path).tasks[0].instruction == "Grüße!"


def test_two_tests_with_one_id_are_refused_by_their_files(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(tmp_path / folder, scylla_files())

    with pytest.raises(UsageError, match=r"two/test\.yaml: 'test-101' is the id of .*one/test\.yaml too"):
        drafted(tmp_path)


def test_a_short_hash_is_taken_with_a_warning(tmp_path: Path) -> None:
    test = SCYLLA_TEST.replace("0123456789abcdef0123456789abcdef01234567", "0123456789ab")

    draft = drafted(one_test(tmp_path, {"test.yaml": test}))

    assert any("is not a full hash" in note for note in draft.notes)


def test_a_link_out_of_the_shared_folder_is_not_followed_and_costs_only_the_arms_that_need_it(tmp_path: Path) -> None:
    tests = scylla_suite(tmp_path)
    before = drafted(tests)
    (tmp_path / "tests/claude-code/shared/blocks/B09-secret.md").symlink_to("/etc/passwd")

    after = drafted(tests)

    (lost,) = set(before.spec.arms) - set(after.spec.arms)
    assert any(f"no arm for {lost}: " in note and "leads out of" in note for note in after.notes)
    assert not any(b"root:" in file.content for file in after.files.values())


def test_the_example_has_every_kind_of_resource() -> None:
    kinds = ("claude_md", "skills", "agents", "tools", "mcp_servers", "agent_teams", "inherit_best_from")

    assert all(any(kind in content for content in SCYLLA_SHARED.values()) for kind in kinds)
