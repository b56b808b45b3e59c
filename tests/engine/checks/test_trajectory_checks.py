"""Checks of what an agent did: its tool calls, what it printed, and the files that it created."""

from pathlib import Path
from typing import Any

import pytest
from tests.trajectories import a_step, a_trajectory

from outweigh.engine.checks.trajectory_checks import (
    SEARCHED_TRANSCRIPT,
    check_created_files,
    check_tool_calls,
    check_tool_order,
    check_transcript_contains,
    kept_transcript,
    shown_calls,
)
from outweigh.model.trajectory_checks import (
    CreatedFilesCheck,
    ToolCallPattern,
    ToolCallsCheck,
    ToolOrderCheck,
    TranscriptContainsCheck,
)
from outweigh.transcript.tool_calls import NormalizedCall

TRAJECTORY = a_trajectory(
    a_step("Read", {"file_path": "notes.md"}),
    a_step("Write", {"file_path": "out.md", "content": "naïve"}),
    a_step("Read", {"file_path": "out.md"}),
    a_step(said="Done."),
)


def calls(trajectory: bytes = TRAJECTORY) -> tuple[NormalizedCall, ...]:
    found = shown_calls({"trajectory.json": trajectory}, 3)
    assert found is not None
    return found


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ({"tool": "Read"}, True),
        ({"tool": "Bash"}, False),
        ({"tool": "read"}, False),
        ({"tool": "Re*"}, True),
        ({"tool": "Read", "at_least": 2}, True),
        ({"tool": "Read", "at_least": 3}, False),
        ({"tool": "Read", "at_most": 2}, True),
        ({"tool": "Read", "at_most": 1}, False),
        ({"tool": "Bash", "at_least": 0, "at_most": 0}, True),
        ({"tool": "Read", "at_least": 0, "at_most": 0}, False),
        ({"tool": "Read", "input_regex": r'"file_path":"out\.md"', "at_most": 1}, True),
        ({"tool": "Read", "input_regex": "^nothing$"}, False),
        ({"tool": "Write", "input_regex": r'^\{"file_path":"out.md","content":"naïve"\}$'}, True),
    ],
)
def test_the_number_of_fitting_calls_must_be_within_its_limits(check: dict[str, Any], passed: bool) -> None:
    outcome = check_tool_calls(ToolCallsCheck(name="used", **check), calls())

    assert outcome.passed is passed
    assert (outcome.detail is None) is passed


@pytest.mark.parametrize(
    ("first", "then", "passed"),
    [
        ({"tool": "Read"}, {"tool": "Write"}, True),
        ({"tool": "Write"}, {"tool": "Read"}, False),
        ({"tool": "Write"}, {"tool": "Read", "input_regex": "out"}, True),
        ({"tool": "Read"}, {"tool": "Read"}, False),
        ({"tool": "Read"}, {"tool": "Bash"}, False),
        ({"tool": "Bash"}, {"tool": "Read"}, False),
    ],
)
def test_the_first_call_of_one_must_come_before_the_first_of_the_other(
    first: dict[str, Any], then: dict[str, Any], passed: bool
) -> None:
    check = ToolOrderCheck(name="order", first=ToolCallPattern(**first), then=ToolCallPattern(**then))

    outcome = check_tool_order(check, calls())

    assert outcome.passed is passed
    assert (outcome.detail is None) is passed


@pytest.mark.parametrize(
    ("artifacts", "count"),
    [
        ({}, 3),
        ({"trajectory.json": b"{torn"}, 3),
        ({"trajectory.json": TRAJECTORY}, None),
        ({"trajectory.json": b""}, 0),
    ],
)
def test_calls_that_were_not_kept_or_are_not_shown_neither_pass_nor_fail(
    artifacts: dict[str, bytes], count: int | None
) -> None:
    found = shown_calls(artifacts, count)
    never = ToolCallsCheck(name="never", tool="Bash", at_least=0, at_most=0)
    order = ToolOrderCheck(name="order", first=ToolCallPattern(tool="Read"), then=ToolCallPattern(tool="Write"))

    assert found is None
    assert check_tool_calls(never, found).passed is None
    assert check_tool_order(order, found).passed is None


def test_an_agent_that_called_nothing_has_called_nothing() -> None:
    silent = shown_calls({"trajectory.json": a_trajectory(a_step(said="Done."))}, 0)

    assert check_tool_calls(ToolCallsCheck(name="used", tool="Read"), silent).passed is False


