import pytest
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.cline import ClineReader
from outweigh.model.failure import FailureKind
from outweigh.model.usage import Usage


def test_totals_are_cumulative_and_the_cache_is_taken_out_of_input() -> None:
    report = read(ClineReader(), sample("cline/run.txt"))
    assert report.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=0)
    assert report.cost_usd is None
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert calls(report) == [("run_commands", False)]
    assert (report.model, report.version, report.duration_seconds) == ("fake-model", None, 0.343)
    assert report.session_id == "conv_1794728155334_beuit6c"
    assert report.final_text == "Done: wrote hello.txt"
    assert report.finished
    assert report.failure is None
    assert report.warnings == ("3 lines of the agent's output could not be read as a JSON object",)


def test_a_run_that_breaks_off_tells_its_totals_so_far() -> None:
    lines = sample("cline/run.txt").splitlines(keepends=True)
    report = read(ClineReader(), b"".join(lines[:-2]))
    assert report.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=None)
    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is FailureKind.NO_RESULT


def test_a_price_that_is_known_is_reported() -> None:
    line = b'{"type": "run_result", "finishReason": "completed", "usage": {"totalCost": 0.25}}\n'
    assert read(ClineReader(), line).cost_usd == 0.25


@pytest.mark.parametrize(
    ("reason", "words", "kind"),
    [
        ("max_iterations", "", FailureKind.TURN_LIMIT),
        ("aborted", "", FailureKind.NO_RESULT),
        ("error", "429 Too Many Requests", FailureKind.RATE_LIMITED),
        ("error", "", FailureKind.CRASH),
    ],
)
def test_any_other_reason_to_finish_is_a_failure(reason: str, words: str, kind: FailureKind) -> None:
    error = f'{{"type": "agent_event", "event": {{"type": "error", "message": "{words}"}}}}\n' if words else ""
    result = f'{{"type": "run_result", "finishReason": "{reason}"}}\n'
    report = read(ClineReader(), (error + result).encode())
    assert report.failure is not None
    assert report.failure.kind is kind


def test_a_command_of_several_that_failed_fails_the_call() -> None:
    lines = (
        b'{"type": "agent_event", "event": {"type": "content_start", "contentType": "tool", "toolName": "run_commands",'
        b' "toolCallId": "a", "input": {}}}\n'
        b'{"type": "agent_event", "event": {"type": "content_end", "contentType": "tool", "toolCallId": "a",'
        b' "output": [{"success": true}, {"success": false}]}}\n'
        b'{"type": "agent_event", "event": {"type": "content_start", "contentType": "tool", "toolName": "read_file",'
        b' "toolCallId": "b", "input": {}}}\n'
        b'{"type": "agent_event", "event": {"type": "content_end", "contentType": "tool", "toolCallId": "b",'
        b' "error": "no such file"}}\n'
    )
    assert calls(read(ClineReader(), lines)) == [("run_commands", True), ("read_file", True)]
