import pytest
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.codex.session import CodexSessionReader, add_session
from outweigh.agents.codex.stream import CodexReader
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport


def stream(name: str) -> AgentReport:
    return read(CodexReader(), sample(f"codex/{name}.jsonl"))


def session() -> AgentReport:
    return read(CodexSessionReader(), sample("codex/rollout.jsonl"))


def test_a_finished_run_tells_totals_without_cache_and_reasoning_within_output() -> None:
    report = stream("exec")
    assert report.usage == Usage(input_tokens=2200, output_tokens=80, cache_read_tokens=1900, cache_write_tokens=0)
    assert report.finished
    assert report.failure is None
    assert report.session_id == "01a1de1f-9c01-7912-968e-534f1c986247"
    assert report.final_text == "Done: wrote hello.txt"
    assert (report.step_count, report.tool_call_count) == (2, 1)
    assert calls(report) == [("command_execution", False)]


def test_what_the_stream_does_not_say_is_unknown() -> None:
    report = stream("exec")
    assert (report.version, report.model, report.cost_usd) == (None, None, None)
    assert (report.duration_seconds, report.request_count) == (None, None)


def test_a_notice_within_the_run_is_a_warning_and_no_failure() -> None:
    assert stream("exec").warnings == (
        "codex: Model metadata for `fake-model` not found. Defaulting to fallback metadata; this can degrade "
        "performance and cause issues.",
    )


def test_an_answer_without_tools_is_one_step() -> None:
    report = stream("exec-one-answer")
    assert report.usage == Usage(input_tokens=1000, output_tokens=9, cache_read_tokens=2000, cache_write_tokens=0)
    assert (report.step_count, report.tool_call_count) == (1, 0)
    assert report.final_text == "hello"


def test_totals_are_taken_from_the_last_turn_and_never_summed() -> None:
    turns = (
        b'{"type": "turn.completed", "usage": {"input_tokens": 10, "cached_input_tokens": 4, "output_tokens": 3}}\n'
        b'{"type": "turn.completed", "usage": {"input_tokens": 25, "cached_input_tokens": 5, "output_tokens": 7}}\n'
    )
    report = read(CodexReader(), turns)
    assert report.usage == Usage(input_tokens=20, output_tokens=7, cache_read_tokens=5, cache_write_tokens=None)


def test_zeros_throughout_mean_that_nobody_counted() -> None:
    turn = b'{"type": "turn.completed", "usage": {"input_tokens": 0, "cached_input_tokens": 0, "output_tokens": 0}}\n'
    assert read(CodexReader(), turn).usage == NO_USAGE


def test_a_tool_that_failed_does_not_fail_the_run() -> None:
    report = stream("tool-failed")
    assert calls(report) == [("command_execution", True)]
    assert report.finished
    assert report.failure is None
    assert report.steps[0].reasoning_content == "I should write it"


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fail400", FailureKind.CONTEXT_OVERFLOW),
        ("fail401", FailureKind.UNAUTHORIZED),
        ("fail402", FailureKind.BUDGET_REACHED),
        ("fail404", FailureKind.UNKNOWN_MODEL),
        ("fail429", FailureKind.RATE_LIMITED),
        ("fail500", FailureKind.SERVER_ERROR),
        ("fail503", FailureKind.OVERLOADED),
        ("cut-stream", FailureKind.CUT_STREAM),
    ],
)
def test_a_failed_turn_ends_the_run_with_its_reason(name: str, kind: FailureKind) -> None:
    report = stream(name)
    assert report.failure is not None
    assert report.failure.kind is kind
    assert report.finished
    assert report.usage == NO_USAGE
    assert (report.step_count, report.tool_call_count) == (0, 0)


def test_the_words_of_a_failure_are_kept() -> None:
    report = stream("fail429")
    assert report.failure is not None
    assert report.failure.detail == "HTTP 429: exceeded retry limit, last status: 429 Too Many Requests"
    assert report.failure.retry_after_seconds is None


