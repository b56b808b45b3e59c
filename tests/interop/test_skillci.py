"""A suite of SkillCI becomes a suite: its assertions are required checks, its fixtures workspaces, its answers stay
hidden.
"""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interop.foreign_suites import skillci_suite, skillci_task, write

from outweigh.errors import UsageError
from outweigh.interop.skillci import SkillCiSuiteReader
from outweigh.model.task import CommandCheck, FileContainsCheck, FileExistsCheck, TestSuiteCheck
from outweigh.ports.suites import SuiteDraft, SuiteOverrides, SuiteReader, TaskDraft
from outweigh.testing.suite_reader_contract import SUITE_OVERRIDES, SuiteReaderContract, write_and_load

NO_OVERRIDES = SuiteOverrides(agent=None, model=None)


class TestSkillCi(SuiteReaderContract):
    def reader(self) -> SuiteReader:
        return SkillCiSuiteReader()

    def example(self, folder: Path) -> Path:
        return skillci_suite(folder)


def drafted(path: Path) -> SuiteDraft:
    return SkillCiSuiteReader().read(path, SUITE_OVERRIDES)


def the_task(folder: Path, **changed: Any) -> TaskDraft:
    write(folder, {"task.json": json.dumps(skillci_task(**changed))})
    (task,) = drafted(folder).tasks
    return task


def test_every_kind_of_check_becomes_a_required_one(tmp_path: Path) -> None:
    checks = the_task(tmp_path).settings.checks

    assert checks == [
        FileExistsCheck(name="1-file-exists", path="price.sh"),
        FileContainsCheck(name="2-file-contains", path="price.sh", text="printf"),
        CommandCheck(name="3-command", run='test "$(sh price.sh)" = 4'),
        CommandCheck(name="4-command-fails", run=["sh", "-c", '! sh -c "$1"', "sh", "grep -q TODO price.sh"]),
        TestSuiteCheck(name="5-test-suite", run="sh tests/run.sh"),
    ]
    assert all(check.required for check in checks)


def test_a_folder_may_be_what_must_exist(tmp_path: Path) -> None:
    (tmp_path / "src").mkdir()
    paths = [{"kind": "fileExists", "path": path} for path in ("src", "dist/", "a.txt")]

    checks = the_task(tmp_path, checks=paths).settings.checks

    assert [getattr(check, "run", None) for check in checks] == [["test", "-e", "src"], ["test", "-e", "dist"], None]


def test_prompt_time_and_rubric_are_carried_over(tmp_path: Path) -> None:
    task = the_task(tmp_path)

    assert task.instruction == "Make `price.sh` print whole euros."
    assert task.settings.timeout_seconds == 90
    assert task.settings.rubric is not None
    (criterion,) = task.settings.rubric.criteria
    assert criterion.description == "Is the change as small as it can be?"


def test_what_is_left_out_has_the_usual_value(tmp_path: Path) -> None:
    write(tmp_path, {"task.json": '{"id":"a","title":"A","agent":"codex","fixtureDir":".","prompt":"Do it."}'})

    draft = drafted(tmp_path)

    assert draft.tasks[0].settings.timeout_seconds == 120
    assert draft.tasks[0].settings.checks == []
    assert draft.tasks[0].settings.rubric is None


def test_the_agent_finds_the_fixture_and_never_the_task_file(tmp_path: Path) -> None:
    greeting, prices = drafted(skillci_suite(tmp_path)).tasks

    assert set(greeting.files) == {"environment/workspace/README.md"}
    assert set(prices.files) == {"environment/workspace/price.sh", "environment/workspace/tests/run.sh"}


def test_a_task_above_others_does_not_hold_their_answers(tmp_path: Path) -> None:
    write(skillci_suite(tmp_path), {"task.json": json.dumps(skillci_task(id="all"))})

    everything = next(task for task in drafted(tmp_path).tasks if task.name == "all")

    assert not [path for path in everything.files if path.endswith("task.json")]


def test_configurations_beside_the_tasks_are_the_arms(tmp_path: Path) -> None:
    write(skillci_suite(tmp_path), {"config/baseline/CLAUDE.md": "Short.", "config/candidate/CLAUDE.md": "Long."})

    suite = write_and_load(drafted(tmp_path), tmp_path / "written")

    assert [arm.overlay[0].path for arm in suite.arms.values()] == ["CLAUDE.md", "CLAUDE.md"]
    assert suite.spec.baseline == "baseline"
    assert suite.arms["baseline"].fingerprint != suite.arms["candidate"].fingerprint


