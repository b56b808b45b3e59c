"""A draft becomes files that the strict suite loader accepts, or an error message."""

from pathlib import Path

import pytest

from outweigh.errors import UsageError
from outweigh.interop.suite_writer import suite_files
from outweigh.model.arm import ArmSpec
from outweigh.model.rubric import BinaryCriterion, Rubric, ScaledCriterion
from outweigh.model.suite import JudgeSpec, LimitsSpec, PolicySpec, SuiteSpec
from outweigh.model.task import CommandCheck, FileContainsCheck, GitSource, JsonValueCheck, TaskSettings
from outweigh.ports.suites import DraftFile, SuiteDraft, TaskDraft
from outweigh.testing.suite_reader_contract import write_and_load

SPEC = SuiteSpec(
    name="notes",
    tasks=["set by whoever writes it"],
    arms={
        "without": ArmSpec(agent="claude-code", model="some-model"),
        "with": ArmSpec(extends="without", skills=["skills/notes"]),
    },
    baseline="without",
    repeats=3,
    policy=PolicySpec(gates=["pass_rate"]),
    limits=LimitsSpec(timeout_seconds=60),
    judges=[JudgeSpec(name="reviewer", backend="anthropic", options={"max_tokens": 100})],
)
SETTINGS = TaskSettings(
    checks=[
        FileContainsCheck(name="says so", path="notes.md", regex=r'^# "\w+"'),
        JsonValueCheck(name="value", path="a.json", at="x.0", equals={"deep": [1, "two"]}),
        CommandCheck(name="runs", run=["sh", "-c", "true"], required=False),
    ],
    rubric=Rubric(
        criteria=[
            BinaryCriterion(name="complete", description='Every "point"\nis there.'),
            ScaledCriterion(name="clear", description="Clear.", max=5, anchors={"5": "at once"}),
        ],
        notes="Be fair.",
    ),
)
SKILL = {"skills/notes/SKILL.md": DraftFile(content=b"---\nname: notes\n---\n")}


def a_task(name: str = "write", **changes: object) -> TaskDraft:
    given: dict[str, object] = {"name": name, "instruction": "Write notes.", "settings": SETTINGS, **changes}
    return TaskDraft(**given)  # type: ignore[arg-type]


def a_draft(*tasks: TaskDraft, **changes: object) -> SuiteDraft:
    given: dict[str, object] = {"spec": SPEC, "tasks": tasks or (a_task(),), "files": SKILL, **changes}
    return SuiteDraft(**given)  # type: ignore[arg-type]


def test_what_was_drafted_is_what_is_loaded(tmp_path: Path) -> None:
    suite = write_and_load(a_draft(), tmp_path)

    assert suite.spec.arms == SPEC.arms
    assert (suite.spec.policy, suite.spec.limits, suite.spec.judges) == (SPEC.policy, SPEC.limits, SPEC.judges)
    assert suite.arms["with"].skills == ("notes",)
    (task,) = suite.tasks
    assert (task.id, task.instruction) == ("write", "Write notes.\n")
    assert list(task.checks) == SETTINGS.checks
    assert task.rubric == SETTINGS.rubric


def test_files_of_a_task_are_its_workspace_a_dockerfile_too(tmp_path: Path) -> None:
    files = {
        "environment/workspace/Dockerfile": DraftFile(content=b"FROM scratch\n"),
        "environment/workspace/run.sh": DraftFile(content=b"#!/bin/sh\n", executable=True),
    }

    suite = write_and_load(a_draft(a_task(files=files)), tmp_path)

    workspace = suite.tasks[0].workspace
    assert workspace is not None
    assert workspace.path == str(tmp_path / "tasks/write/environment/workspace")  # type: ignore[union-attr]
    assert workspace.without == []  # type: ignore[union-attr]
    assert (tmp_path / "tasks/write/environment/workspace/run.sh").stat().st_mode & 0o100


def test_a_repository_is_named_and_not_fetched(tmp_path: Path) -> None:
    source = GitSource(repository="https://git.example.org/nobody/nothing", commit="0" * 40)

    suite = write_and_load(a_draft(a_task(settings=TaskSettings(workspace=source, checks=SETTINGS.checks))), tmp_path)

    assert suite.tasks[0].workspace == source


def test_what_was_not_carried_over_stands_beside_the_suite() -> None:
    files = suite_files(a_draft(notes=("The hooks of task 1\nwere left out.", "So was the weather.")))

    assert files["NOTES.md"].content.decode().endswith("- The hooks of task 1 were left out.\n- So was the weather.\n")
    assert "NOTES.md" not in suite_files(a_draft())


def test_comments_stand_above_what_they_speak_of() -> None:
    text = suite_files(a_draft(comments={"": "From elsewhere.", "arms.with": "The change."}))["suite.toml"].content

    assert text.startswith(b"# From elsewhere.\nname")
    assert b"# The change.\n[arms.with]\n" in text


@pytest.mark.parametrize("path", ["../x", "/x", "a/../../x", "a\0", ""])
def test_a_path_that_leads_out_is_refused(path: str) -> None:
    with pytest.raises(UsageError, match="leads out of the suite's folder"):
        suite_files(a_draft(files={**SKILL, path: DraftFile(content=b"")}))


def test_a_task_cannot_lead_out_by_its_name() -> None:
    with pytest.raises(UsageError, match="leads out"):
        suite_files(a_draft(a_task("../../etc")))


def test_two_tasks_of_one_name_are_refused() -> None:
    with pytest.raises(UsageError, match=r"two files of the suite would be 'tasks/write/task.toml'"):
        suite_files(a_draft(a_task(), a_task()))


def test_a_file_where_a_folder_must_be_is_refused() -> None:
    with pytest.raises(UsageError, match="a file and a folder"):
        suite_files(a_draft(files={**SKILL, "tasks": DraftFile(content=b"")}))