def test_a_run_that_was_stopped_while_it_waited_for_the_network_says_so() -> None:
    report = stream("refused")
    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is FailureKind.CONNECTION_REFUSED


def test_an_error_that_was_overcome_is_not_why_a_run_broke_off() -> None:
    lines = (
        b'{"type": "error", "message": "Reconnecting... 1/5 (unexpected status 500 Internal Server Error)"}\n'
        b'{"type": "item.completed", "item": {"id": "item_1", "type": "agent_message", "text": "On it"}}\n'
    )
    report = read(CodexReader(), lines)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.NO_RESULT


def test_tools_of_servers_file_changes_and_searches_are_calls() -> None:
    items = (
        b'{"type": "item.completed", "item": {"id": "a", "type": "mcp_tool_call", "server": "docs", "tool": "find",'
        b' "arguments": {}, "result": {"content": [{"type": "text", "text": "found"}]}, "status": "completed"}}\n'
        b'{"type": "item.completed", "item": {"id": "b", "type": "mcp_tool_call", "server": "docs", "tool": "find",'
        b' "arguments": {}, "error": {"message": "no"}, "status": "failed"}}\n'
        b'{"type": "item.completed", "item": {"id": "c", "type": "file_change", "status": "completed",'
        b' "changes": [{"path": "a.py", "kind": "add"}]}}\n'
        b'{"type": "item.completed", "item": {"id": "d", "type": "web_search", "query": "weather"}}\n'
    )
    report = read(CodexReader(), items)
    assert calls(report) == [("docs.find", False), ("docs.find", True), ("file_change", False), ("web_search", None)]
    assert [step.observation.results[0].content for step in report.steps if step.observation] == ["found", "no", "", ""]


def test_reading_a_skill_is_using_it_unless_the_read_failed() -> None:
    def command(number: int, path: str, exit_code: int) -> bytes:
        return (
            f'{{"type": "item.completed", "item": {{"id": "i{number}", "type": "command_execution",'
            f' "command": "cat {path}", "aggregated_output": "", "exit_code": {exit_code}}}}}\n'
        ).encode()

    report = read(
        CodexReader(), command(1, "/ws/.agents/skills/testing/SKILL.md", 0) + command(2, "/ws/x/missing/SKILL.md", 1)
    )
    assert report.loaded is not None
    assert report.loaded.skills_used == ("testing",)
    assert report.loaded.skills is None


def test_the_session_file_knows_version_model_requests_and_time() -> None:
    report = session()
    assert report.version == "0.166.0"
    assert report.model == "gpt-5.1-codex"
    assert report.session_id == "01a1de0c-88f4-7fa1-8af5-49f2fa932ed5"
    usage = Usage(input_tokens=1000, output_tokens=9, cache_read_tokens=2000, cache_write_tokens=0)
    assert report.usage == usage
    assert report.usage_by_model == {"gpt-5.1-codex": usage}
    assert (report.request_count, report.step_count, report.tool_call_count) == (1, 1, 0)
    assert report.duration_seconds == 0.173
    assert report.finished
    assert report.failure is None
    assert [step.source for step in report.steps] == ["system", "user", "user", "agent"]
    assert report.steps[3].metrics is not None
    assert (report.steps[3].metrics.prompt_tokens, report.steps[3].metrics.cached_tokens) == (3000, 2000)


def test_the_session_file_proves_which_skills_and_instructions_were_put_before_the_model() -> None:
    listing = (
        "\\n## Skills\\n### Skill roots\\n- `r1` = `/ws/.agents/skills`\\n### Available skills\\n"
        "- testing: How to test: well (file: r1/testing/SKILL.md)\\n- docs: How to write (file: r1/docs/SKILL.md)\\n"
    )
    world = f"""{{"type": "world_state", "payload": {{"full": true, "state": {{"agents_md": {{"directory": "/ws",
        "text": "Be brief"}}, "host_skills": {{"body": "{listing}"}}}}}}}}""".replace("\n", " ")
    loaded = read(CodexSessionReader(), world.encode()).loaded
    assert loaded is not None
    assert loaded.skills == ("testing", "docs")
    assert loaded.memory_files == ("/ws/AGENTS.md",)


