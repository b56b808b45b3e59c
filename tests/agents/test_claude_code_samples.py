"""What real runs of Claude Code 2.1.197 and 2.1.325 wrote, with the figures that a person reads in them."""

from dataclasses import dataclass
from pathlib import Path

import pytest

from outweigh.agents.claude_code.stream import read_claude_code
from outweigh.model.failure import FailureKind
from outweigh.model.run_record import ObservedServer
from outweigh.model.usage import Usage
from outweigh.transcript.agent_report import AgentReport

SAMPLES = Path(__file__).parent / "samples" / "claude-code"

OPUS_1M = "claude-opus-4-8[1m]"
TWO_TURNS = (201, 80, 5000, 5300)
NOTHING = (0, 0, 0, 0)


@dataclass(frozen=True)
class Said:
    """Tokens are input, output, cache read, cache write. Without a stream, there are no steps to see."""

    tokens: tuple[int, int, int, int]
    cost_usd: float
    seconds: float
    steps: int | None
    model: str | None
    version: str | None = None
    tool_calls: int | None = None
    requests: int | None = None
    failure: FailureKind | None = None
    final_text: str | None = "Done: wrote hello.txt"


CONNECTION = "API Error: Unable to connect to API (ConnectionRefused)"
SERVER_SIDE = (
    "This is a server-side issue, usually temporary — try again in a moment. "
    "If it persists, check your inference gateway (127.0.0.1:18100)."
)
SELECTED_MODEL = (
    "There's an issue with the selected model (claude-sonnet-4-5). It may not exist or you may not have access to it. "
    "Run --model to pick a different model."
)
SAID = {
    "json.stdout": Said(TWO_TURNS, 0.03863, 0.275, None, OPUS_1M),
    "json-2.1.325-0.stdout": Said(TWO_TURNS, 0.029904, 0.309, None, "claude-opus-5-5"),
    "json-2.1.325-1.stdout": Said(TWO_TURNS, 0.029904, 0.253, None, "claude-opus-5-5"),
    "stream-json.stdout": Said(TWO_TURNS, 0.03863, 0.285, 2, OPUS_1M, version="2.1.197", tool_calls=1, requests=2),
    # `usage` is all zeros here, `modelUsage` is not.
    "cut.json": Said(TWO_TURNS, 0.03863, 0.439, None, OPUS_1M),
    "unknown-model.json": Said(TWO_TURNS, 0.03863, 0.232, None, "my-own-model"),
    "permission-denied.json": Said(TWO_TURNS, 0.03863, 0.267, None, OPUS_1M),
    "max-turns.json": Said(
        (303, 100, 10000, 5600), 0.044015, 0.365, None, OPUS_1M, failure=FailureKind.TURN_LIMIT, final_text=None
    ),
    # `usage` says 1378, 300, 60000 and 8600: the request that went over the budget is missing there.
    "max-budget.json": Said(
        (1491, 320, 65000, 8900), 0.10358, 1.001, None, OPUS_1M, failure=FailureKind.BUDGET_REACHED, final_text=None
    ),
    "fail400.json": Said(
        NOTHING, 0, 0.155, None, None, failure=FailureKind.BAD_REQUEST, final_text="API Error: 400 scripted 400"
    ),
    "fail401.stream.jsonl": Said(
        NOTHING,
        0,
        0.731,
        0,
        OPUS_1M,
        version="2.1.197",
        tool_calls=0,
        failure=FailureKind.UNAUTHORIZED,
        final_text="Failed to authenticate. API Error: 401 scripted 401",
    ),
    "fail404.stream.jsonl": Said(
        NOTHING,
        0,
        0.281,
        0,
        "claude-sonnet-4-5",
        version="2.1.325",
        tool_calls=0,
        failure=FailureKind.UNKNOWN_MODEL,
        final_text=SELECTED_MODEL,
    ),
    "fail429.stream.jsonl": Said(
        NOTHING,
        0,
        2.109,
        0,
        "claude-sonnet-4-5",
        version="2.1.325",
        tool_calls=0,
        failure=FailureKind.RATE_LIMITED,
        final_text="API Error: Request rejected (429) · scripted 429",
    ),
    "fail529.stream.jsonl": Said(
        NOTHING,
        0,
        0.829,
        0,
        OPUS_1M,
        version="2.1.197",
        tool_calls=0,
        failure=FailureKind.OVERLOADED,
        final_text=f"API Error: 529 scripted 529. {SERVER_SIDE}",
    ),
    "sub-agent.stream.jsonl": Said(
        (621, 210, 10500, 21000),
        0.086913,
        0.401,
        6,
        "claude-sonnet-4-5",
        version="2.1.325",
        tool_calls=5,
        requests=6,
        final_text="Done.",
    ),
    "claude_code_result.json": Said(
        (12, 7, 2000, 1000), 0.004491, 0.261, None, "claude-sonnet-4-5", final_text="hello"
    ),
    "claude_code_stream.jsonl": Said(
        (12, 7, 2000, 1000),
        0.004491,
        0.325,
        1,
        "claude-sonnet-4-5",
        version="2.1.197",
        tool_calls=0,
        requests=1,
        final_text="hello",
    ),
    "claude_code_conn_refused.json": Said(
        NOTHING, 0, 0.3, None, None, failure=FailureKind.CONNECTION_REFUSED, final_text=CONNECTION
    ),
    "claude_code_error_max_budget.json": Said(
        (12, 7, 2000, 1000),
        0.004491,
        0.42,
        None,
        "claude-sonnet-4-5",
        failure=FailureKind.BUDGET_REACHED,
        final_text=None,
    ),
}


