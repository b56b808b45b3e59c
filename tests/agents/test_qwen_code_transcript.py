from typing import Any

import msgspec
import pytest
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.qwen_code import QwenCodeReader
from outweigh.model.failure import FailureKind
from outweigh.model.run_record import ObservedServer
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport


def qwen(name: str) -> AgentReport:
    return read(QwenCodeReader(), sample(f"qwen-code/{name}"))


def test_the_array_counts_the_cache_within_input_under_keys_that_do_not_elsewhere() -> None:
    report = qwen("array.json")
    usage = Usage(input_tokens=500, output_tokens=80, cache_read_tokens=1800, cache_write_tokens=None)
    assert report.usage == usage
    assert report.usage_by_model == {"fake-model": usage}
    assert (report.version, report.model) == ("0.15.10", "fake-model")
    assert report.session_id == "2c008d0b-a510-4b08-82e3-de123dcfd7f1"
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert (report.duration_seconds, report.cost_usd) == (0.466, None)
    assert calls(report) == [("write_file", False)]
    assert report.final_text == "Done: wrote hello.txt"
    assert report.finished
    assert report.failure is None
    assert report.steps[0].metrics is not None
    assert (report.steps[0].metrics.prompt_tokens, report.steps[0].metrics.cached_tokens) == (1100, 900)


def test_the_stream_says_the_same_without_models() -> None:
    report = qwen("stream.jsonl")
    assert report.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=None)
    assert report.usage_by_model == {}
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert calls(report) == [("run_shell_command", False)]
    assert report.finished
    assert report.failure is None


def an_answer(*content: dict[str, Any], parent: str | None = None, sent: int = 0) -> dict[str, Any]:
    message = {"content": list(content), "usage": {"input_tokens": sent, "output_tokens": sent // 10}}
    return {"type": "assistant", "parent_tool_use_id": parent, "message": message}


def test_text_and_tool_call_of_one_response_are_one_step_though_they_are_printed_apart() -> None:
    look = {"type": "tool_use", "id": "call-1", "name": "look", "input": {}}
    seen = {"type": "tool_result", "tool_use_id": "call-1", "content": "stripes"}
    events = [
        an_answer({"type": "text", "text": "I look."}),
        an_answer(look, sent=100),
        {"type": "user", "message": {"content": [seen]}},
        an_answer({"type": "text", "text": "A response of the sub-agent."}, parent="call-1"),
        an_answer({"type": "text", "text": "It has stripes."}, sent=100),
        an_answer({"type": "text", "text": "That is all."}, sent=100),
    ]

    report = read(QwenCodeReader(), b"".join(msgspec.json.encode(event) + b"\n" for event in events))

    assert (report.step_count, report.tool_call_count) == (4, 1)
    assert (report.steps[0].message, len(report.steps[0].tool_calls or ())) == ("I look.", 1)


def test_the_first_event_proves_tools_and_servers() -> None:
    loaded = qwen("array.json").loaded
    assert loaded is not None
    assert loaded.tools is not None
    assert len(loaded.tools) == 17
    assert loaded.mcp_servers == ()
    assert (loaded.skills, loaded.skills_used, loaded.memory_files) == (None, (), None)


def test_servers_are_told_with_their_states() -> None:
    line = b'{"type": "system", "subtype": "init", "mcp_servers": [{"name": "docs", "status": "connected"}, {}]}\n'
    loaded = read(QwenCodeReader(), line).loaded
    assert loaded is not None
    assert loaded.mcp_servers == (ObservedServer(name="docs", state="connected"),)


def test_a_command_that_failed_is_told_by_its_output_alone() -> None:
    report = qwen("tool-failed.jsonl")
    assert calls(report) == [("run_shell_command", True)]
    assert report.failure is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fail400", FailureKind.CONTEXT_OVERFLOW),
        ("fail401", FailureKind.UNAUTHORIZED),
        ("fail404", FailureKind.UNKNOWN_MODEL),
    ],
)
def test_an_api_error_is_a_failure_although_all_else_says_success(name: str, kind: FailureKind) -> None:
    report = qwen(f"{name}.jsonl")
    assert report.finished
    assert report.failure is not None
    assert report.failure.kind is kind
    assert report.usage == NO_USAGE
    assert report.request_count == 0


def test_the_limit_of_turns_leaves_no_result_but_the_tokens_so_far() -> None:
    report = qwen("turn-limit.jsonl")
    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is FailureKind.NO_RESULT
    assert report.usage == Usage(input_tokens=1000, output_tokens=60, cache_read_tokens=0, cache_write_tokens=None)
    assert report.request_count == 1


@pytest.mark.parametrize(
    ("subtype", "words", "kind"),
    [
        ("error_max_turns", "stop", FailureKind.TURN_LIMIT),
        ("error_during_execution", "rate limit", FailureKind.RATE_LIMITED),
        ("error_during_execution", "it broke", FailureKind.CRASH),
    ],
)
def test_a_result_that_confesses_an_error_is_a_failure(subtype: str, words: str, kind: FailureKind) -> None:
    line = f'{{"type": "result", "subtype": "{subtype}", "is_error": true, "error": {{"message": "{words}"}}}}\n'
    report = read(QwenCodeReader(), line.encode())
    assert report.failure is not None
    assert report.failure.kind is kind


def test_what_was_not_permitted_is_a_warning() -> None:
    line = b'{"type": "result", "is_error": false, "permission_denials": [{"tool_name": "write_file"}]}\n'
    assert read(QwenCodeReader(), line).warnings == ("not permitted and so not done: write_file",)


def test_steps_of_sub_agents_name_the_call_that_started_them() -> None:
    line = (
        b'{"type": "assistant", "parent_tool_use_id": "call_1", "message": {"id": "m", "role": "assistant",'
        b' "content": [{"type": "text", "text": "hi"}, {"type": "thinking", "thinking": "hm"}]}}\n'
    )
    step = read(QwenCodeReader(), line).steps[0]
    assert step.extra == {"sub_agent": "call_1"}
    assert step.reasoning_content == "hm"