def test_without_them_the_change_has_a_place_and_a_note(tmp_path: Path) -> None:
    draft = drafted(skillci_suite(tmp_path))

    assert list(draft.spec.arms) == ["baseline", "candidate"]
    assert any("put files, skills or instructions there" in note for note in draft.notes)
    assert any("weight of the rubric in 'round-prices'" in note for note in draft.notes)


def test_one_task_file_is_a_suite_too(tmp_path: Path) -> None:
    path = skillci_suite(tmp_path) / "prices" / "task.json"

    assert SkillCiSuiteReader().recognises(path)
    assert [task.name for task in drafted(path).tasks] == ["round-prices"]


def test_the_agent_that_all_tasks_name_is_the_suites(tmp_path: Path) -> None:
    write(tmp_path, {"task.json": json.dumps(skillci_task(agent="codex"))})

    theirs, mine = (
        SkillCiSuiteReader().read(tmp_path, NO_OVERRIDES),
        SkillCiSuiteReader().read(tmp_path, SUITE_OVERRIDES),
    )

    assert theirs.spec.arms["baseline"].agent == "codex"
    assert mine.spec.arms["baseline"].agent == "claude-code", "the user wins"
    assert any("The tasks are for codex, and the arms have claude-code" in note for note in mine.notes)


def test_an_agent_that_is_not_known_here_is_said(tmp_path: Path) -> None:
    write(tmp_path, {"task.json": json.dumps(skillci_task(agent="cursor"))})

    draft = SkillCiSuiteReader().read(tmp_path, SUITE_OVERRIDES)

    assert draft.spec.arms["baseline"].agent == "claude-code"
    assert any("cursor is not known here" in note for note in draft.notes)


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"prompt": " \n"}, r"\$\.prompt"),
        ({"prompt": "a\0b"}, r"\$\.prompt"),
        ({"promt": "Do it."}, "unknown field `promt`. Did you mean `prompt`"),
        ({"zzz": 1}, "take it out"),
        ({"timeoutMs": 0}, r"\$\.timeoutMs"),
        ({"timeoutMs": "90s"}, r"\$\.timeoutMs"),
        ({"agent": "emacs"}, r"\$\.agent"),
        ({"fixtureDir": "../.."}, "leads out of"),
        ({"fixtureDir": "/etc"}, "leads out of"),
        ({"fixtureDir": "nowhere"}, "'nowhere' is not a folder"),
        ({"checks": [{"kind": "fileExists", "path": "../x"}]}, "check 1: '../x' leads out of the workspace"),
        ({"checks": [{"kind": "fileExists", "path": "/etc/passwd"}]}, "leads out of the workspace"),
        ({"checks": [{"kind": "vibes"}]}, "vibes"),
        ({"checks": {}}, r"\$\.checks"),
        ({"judgeRubric": {"criteria": ""}}, "criteria"),
    ],
)
def test_what_is_wrong_is_a_sentence_with_the_file(tmp_path: Path, changed: dict[str, Any], said: str) -> None:
    write(tmp_path / "suite", {"task.json": json.dumps(skillci_task(**changed))})

    with pytest.raises(UsageError, match=said) as refusal:
        drafted(tmp_path / "suite")
    assert str(refusal.value).startswith(str(tmp_path / "suite" / "task.json"))


@pytest.mark.parametrize("content", ["[]", "3", '"prompt"', '{"id": "a"}'])
def test_what_is_no_task_is_refused(tmp_path: Path, content: str) -> None:
    write(tmp_path, {"task.json": content})

    assert not SkillCiSuiteReader().recognises(tmp_path)
    with pytest.raises(UsageError, match=r"task\.json"):
        drafted(tmp_path)


def test_two_tasks_with_one_id_are_refused_by_their_files(tmp_path: Path) -> None:
    for folder in ("one", "two"):
        write(tmp_path / folder, {"task.json": json.dumps(skillci_task())})

    with pytest.raises(UsageError, match=r"two/task\.json: 'round-prices' is the id of .*one/task\.json too"):
        drafted(tmp_path)


def test_windows_text_is_read(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_bytes(json.dumps(skillci_task(prompt="Grüße!"), ensure_ascii=False).encode("cp1252"))

    assert drafted(tmp_path).tasks[0].instruction == "Grüße!"


def test_a_fixture_with_a_link_to_the_outside_is_refused(tmp_path: Path) -> None:
    folder = skillci_suite(tmp_path / "suite")
    (folder / "prices" / "passwd").symlink_to("/etc/passwd")

    with pytest.raises(UsageError, match="leads out"):
        drafted(folder)


def test_a_file_that_no_person_wrote_is_refused(tmp_path: Path) -> None:
    (tmp_path / "task.json").write_bytes(b" " * (17 * 2**20) + b"{}")

    with pytest.raises(UsageError, match="more than 16 MiB"):
        drafted(tmp_path)