def sample(name: str) -> AgentReport:
    return read_claude_code((SAMPLES / name).read_bytes())


def test_every_sample_is_read_below() -> None:
    assert {path.name for path in SAMPLES.iterdir()} == SAID.keys()


@pytest.mark.parametrize("name", SAID)
def test_a_sample_says_what_a_person_reads_in_it(name: str) -> None:
    report, said = sample(name), SAID[name]

    tokens = dict(zip(Usage.__struct_fields__, said.tokens, strict=True))
    assert report.usage == Usage(**tokens)
    assert report.cost_usd == pytest.approx(said.cost_usd)
    assert report.duration_seconds == said.seconds
    assert (report.step_count, report.tool_call_count, report.request_count) == (
        said.steps,
        said.tool_calls,
        said.requests,
    )
    assert (report.version, report.model) == (said.version, said.model)
    assert (report.failure.kind if report.failure else None) == said.failure
    assert report.final_text == said.final_text
    assert report.finished


def test_a_streamed_run_shows_its_steps() -> None:
    first, last = sample("stream-json.stdout").steps

    assert (first.step_id, first.source, first.message) == (1, "agent", "I will write the file.")
    assert first.model_name == "claude-opus-4-8"
    assert first.tool_calls is not None
    (write,) = first.tool_calls
    assert (write.function_name, write.arguments["file_path"]) == ("Write", "/workspace/hello.txt")
    assert first.observation is not None
    (written,) = first.observation.results
    assert (written.source_call_id, written.extra) == (write.tool_call_id, {"is_error": False})
    assert first.metrics is not None
    # 100 of input and 5,000 written to the cache; its output is not known until the result, and then only in total.
    assert (first.metrics.prompt_tokens, first.metrics.cached_tokens) == (5100, 0)
    assert first.metrics.completion_tokens is None
    assert (last.step_id, last.message, last.tool_calls) == (2, "Done: wrote hello.txt", None)


def test_what_claude_code_makes_up_about_an_error_is_no_step_of_the_agent() -> None:
    (step,) = sample("fail401.stream.jsonl").steps

    assert (step.source, step.model_name, step.metrics) == ("system", None, None)
    assert step.message == "Failed to authenticate. API Error: 401 scripted 401"


def test_sub_agents_are_told_by_the_call_that_started_them() -> None:
    steps = sample("sub-agent.stream.jsonl").steps

    assert [(step.source, step.message, (step.extra or {}).get("sub_agent")) for step in steps] == [
        ("agent", "First.", None),
        ("system", "Base directory for this skill: /workspace/.claude/skills/greeting\n\nSay hi.\n", None),
        ("agent", "", None),
        ("agent", "Looking.", "toolu_0002_0"),
        ("agent", "Two at once.", None),
        ("agent", "Sub done.", "toolu_0002_0"),
        ("agent", "Done.", None),
    ]
    calls = [
        (call.function_name, result.extra)
        for step in steps
        for call in step.tool_calls or ()
        for result in (step.observation.results if step.observation else ())
        if result.source_call_id == call.tool_call_id
    ]
    assert calls == [
        ("Skill", {"is_error": False}),
        ("Agent", {"is_error": False}),
        ("Bash", {"is_error": False}),
        ("Bash", {"is_error": True}),
        ("Write", {"is_error": False}),
    ]


def test_what_was_loaded_is_what_the_first_event_lists() -> None:
    loaded = sample("sub-agent.stream.jsonl").loaded

    assert loaded is not None
    assert loaded.skills is not None
    assert loaded.skills[0] == "greeting"
    assert loaded.skills_used == ("greeting",)
    assert loaded.mcp_servers == (ObservedServer(name="broken", state="failed"),)
    assert loaded.tools is not None
    assert loaded.tools[:2] == ("Task", "Bash")
    assert loaded.memory_files == ("/home/agent/.claude/projects/-workspace/memory/",)
    assert loaded.seen_by == ("init event", "tool calls")


def test_a_run_without_skills_has_seen_none_used() -> None:
    loaded = sample("stream-json.stdout").loaded

    assert loaded is not None
    assert (loaded.mcp_servers, loaded.skills_used, loaded.seen_by) == ((), (), ("init event",))
    assert loaded.skills is not None
    assert len(loaded.skills) == 12


def test_a_single_result_says_nothing_about_what_was_loaded() -> None:
    assert sample("json.stdout").loaded is None
    assert sample("json.stdout").steps == ()


def test_turns_of_a_single_result_are_not_steps() -> None:
    """Claude Code counts turns in another way than responses of the model."""
    assert b'"num_turns":14' in (SAMPLES / "max-budget.json").read_bytes().replace(b" ", b"")
    assert sample("max-budget.json").step_count is None


def test_a_model_can_ask_for_a_pause() -> None:
    limited = sample("fail429.stream.jsonl").failure
    overloaded = sample("fail529.stream.jsonl").failure

    assert limited is not None
    assert limited.retry_after_seconds == 2.0
    assert overloaded is not None
    assert overloaded.retry_after_seconds is None


@pytest.mark.parametrize(
    ("name", "warnings"),
    [
        ("json.stdout", ()),
        ("json-2.1.325-0.stdout", ()),
        ("sub-agent.stream.jsonl", ()),
        ("permission-denied.json", ("tool calls were refused for lack of permission: Write (1)",)),
        ("unknown-model.json", ("the dollar figure is a guess: Claude Code has no price for my-own-model",)),
        ("fail529.stream.jsonl", ("requests that failed and were tried again within the run: 1",)),
    ],
)
def test_what_cannot_be_trusted_is_said(name: str, warnings: tuple[str, ...]) -> None:
    assert sample(name).warnings == warnings
