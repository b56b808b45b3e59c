"""`outweigh init --from` and `--from-skill`: a suite that can be used, or a sentence, and nothing overwritten."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interop.skill_creator.skills import EVALS, a_skill, one_eval

from outweigh.engine.load_suite import load_suite
from outweigh.verdict.policy import check_policy


def found_in(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


@pytest.mark.parametrize("option", ["--from", "--from-skill"])
def test_a_skill_becomes_a_suite_and_the_next_commands_are_named(outweigh: Any, tmp_path: Path, option: str) -> None:
    skill = a_skill(tmp_path / "skill")

    answer = outweigh("init", str(tmp_path / "suite"), option, str(skill))

    assert (answer.code, answer.err) == (0, "")
    assert "was read as skill-creator: 2 tasks, without_skill and with_skill." in answer.out
    assert "2 tasks can show no more than a direction: a verdict takes at least 6, and " in answer.out
    assert f"  cd {tmp_path / 'suite'}\n  outweigh doctor" in answer.out
    assert "\n  outweigh verdict " in answer.out
    assert found_in(tmp_path / "suite") == [
        ".gitignore",
        "NOTES.md",
        "skills/csv-report/SKILL.md",
        "skills/csv-report/scripts/count.sh",
        "suite.toml",
        "tasks/eval-1/environment/workspace/data/sales.csv",
        "tasks/eval-1/instruction.md",
        "tasks/eval-1/task.toml",
        "tasks/eval-2/instruction.md",
        "tasks/eval-2/task.toml",
    ]
    assert (tmp_path / "suite/skills/csv-report/scripts/count.sh").stat().st_mode & 0o100


def test_agent_and_model_are_for_the_user_to_say(outweigh: Any, tmp_path: Path) -> None:
    outweigh(
        "init", str(tmp_path / "suite"), "--from-skill", str(a_skill(tmp_path / "skill")), "-a", "codex", "-m", "some"
    )

    arms = load_suite(tmp_path / "suite", check_policy=check_policy).arms
    assert [(arm.agent, arm.model) for arm in arms.values()] == [("codex", "some")] * 2


def test_what_was_not_carried_over_is_said_and_kept(outweigh: Any, tmp_path: Path) -> None:
    cases = [*EVALS, *({"id": f"no-{number}"} for number in range(9))]

    answer = outweigh("init", str(tmp_path / "suite"), "--from-skill", str(a_skill(tmp_path / "skill", cases)))

    assert "  - eval 'no-0' was left out: it has no prompt." in answer.out
    assert f"and 2 more, all in {tmp_path / 'suite/NOTES.md'}" in answer.out
    assert "eval 'no-8' was left out" in (tmp_path / "suite/NOTES.md").read_text()


def test_a_folder_of_no_known_format_is_refused_with_the_list(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "README.md").write_text("nothing")

    answer = outweigh("init", str(tmp_path / "suite"), "--from", str(tmp_path))

    assert answer.code == 2
    assert "is not a suite of a format that is known here" in answer.err
    assert "skill-creator: a skill's folder with evals/evals.json or trigger evals, or one of these files" in answer.err
    assert not (tmp_path / "suite").exists()


def test_a_folder_that_has_suites_in_it_is_refused_with_their_names(outweigh: Any, tmp_path: Path) -> None:
    one, other = a_skill(tmp_path / "project/skills/one"), a_skill(tmp_path / "project/skills/other")
    a_skill(tmp_path / "project/.cache/third")

    answer = outweigh("init", str(tmp_path / "suite"), "--from", str(tmp_path / "project"))

    assert answer.code == 2
    assert f"is not a suite itself, but there is one in it: name {str(one)!r}, {str(other)!r}." in answer.err


def test_nothing_is_overwritten_and_nothing_half_written(outweigh: Any, tmp_path: Path) -> None:
    (tmp_path / "suite/tasks/eval-1").mkdir(parents=True)
    (tmp_path / "suite/tasks/eval-1/task.toml").write_text("mine")

    answer = outweigh("init", str(tmp_path / "suite"), "--from-skill", str(a_skill(tmp_path / "skill")))

    assert answer.code == 2
    assert "is already there, and nothing is overwritten" in answer.err
    assert found_in(tmp_path / "suite") == ["tasks/eval-1/task.toml"]


@pytest.mark.parametrize("inside", ["", "suite", "evals/suite"])
def test_a_suite_never_becomes_a_part_of_the_skill(outweigh: Any, tmp_path: Path, inside: str) -> None:
    skill = a_skill(tmp_path / "skill")
    before = found_in(skill)

    answer = outweigh("init", str(skill / inside), "--from-skill", str(skill))

    assert answer.code == 2
    assert f"outweigh init {tmp_path / 'skill-suite'}" in answer.err
    assert found_in(skill) == before


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--from", "nowhere"], "there is no nowhere"),
        (["--from-skill", "nowhere"], "nowhere; name a skill's folder"),
        (["--from-skill", "SKILL", "-a", "claud-code"], "Did you mean 'claude-code'?"),
        (["--from-skill", "SKILL", "-a", "aider"], "aider does not support skills"),
        (["-a", "codex"], "name it with --from, --from-skill or --from-git"),
        (["--from", "SKILL", "--from-skill", "SKILL"], "not allowed with argument"),
    ],
)
def test_what_cannot_be_done_is_one_paragraph(outweigh: Any, tmp_path: Path, arguments: list[str], said: str) -> None:
    skill = str(a_skill(tmp_path / "skill"))

    answer = outweigh("init", str(tmp_path / "suite"), *(skill if word == "SKILL" else word for word in arguments))

    assert answer.code == 2
    assert answer.err.startswith("outweigh: ")
    assert said in answer.err
    assert not (tmp_path / "suite").exists()


def test_a_skill_without_evals_is_told_how_to_come_by_them(outweigh: Any, tmp_path: Path) -> None:
    answer = outweigh("init", str(tmp_path / "suite"), "--from-skill", str(a_skill(tmp_path / "skill", False)))

    assert answer.code == 2
    assert "is a skill without evals. Write" in answer.err
    assert "skills = [PATH]" in answer.err


def test_doctor_takes_what_was_written_and_needs_the_judge_that_decides(outweigh: Any, tmp_path: Path) -> None:
    checked = one_eval(assertions=[{"type": "file_exists", "path": "report.md"}])["evals"]
    skill = a_skill(tmp_path / "skill", {"evals": [*EVALS, *checked]})
    outweigh("init", str(tmp_path / "suite"), "--from-skill", str(skill))

    answer = outweigh("doctor", "-c", str(tmp_path / "suite"), "--format", "json")

    examined = json.loads(answer.out)
    assert [task["fit"] for task in examined["tasks"]] == [True] * 3
    judge = next(part for part in examined["parts"] if part["kind"] == "judge")
    assert (judge["name"], judge["required"]) == ("reviewer", True)


def test_a_skill_may_have_evals_of_another_program(outweigh: Any, tmp_path: Path) -> None:
    skill = a_skill(tmp_path / "skill", False)
    (skill / "tests").mkdir()
    (skill / "tests/eval.yaml").write_text(
        "scenarios:\n- name: count\n  prompt: Count.\n  assertions:\n  - type: file_exists\n    path: report.md\n"
    )

    answer = outweigh("init", str(tmp_path / "suite"), "--from-skill", str(skill))

    assert answer.code == 0, answer.err
    assert "was read as skill-validator" in answer.out
