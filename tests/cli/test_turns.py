"""Tasks with several turns, with real agents on a scripted model: the user answers what they say."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.cli.agent_experiment import AgentDesk, handed_out, require_agent, used
from tests.engine.engine_fixtures import write_suite

from outweigh.engine.conversation import CONVERSATION_ARTIFACT
from outweigh.model.failure import Status
from outweigh.model.run_record import DIFF_ARTIFACT, StepSource, amount_paid
from outweigh.score.objective import passed
from outweigh.store.run_store import FolderRunStore
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, UsageSpec, When

CHECK = {"type": "file_contains", "name": "answer", "path": "answer.txt", "text": "42"}
HIDDEN = {
    "type": "command",
    "name": "hidden",
    "run": 'test -f "$OUTWEIGH_TESTS/key" && touch left-by-the-check && grep -qx 42 answer.txt',
}
TURNS = [
    {"say": "Thank you.", "if_answer": "^All done"},
    {"say": "It is not 41. Look again, and leave out the ones.", "if_answer": "41", "if_failed": "hidden"},
    {"say": "This is never said.", "if_failed": "answer"},
    {"say": "Good. Say goodbye.", "if_passed": "hidden", "unless_answer": "goodbye"},
]
SAID = [turn["say"] for turn in TURNS]
USAGE = UsageSpec(input_tokens=100, output_tokens=10, cache_read_tokens=0, cache_write_tokens=0)
SCRIPT = Script(
    turn=[
        Turn(run="echo 41 >answer.txt", usage=USAGE),
        Turn(text="I wrote 41.", usage=USAGE),
        Turn(run="ls && echo 42 >answer.txt", usage=USAGE),
        Turn(text="Now it is 42.", usage=USAGE),
        Turn(text="Well then, goodbye.", usage=USAGE),
    ]
)


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize(
    ("agent", "program", "model"),
    [
        ("claude-code", "claude", "claude-sonnet-4-5"),
        ("codex", "codex", "gpt-5"),
        ("opencode", "opencode", "openai/gpt-5"),
        ("gemini-cli", "gemini", "gemini-2.5-pro"),
        ("qwen-code", "qwen", "qwen3-coder"),
        ("goose", "goose", "openai/gpt-5"),
        ("pi", "pi", "anthropic/claude-sonnet-4-5"),
        ("copilot", "copilot", "gpt-5"),
        ("kimi", "kimi", "openai/gpt-5"),
    ],
)
def test_an_agent_goes_on_in_its_session_when_the_user_answers(
    agent: str, program: str, model: str, tmp_path: Path
) -> None:
    require_agent(program)
    desk = AgentDesk(tmp_path, model)
    with ModelServer(SCRIPT) as server:
        desk.write(server, {"one": {"agent": agent, "model": model}}, task={"checks": [CHECK, HIDDEN], "turns": TURNS})
        tests = desk.suite / "task-1" / "tests"
        tests.mkdir()
        (tests / "key").write_text("")
        ended = desk.run()
        totals = server.totals()
    (run,) = [run for run in desk.records() if run.trial.arm == "one"]

    assert run.status is Status.COMPLETED, (run.status_detail, ended.err)
    assert passed(run).value == 1.0
    assert used([run]) == handed_out(totals)
    with FolderRunStore.open(desk.store) as store:
        lines = store.artifact(run.artifacts[CONVERSATION_ARTIFACT]).splitlines()
        changed = store.artifact(run.artifacts[DIFF_ARTIFACT])
    said = [msgspec.json.decode(line) for line in lines]
    assert [(line["turn"], line["left_out"]) for line in said] == [(2, [1]), (4, [3]), (None, [])]
    assert "41" in said[0]["answer"]
    assert "goodbye" in said[2]["answer"]
    assert b"answer.txt" in changed
    assert b"left-by-the-check" not in changed
    spoken = [step.message for step in run.steps or () if step.source is StepSource.USER]
    assert [turn["say"] for turn in (TURNS[1], TURNS[3])] == [text for text in spoken if text in SAID]
    assert (run.step_count, run.tool_call_count) == (5, 2)


PLAYED = Script(
    conversation=[
        Conversation(
            name="user",
            when=When(contains="You play a person who has asked a coding agent for work"),
            turn=[Turn(text="No, I said 42.", usage=USAGE), Turn(text="[END]", usage=USAGE)],
        )
    ],
    turn=SCRIPT.turn[:4],
)


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_a_model_plays_the_user_and_its_cost_is_apart_from_that_of_the_run(tmp_path: Path) -> None:
    require_agent("claude")
    desk = AgentDesk(tmp_path, "claude-sonnet-4-5")
    task = {"checks": [CHECK], "user": {"goal": "You want the number 42 in the file."}}
    with ModelServer(PLAYED) as server:
        player = {"model": "claude-sonnet-4-5"}
        arm = {"agent": "claude-code", "model": "claude-sonnet-4-5"}
        desk.write(server, {"one": arm}, task=task, simulated_user=player)
        ended = desk.run()
        played = [entry for entry in server.ledger if (entry.rule or "").startswith("user.")]
        worked = [entry for entry in server.ledger if entry not in played and entry.tokens is not None]
    (run,) = [run for run in desk.records() if run.trial.arm == "one"]

    assert run.status is Status.COMPLETED, (run.status_detail, ended.err)
    assert passed(run).value == 1.0
    assert run.simulated_user is not None
    assert (run.simulated_user.messages, len(played)) == (1, 2)
    assert run.simulated_user.usage.input_tokens == 2 * 100
    assert run.usage.input_tokens == 100 * len(worked)
    assert run.cost.usd == pytest.approx(len(worked) * (100 * 3e-6 + 10 * 15e-6))
    assert amount_paid(run) == pytest.approx((len(worked) + 2) * (100 * 3e-6 + 10 * 15e-6))


@pytest.mark.parametrize(
    ("settings", "complaint"),
    [
        ({}, 'Add [simulated_user] with model = "NAME" to suite.toml.'),
        (
            {"simulated_user": {"model": "m"}, "gateway": {"mode": "direct"}},
            'mode = "direct" under [gateway] uses none.',
        ),
    ],
)
def test_a_simulated_user_that_cannot_be_asked_is_refused_before_anything_runs(
    settings: dict[str, Any], complaint: str, outweigh: Any, tmp_path: Path
) -> None:
    arms: dict[str, Any] = {"idle": {"agent": "noop"}, "solved": {"agent": "oracle"}}
    write_suite(made(tmp_path / "suite"), arms, task={"checks": [CHECK], "user": {"goal": "42"}}, **settings)

    ended = outweigh("run", "-c", str(tmp_path / "suite"), "-o", str(tmp_path / "store"))

    assert ended.code == 2
    assert complaint in ended.err
    assert not (tmp_path / "store").exists()


def made(folder: Path) -> Path:
    folder.mkdir()
    return folder


def test_an_agent_that_cannot_go_on_in_a_session_is_refused_before_anything_runs(outweigh: Any, tmp_path: Path) -> None:
    arms: dict[str, Any] = {"plain": {"agent": "shell", "options": {"command": ["true"]}}, "other": {"agent": "noop"}}
    write_suite(made(tmp_path / "suite"), arms, task={"checks": [CHECK], "turns": TURNS[:1]})

    ended = outweigh("run", "-c", str(tmp_path / "suite"), "-o", str(tmp_path / "store"), "-y")

    assert ended.code == 2
    assert "the task 'task-1' has several turns, and the agent shell of arm 'plain' cannot" in ended.err
    assert not (tmp_path / "store").exists()


def test_agents_that_only_pretend_take_tasks_with_several_turns(outweigh: Any, tmp_path: Path) -> None:
    arms: dict[str, Any] = {"idle": {"agent": "noop"}, "solved": {"agent": "oracle"}}
    write_suite(made(tmp_path / "suite"), arms, task={"checks": [CHECK], "turns": TURNS[:1]})
    solution = tmp_path / "suite" / "task-1" / "solution"
    solution.mkdir()
    (solution / "solve.sh").write_text("#!/bin/sh\necho 42 >answer.txt\n")

    ended = outweigh("run", "-c", str(tmp_path / "suite"), "-o", str(tmp_path / "store"), "--repeats", "1")

    assert ended.code == 0, ended.err
