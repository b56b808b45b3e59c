"""What a suite tells judges, and what a store shows them."""

from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_fixtures import loaded, shell, write_suite

from outweigh.engine.load_suite import identifying_names, load_suite, solution_text, tasks_with_rubric
from outweigh.errors import UsageError
from outweigh.judging.material import load_run_material
from outweigh.testing.builders import a_run
from outweigh.verdict.policy import check_policy

RUBRIC = {"criteria": [{"type": "binary", "name": "works", "description": "It works."}]}
JUDGE = {"name": "judge", "backend": "command", "options": {"command": "true"}}


def test_a_rubric_may_stand_in_a_file_of_the_task(tmp_path: Path) -> None:
    suite = write_suite(tmp_path, {"a": shell("true")}, task={"rubric_file": "rubric.yaml"})
    with pytest.raises(UsageError, match=r"rubric\.yaml cannot be read"):
        load_suite(suite, check_policy=check_policy)
    (suite / "task-1" / "rubric.yaml").write_text("categories: {clarity: {weight: 1, description: Clear}}\n")

    rubric = load_suite(suite, check_policy=check_policy).tasks[0].rubric

    assert rubric is not None
    assert rubric.criteria[0].name == "clarity"


def test_another_rubric_is_the_same_task(tmp_path: Path) -> None:
    with_one = loaded(tmp_path / "one", {"a": shell("true")}, task={"rubric": RUBRIC}).tasks[0]
    without = loaded(tmp_path / "none", {"a": shell("true")}).tasks[0]

    assert with_one.checksum == without.checksum


def test_judges_without_any_rubric_are_refused(tmp_path: Path) -> None:
    suite = loaded(tmp_path, {"a": shell("true")}, judges=[JUDGE])

    with pytest.raises(UsageError, match="none of its tasks has a rubric"):
        tasks_with_rubric(suite)


HOSTED = {"anthropic": {"url": "http://127.0.0.1:9/v1", "key": "A"}, "openai": {"url": "http://127.0.0.1:9", "key": ""}}


@pytest.mark.parametrize(
    ("backend", "options", "located"),
    [
        ("anthropic", {}, {"base_url": "http://127.0.0.1:9", "key": "A"}),
        ("anthropic", {"key": "MINE"}, {"base_url": "http://127.0.0.1:9", "key": "MINE"}),
        ("anthropic", {"base_url": "http://mine"}, {"base_url": "http://mine"}),
        ("openai-compatible", {}, {"base_url": "http://127.0.0.1:9/v1", "key": ""}),
        ("command", {"command": "true"}, {"command": "true"}),
    ],
)
def test_a_judge_without_an_address_is_asked_where_the_gateway_sends_requests(
    tmp_path: Path, backend: str, options: dict[str, str], located: dict[str, str]
) -> None:
    judge = {"name": "judge", "backend": backend, "model": "m", "options": options}

    suite = loaded(tmp_path, {"a": shell("true")}, task={"rubric": RUBRIC}, judges=[judge], gateway=HOSTED)

    assert suite.spec.judges[0].options == located


@pytest.mark.parametrize("address", ["http://127.0.0.1:9/v1", "http://127.0.0.1:9/v1beta/openai"])
def test_a_version_in_the_address_of_the_gateway_is_kept(tmp_path: Path, address: str) -> None:
    judge = {"name": "judge", "backend": "openai-compatible", "model": "m"}
    gateway = {"openai": {"url": address, "key": ""}}

    suite = loaded(tmp_path, {"a": shell("true")}, task={"rubric": RUBRIC}, judges=[judge], gateway=gateway)

    assert suite.spec.judges[0].options["base_url"] == address


def test_a_provider_that_the_suite_leaves_alone_changes_no_judge(tmp_path: Path) -> None:
    judge = {"name": "judge", "backend": "anthropic", "model": "m"}

    suite = loaded(tmp_path, {"a": shell("true")}, task={"rubric": RUBRIC}, judges=[judge])

    assert suite.spec.judges[0].options == {}


def test_where_a_judge_is_asked_does_not_change_its_calibration(tmp_path: Path) -> None:
    judge = {"name": "judge", "backend": "anthropic", "model": "m"}
    one, other = (
        loaded(tmp_path / name, {"a": shell("true")}, task={"rubric": RUBRIC}, judges=[judge], gateway=gateway)
        for name, gateway in (("hosted", HOSTED), ("plain", {}))
    )

    assert one.spec.judges[0].setting_sha256 == other.spec.judges[0].setting_sha256


def test_the_solution_is_shown_only_where_the_task_reveals_it(tmp_path: Path) -> None:
    settings: dict[str, dict[str, Any]] = {
        "closed": {"rubric": RUBRIC},
        "open": {"rubric": RUBRIC, "reveal_solution": True},
    }
    suites = {name: write_suite(tmp_path / name, {"a": shell("true")}, task=task) for name, task in settings.items()}
    for suite in suites.values():
        solution = suite / "task-1" / "solution"
        (solution / "more").mkdir(parents=True)
        (solution / "solve.sh").write_text("cp more/answer .\n")
        (solution / "more" / "answer").write_bytes(b"42\xff\n")

    texts = {
        name: solution_text(load_suite(suite, check_policy=check_policy).tasks[0]) for name, suite in suites.items()
    }

    assert texts == {"closed": None, "open": "more/answer:\n42\\xff\n\n\nsolve.sh:\ncp more/answer .\n"}


def test_everything_that_tells_arms_apart_is_an_identifying_name(tmp_path: Path) -> None:
    skill = tmp_path / "suite" / "pdf-forms"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: pdf-forms\ndescription: forms\n---\n")
    arms: dict[str, dict[str, Any]] = {
        "plain": {"agent": "claude-code", "model": "claude-sonnet-4-5"},
        "skilful": {"agent": "claude-code", "model": "claude-sonnet-4-5", "skills": ["pdf-forms"]},
    }
    suite = loaded(tmp_path, arms)

    names = identifying_names(suite.arms.values())

    assert set(names) >= {"plain", "skilful", "claude-sonnet-4-5", "pdf-forms", ".claude/skills/pdf-forms/SKILL.md"}


class TestMaterial:
    def test_the_best_stored_artifact_is_shown(self) -> None:
        kept = {"1" * 64: b"+x", "2" * 64: b"not a trajectory", "3" * 64: b"said"}
        run = a_run(artifacts={"diff.patch": "1" * 64, "trajectory.json": "2" * 64, "transcript.txt": "3" * 64})

        shown = load_run_material(run, kept.__getitem__)

        assert (shown.diff, shown.conversation) == ("+x", "said")

    def test_a_run_of_the_engine_without_a_diff_changed_nothing(self) -> None:
        assert load_run_material(a_run(setup_seconds=0.1), lambda _: b"").diff == ""

    def test_what_an_imported_run_changed_is_unknown(self) -> None:
        assert load_run_material(a_run(), lambda _: b"").diff is None

    def test_a_run_of_another_harness_without_a_diff_may_have_changed_anything(self) -> None:
        elsewhere = a_run(setup_seconds=0.1, check_command_count=None)

        assert load_run_material(elsewhere, lambda _: b"").diff is None

    def test_bytes_that_are_no_text_are_shown_as_such(self) -> None:
        assert load_run_material(a_run(artifacts={"diff.patch": "1" * 64}), lambda _: b"+\xff").diff == "+\\xff"
