import pytest
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.opencode import UNCOUNTED_TITLE_REQUEST, OpenCodeReader
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport


def opencode(name: str) -> AgentReport:
    return read(OpenCodeReader(), sample(f"opencode/{name}.jsonl"))


def step_finish(reason: str, tokens: str, cost: float) -> bytes:
    part = f'{{"reason": "{reason}", "tokens": {tokens}, "cost": {cost}}}'
    return f'{{"type": "step_finish", "part": {part}}}\n'.encode()


COUNTED = '{"input": 10, "output": 2, "reasoning": 3, "cache": {"read": 4, "write": 5}}'


def test_steps_are_summed_and_reasoning_is_output() -> None:
    report = opencode("run")
    assert report.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=0)
    assert report.cost_usd == pytest.approx(0.00145)
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert calls(report) == [("write", False)]
    assert report.session_id == "ses_e21df18b9ffeuu3o29pKWtQtbg"
    assert (report.version, report.model, report.duration_seconds) == (None, None, None)
    assert report.final_text == "Done: wrote hello.txt"
    assert report.finished
    assert report.failure is None
    assert report.steps[0].timestamp == "2026-11-15T07:34:22.571Z"
    assert report.steps[1].metrics is not None
    assert (report.steps[1].metrics.prompt_tokens, report.steps[1].metrics.cost_usd) == (1100, 0.00033)


def test_one_answer_with_a_cache_that_was_read_and_written() -> None:
    report = opencode("run-one-answer")
    assert report.usage == Usage(input_tokens=12, output_tokens=7, cache_read_tokens=2000, cache_write_tokens=1000)
    assert report.cost_usd == 0.004491
    assert (report.step_count, report.tool_call_count, report.request_count) == (1, 0, 1)


def test_requests_that_it_does_not_count_are_told() -> None:
    assert opencode("run").warnings == (UNCOUNTED_TITLE_REQUEST,)


def test_a_cost_of_zero_means_that_no_price_is_configured() -> None:
    assert read(OpenCodeReader(), step_finish("stop", COUNTED, 0)).cost_usd is None


def test_a_step_that_was_not_counted_makes_the_sums_unknown() -> None:
    nothing = '{"input": 0, "output": 0, "reasoning": 0, "cache": {"read": 0, "write": 0}}'
    report = read(OpenCodeReader(), step_finish("tool-calls", COUNTED, 0.5) + step_finish("stop", nothing, 0))
    assert report.usage == NO_USAGE
    assert report.cost_usd is None


def test_a_command_that_failed_is_told_by_its_exit_code() -> None:
    report = opencode("tool-failed")
    assert calls(report) == [("bash", True)]
    assert report.failure is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fail400", FailureKind.CONTEXT_OVERFLOW),
        ("fail401", FailureKind.UNAUTHORIZED),
        ("fail404", FailureKind.UNKNOWN_MODEL),
    ],
)
def test_an_error_ends_the_run(name: str, kind: FailureKind) -> None:
    report = opencode(name)
    assert report.finished
    assert report.failure is not None
    assert report.failure.kind is kind
    assert report.usage == NO_USAGE
    assert (report.step_count, report.request_count) == (0, 0)


def test_an_error_may_say_when_to_try_again() -> None:
    line = (
        b'{"type": "error", "error": {"name": "APIError", "data": {"message": "slow down", "statusCode": 429,'
        b' "responseHeaders": {"retry-after": "7"}}}}\n'
    )
    report = read(OpenCodeReader(), line)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.RATE_LIMITED
    assert report.failure.retry_after_seconds == 7.0


def test_an_error_of_unknown_name_is_a_crash_unless_its_words_tell() -> None:
    line = b'{"type": "error", "error": {"name": "UnknownError", "data": {"message": "%s"}}}\n'
    told = read(OpenCodeReader(), line % b"connect ECONNREFUSED 127.0.0.1:80").failure
    untold = read(OpenCodeReader(), line % b"Unexpected token").failure
    assert told is not None
    assert told.kind is FailureKind.CONNECTION_REFUSED
    assert untold is not None
    assert untold.kind is FailureKind.CRASH


def test_a_run_that_goes_on_after_an_error_has_overcome_it() -> None:
    error = b'{"type": "error", "error": {"name": "ContextOverflowError", "data": {"message": "too long"}}}\n'
    report = read(OpenCodeReader(), error + b'{"type": "step_start", "part": {}}\n' + step_finish("stop", COUNTED, 0.1))
    assert report.finished
    assert report.failure is None


@pytest.mark.parametrize(
    ("reason", "kind"),
    [("content-filter", FailureKind.REFUSAL), ("length", FailureKind.CONTEXT_OVERFLOW)],
)
def test_an_answer_that_was_withheld_or_cut_is_a_failure(reason: str, kind: FailureKind) -> None:
    report = read(OpenCodeReader(), step_finish(reason, COUNTED, 0.1))
    assert report.failure is not None
    assert report.failure.kind is kind


def test_a_run_killed_between_steps_is_not_finished() -> None:
    report = opencode("killed")
    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is FailureKind.NO_RESULT
    assert report.usage == NO_USAGE
    assert report.cost_usd is None
    assert report.tool_call_count == 1
