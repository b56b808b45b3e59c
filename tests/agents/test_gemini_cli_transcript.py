import json

import pytest
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.gemini_cli import GeminiCliReader
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport

BOTH_ANSWERS = Usage(input_tokens=3600, output_tokens=114, cache_read_tokens=2500, cache_write_tokens=0)
ONE_ANSWER = Usage(input_tokens=1000, output_tokens=13, cache_read_tokens=2000, cache_write_tokens=0)


def gemini(name: str) -> AgentReport:
    return read(GeminiCliReader(), sample(f"gemini-cli/{name}"))


def test_the_stream_counts_thoughts_as_output_and_leaves_the_cache_out_of_input() -> None:
    report = gemini("stream.jsonl")
    assert report.usage == BOTH_ANSWERS
    assert report.usage_by_model == {"gemini-2.5-flash": BOTH_ANSWERS}
    assert (report.model, report.version, report.cost_usd) == ("gemini-2.5-flash", None, None)
    assert report.session_id == "fb98252a-14ed-4e37-b342-b653ad639f88"
    assert report.duration_seconds == 0.203
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, None)
    assert calls(report) == [("write_file", False)]
    assert [step.source for step in report.steps] == ["user", "agent", "agent"]
    assert report.final_text == "Done: wrote hello.txt"
    assert report.finished
    assert report.failure is None
    assert report.warnings == ()


def test_the_document_says_the_same_and_counts_requests_but_shows_no_steps() -> None:
    report = gemini("document.json")
    assert report.usage == BOTH_ANSWERS
    assert report.model == "gemini-2.5-flash"
    assert (report.step_count, report.tool_call_count, report.request_count) == (None, 1, 2)
    assert (report.duration_seconds, report.loaded) == (None, None)
    assert report.final_text == "Done: wrote hello.txt"
    assert report.finished
    assert report.failure is None


def test_the_model_that_was_asked_may_be_answered_by_another() -> None:
    report = gemini("stream-one-answer.jsonl")
    assert report.model == "gemini-2.5-pro"
    assert report.usage_by_model == {"gemini-x": ONE_ANSWER}
    assert report.usage == ONE_ANSWER
    assert (report.step_count, report.tool_call_count) == (1, 0)


def test_a_document_of_one_answer() -> None:
    report = gemini("document-one-answer.json")
    assert report.usage == ONE_ANSWER
    assert (report.tool_call_count, report.request_count) == (0, 1)
    assert report.final_text == "hello"


def test_a_command_that_failed_is_told_by_its_output_alone() -> None:
    report = gemini("tool-failed.jsonl")
    assert calls(report) == [("run_shell_command", True)]
    assert report.usage == Usage(input_tokens=3500, output_tokens=114, cache_read_tokens=2500, cache_write_tokens=0)
    assert report.failure is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fail400.jsonl", FailureKind.CONTEXT_OVERFLOW),
        ("fail401.jsonl", FailureKind.UNAUTHORIZED),
        ("fail404.jsonl", FailureKind.UNKNOWN_MODEL),
        ("cut-stream.jsonl", FailureKind.CUT_STREAM),
        ("cut-stream.json", FailureKind.CUT_STREAM),
    ],
)
def test_an_error_at_the_end_is_the_failure_and_zeros_are_no_count(name: str, kind: FailureKind) -> None:
    report = gemini(name)
    assert report.finished
    assert report.failure is not None
    assert report.failure.kind is kind
    assert report.usage == NO_USAGE
    assert report.usage_by_model == {}


def test_a_run_stopped_while_it_tried_again_has_no_result() -> None:
    report = gemini("retrying.jsonl")
    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is FailureKind.NO_RESULT


def test_a_model_that_never_answered_does_not_hide_what_another_used() -> None:
    document = json.loads(sample("gemini-cli/document.json"))
    silent = json.loads(sample("gemini-cli/cut-stream.json"))["stats"]["models"]["gemini-2.5-flash"]
    document["stats"]["models"]["gemini-2.5-pro"] = silent
    report = read(GeminiCliReader(), json.dumps(document).encode())
    assert report.usage == BOTH_ANSWERS
    assert list(report.usage_by_model) == ["gemini-2.5-flash"]


def test_the_limit_of_turns_is_a_limit() -> None:
    line = (
        b'{"type": "result", "status": "error", "error": {"type": "FatalTurnLimitedError",'
        b' "message": "Reached max session turns for this session."}}\n'
    )
    report = read(GeminiCliReader(), line)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.TURN_LIMIT


def test_a_warning_of_the_agent_is_passed_on() -> None:
    line = b'{"type": "error", "severity": "warning", "message": "Loop detected, stopping execution"}\n'
    assert read(GeminiCliReader(), line).warnings == ("gemini: Loop detected, stopping execution",)


def test_a_skill_that_was_activated_is_used() -> None:
    lines = (
        b'{"type": "tool_use", "tool_name": "activate_skill", "tool_id": "a", "parameters": {"name": "testing"}}\n'
        b'{"type": "tool_result", "tool_id": "a", "status": "success", "output": "ok"}\n'
        b'{"type": "tool_use", "tool_name": "activate_skill", "tool_id": "b", "parameters": {"name": "absent"}}\n'
        b'{"type": "tool_result", "tool_id": "b", "status": "error", "output": "no such skill"}\n'
    )
    loaded = read(GeminiCliReader(), lines).loaded
    assert loaded is not None
    assert loaded.skills_used == ("testing",)