def test_a_search_in_inputs_without_end_is_a_failure_and_not_a_hang() -> None:
    endless = calls(a_trajectory(a_step("Bash", {"command": "a" * 40 + "!"})))

    outcome = check_tool_calls(ToolCallsCheck(name="used", tool="Bash", input_regex="(a+)+$"), endless)

    assert outcome.passed is False


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ({"text": '"tool_use"'}, True),
        ({"text": "nothing"}, False),
        ({"regex": "(?i)TOOL_USE"}, True),
        ({"text": "nothing", "absent": True}, True),
        ({"text": "tool_use", "absent": True}, False),
        ({"regex": "tool_(use|result)", "count": 2}, True),
        ({"regex": "tool_(use|result)", "count": 1}, False),
        ({"text": "tool", "count": 2}, True),
        ({"text": "tool", "count": 0}, False),
    ],
)
def test_what_the_agent_printed_is_searched(check: dict[str, Any], passed: bool) -> None:
    printed = b'{"type":"tool_use"}\n{"type":"tool_result"}\n'

    outcome = check_transcript_contains(TranscriptContainsCheck(name="said", **check), printed)

    assert outcome.passed is passed
    assert (outcome.detail is None) is passed


@pytest.mark.parametrize("demand", [{}, {"absent": True}, {"count": 0}, {"count": 1}])
def test_a_transcript_longer_than_what_is_searched_does_not_help_the_agent(demand: dict[str, Any]) -> None:
    check = TranscriptContainsCheck(name="said", text="secret", **demand)

    assert check_transcript_contains(check, b"secret" + b"x" * SEARCHED_TRANSCRIPT).passed is False


def test_a_transcript_that_was_not_kept_neither_passes_nor_fails() -> None:
    check = TranscriptContainsCheck(name="said", text="secret", absent=True)

    assert check_transcript_contains(check, kept_transcript({"diff.patch": b"x"})).passed is None


def test_the_transcript_is_what_was_printed_else_the_trajectory() -> None:
    kept = {"trajectory.json": b"steps", "stdout.txt": b"printed", "transcript.txt": b"events"}

    assert kept_transcript(kept) == b"events"
    assert kept_transcript({**kept, "transcript.txt": b""}) == b"printed"
    assert kept_transcript({"trajectory.json": b"steps"}) == b"steps"


@pytest.fixture
def trees(tmp_path: Path) -> tuple[Path, Path]:
    before, after = tmp_path / "before", tmp_path / "after"
    for root in (before, after):
        (root / "docs").mkdir(parents=True)
        (root / "docs/old.md").write_text("old")
    (after / "docs/old.md").write_text("changed")
    (after / "docs/deep").mkdir()
    (after / "docs/deep/new.md").write_text("new")
    (after / "top.txt").write_text("new")
    (after / "CLAUDE.md").write_text("laid by the arm")
    (after / ".git").mkdir()
    (after / ".git/HEAD").write_text("ref")
    return before, after


@pytest.mark.parametrize(
    ("check", "passed"),
    [
        ({"glob": "top.txt"}, True),
        ({"glob": "*.txt"}, True),
        ({"glob": "*.md"}, False),
        ({"glob": "**/*.md"}, True),
        ({"glob": "docs/*.md"}, False),
        ({"glob": "docs/old.md"}, False),
        ({"glob": "docs"}, False),
        ({"glob": "CLAUDE.md"}, False),
        ({"glob": "**/HEAD"}, False),
        ({"glob": "docs/old.md", "absent": True}, True),
        ({"glob": "top.txt", "absent": True}, False),
        ({"glob": "**", "count": 2}, True),
        ({"glob": "**", "count": 1}, False),
        ({"regex": "^docs/deep"}, True),
        ({"regex": "old"}, False),
        ({"regex": r"\n", "count": 1}, True),
        ({"regex": "new", "absent": True}, False),
    ],
)
def test_only_files_that_were_not_there_before_count_as_created(
    trees: tuple[Path, Path], check: dict[str, Any], passed: bool
) -> None:
    before, after = trees

    outcome = check_created_files(CreatedFilesCheck(name="made", **check), after, before, {"CLAUDE.md"})

    assert outcome.passed is passed
    assert (outcome.detail is None) is passed
