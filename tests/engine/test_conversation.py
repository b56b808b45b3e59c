"""What the user says after each answer, and which mistakes in turns are refused."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Event
from typing import Any

import msgspec
import pytest
from tests.engine.engine_fixtures import write_task

from outweigh.engine.checks.check_sandbox import CheckSandboxRequest
from outweigh.engine.checks.evaluate import CheckSubject
from outweigh.engine.conversation import CheckPoint, TaskConversation
from outweigh.engine.load_task import load_task
from outweigh.engine.sandbox_request import build_sandbox_request
from outweigh.errors import UsageError
from outweigh.model.suite import SandboxSpec
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.workspace.cache import WorkspaceCache

CONTENT = {"type": "file_contains", "name": "content", "path": "answer.txt", "text": "42"}
COMMAND = {"type": "command", "name": "command", "run": "touch written && grep -qx 42 answer.txt"}
SPOKEN = {"type": "answer_contains", "name": "spoken", "text": "forty-two"}


@contextmanager
def a_conversation(folder: Path, *turns: dict[str, Any], answer: str = "") -> Iterator[TaskConversation]:
    write_task(folder / "task", checks=[CONTENT, COMMAND, SPOKEN], turns=list(turns))
    task = load_task(folder / "task")
    cache = WorkspaceCache(folder / "pristine")
    pristine = cache.prepare(task)
    with cache.lay_out(pristine, folder / "workspace") as workspace:
        (workspace / "answer.txt").write_text(answer)
        request = build_sandbox_request(
            SandboxSpec(kind="local"), workspace=workspace, home=folder, label="test", cancel=Event(), ports=()
        )
        yield TaskConversation(
            turns=task.turns,
            check_point=CheckPoint(
                task=task,
                workspaces=cache,
                checks=CheckSandboxRequest(
                    provider=LocalSandboxProvider(), sandbox=request, folder=folder / "turns", tests=None
                ),
                subject=CheckSubject(untouched=pristine, answer=None, overlay=()),
                folder=folder / "turns",
            ),
        )


def said(conversation: TaskConversation, *answers: str | None) -> list[str | None]:
    return [conversation.next_message(answer) for answer in answers]


def test_turns_are_said_in_their_order_and_then_nothing_more(tmp_path: Path) -> None:
    with a_conversation(tmp_path, {"say": "one"}, {"say": "two"}) as user:
        assert said(user, "a", "b", "c", "d") == ["one", "two", None, None]


@pytest.mark.parametrize(
    ("conditions", "answer", "is_said"),
    [
        ({"if_answer": "4[12]"}, "it is 41", True),
        ({"if_answer": "4[12]"}, "it is 43", False),
        ({"unless_answer": "4[12]"}, "it is 41", False),
        ({"unless_answer": "4[12]"}, "it is 43", True),
        ({"if_answer": "it", "unless_answer": "43"}, "it is 41", True),
        ({"if_answer": "it", "unless_answer": "43"}, "it is 43", False),
        ({"if_answer": "."}, None, False),
        ({"unless_answer": "."}, None, False),
    ],
)
def test_a_pattern_decides_on_the_last_answer_and_an_unknown_answer_decides_nothing(
    conditions: dict[str, str], answer: str | None, is_said: bool, tmp_path: Path
) -> None:
    with a_conversation(tmp_path, {"say": "go on", **conditions}) as user:
        assert said(user, answer) == ["go on" if is_said else None]


@pytest.mark.parametrize("check", ["content", "command"])
@pytest.mark.parametrize("passes", [True, False])
def test_a_check_decides_on_the_workspace_as_it_is(check: str, passes: bool, tmp_path: Path) -> None:
    turns = {"say": "good", "if_passed": check}, {"say": "bad", "if_failed": check}
    with a_conversation(tmp_path, *turns, answer="42\n" if passes else "41\n") as user:
        assert said(user, "done") == ["good" if passes else "bad"]


@pytest.mark.parametrize(("spoken", "is_said"), [("42", True), ("forty-two", False)])
def test_two_checks_can_decide_together(spoken: str, is_said: bool, tmp_path: Path) -> None:
    turn = {"say": "in words", "if_passed": "command", "if_failed": "spoken"}
    with a_conversation(tmp_path, turn, answer="42\n") as user:
        assert said(user, spoken) == ["in words" if is_said else None]


def test_a_check_of_the_answer_looks_at_the_last_one(tmp_path: Path) -> None:
    with a_conversation(
        tmp_path, {"say": "in words", "if_failed": "spoken"}, {"say": "ok", "if_passed": "spoken"}
    ) as u:
        assert said(u, "42", "forty-two") == ["in words", "ok"]


def test_what_a_check_writes_does_not_reach_the_agent(tmp_path: Path) -> None:
    with a_conversation(tmp_path, {"say": "good", "if_passed": "command"}, answer="42\n") as user:
        assert said(user, "done") == ["good"]

        assert not (tmp_path / "workspace" / "written").exists()


def test_the_log_says_what_was_said_and_what_was_left_out(tmp_path: Path) -> None:
    with a_conversation(tmp_path, {"say": "no", "if_answer": "x"}, {"say": "yes"}) as user:
        said(user, "a", "b")

        assert [msgspec.json.decode(line) for line in user.lines().splitlines()] == [
            {"answer": "a", "left_out": [1], "turn": 2, "said": "yes"},
            {"answer": "b", "left_out": [], "turn": None, "said": None},
        ]


@pytest.mark.parametrize(
    ("turn", "complaint"),
    [
        (
            {"say": "x", "if_passed": "absent"},
            "turn 1: if_passed names the check 'absent', which the task does not have",
        ),
        (
            {"say": "x", "if_failed": "absent"},
            "turn 1: if_failed names the check 'absent', which the task does not have",
        ),
        ({"say": "x", "if_answer": "("}, "turn 1: '(' is not a regular expression"),
        ({"say": "x", "unless_answer": "("}, "turn 1: '(' is not a regular expression"),
        ({"say": ""}, "say"),
        ({"say": "x", "when": "y"}, "when"),
    ],
)
def test_a_turn_that_could_never_be_decided_is_refused(turn: dict[str, str], complaint: str, tmp_path: Path) -> None:
    write_task(tmp_path / "task", checks=[CONTENT], turns=[turn])

    with pytest.raises(UsageError) as refusal:
        load_task(tmp_path / "task")

    assert complaint in str(refusal.value)


def test_a_task_has_either_turns_or_a_simulated_user(tmp_path: Path) -> None:
    write_task(tmp_path / "task", checks=[CONTENT], turns=[{"say": "x"}], user={"goal": "y"})

    with pytest.raises(UsageError, match="either turns or a simulated user"):
        load_task(tmp_path / "task")


def test_turns_make_another_task_and_their_absence_leaves_it_as_it_was(tmp_path: Path) -> None:
    for name, turns in (("with", [{"say": "x"}]), ("other", [{"say": "y"}]), ("empty", [])):
        write_task(tmp_path / name, checks=[CONTENT], turns=turns)
    write_task(tmp_path / "without", checks=[CONTENT])
    write_task(tmp_path / "played", checks=[CONTENT], user={"goal": "x"})

    checksums = {name: load_task(tmp_path / name).checksum for name in ("with", "other", "empty", "without", "played")}

    assert checksums["empty"] == checksums["without"]
    assert len(set(checksums.values())) == 4