def test_the_session_file_tells_tool_calls_with_their_exit_codes() -> None:
    lines = (
        b'{"type": "response_item", "payload": {"type": "function_call", "name": "exec_command",'
        b' "arguments": "{\\"cmd\\": \\"exit 3\\"}", "call_id": "c1"}}\n'
        b'{"type": "token_usage_record", "payload": {"response_id": "r1", "usage": {}, "thread_token_usage": {}}}\n'
        b'{"type": "event_msg", "payload": {"type": "item_completed", "item": {"type": "CommandExecution",'
        b' "id": "c1", "aggregated_output": "", "exit_code": 3}}}\n'
        b'{"type": "response_item", "payload": {"type": "function_call_output", "call_id": "c1",'
        b' "output": "Process exited with code 3"}}\n'
        b'{"type": "response_item", "payload": {"type": "custom_tool_call", "name": "apply_patch", "input": "***",'
        b' "call_id": "c2"}}\n'
        b'{"type": "response_item", "payload": {"type": "custom_tool_call_output", "call_id": "c2",'
        b' "output": "Exit code: 0\\nDone"}}\n'
    )
    report = read(CodexSessionReader(), lines)
    assert calls(report) == [("exec_command", True), ("apply_patch", False)]
    assert report.steps[0].tool_calls is not None
    assert report.steps[0].tool_calls[0].arguments == {"cmd": "exit 3"}
    assert not report.finished


def test_a_failed_task_is_told_by_the_session_file_too() -> None:
    line = (
        b'{"type": "event_msg", "payload": {"type": "task_complete", "error":'
        b' {"message": "unexpected status 503 Service Unavailable: x"}, "duration_ms": 75}}\n'
    )
    report = read(CodexSessionReader(), line)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.OVERLOADED


def test_a_session_completes_what_the_stream_leaves_out() -> None:
    both = add_session(stream("exec-one-answer"), session())
    assert (both.version, both.model, both.request_count) == ("0.166.0", "gpt-5.1-codex", 1)
    assert both.final_text == "hello"
    assert both.warnings == stream("exec-one-answer").warnings


def test_a_stream_that_breaks_off_gets_its_tokens_from_the_session() -> None:
    cut = read(CodexReader(), sample("codex/exec-one-answer.jsonl").splitlines(keepends=True)[0])
    both = add_session(cut, session())
    assert both.usage == session().usage
    assert not both.finished
    assert both.failure is not None
    assert both.failure.kind is FailureKind.NO_RESULT


def test_an_empty_session_file_takes_nothing_away() -> None:
    assert add_session(stream("exec"), CodexSessionReader().report()) == stream("exec")


def test_session_files_of_sub_agents_add_to_the_tokens_and_to_nothing_else() -> None:
    child = (
        b'{"type": "session_meta", "payload": {"id": "child", "cli_version": "9.9"}}\n'
        b'{"type": "event_msg", "payload": {"type": "task_started"}}\n'
        b'{"type": "turn_context", "payload": {"model": "small"}}\n'
        b'{"type": "event_msg", "payload": {"type": "token_count", "info": {"total_token_usage":'
        b' {"input_tokens": 10, "cached_input_tokens": 0, "cache_write_input_tokens": 0, "output_tokens": 2}}}}\n'
    )
    report = read(CodexSessionReader(), sample("codex/rollout.jsonl").rstrip() + b"\n" + child)
    assert report.usage == Usage(input_tokens=1010, output_tokens=11, cache_read_tokens=2000, cache_write_tokens=0)
    assert sorted(report.usage_by_model) == ["gpt-5.1-codex", "small"]
    assert (report.version, report.model) == ("0.166.0", "gpt-5.1-codex")
    assert report.finished
    assert add_session(stream("exec-one-answer"), report).usage == report.usage
