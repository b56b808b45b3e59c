import pytest
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.goose import UNCOUNTED_TITLE_REQUEST, GooseReader
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport


def goose(name: str) -> AgentReport:
    return read(GooseReader(), sample(f"goose/{name}"))


def said(message_id: str, words: str) -> bytes:
    content = f'[{{"type": "text", "text": "{words}"}}]'
    message = f'{{"id": "{message_id}", "role": "assistant", "content": {content}}}'
    return f'{{"type": "message", "message": {message}}}\n'.encode()


COMPLETE = b'{"type": "complete", "input_tokens": 9, "output_tokens": 1}\n'


def test_the_cache_is_taken_out_of_input_where_it_is_told() -> None:
    report = goose("stream-1.52.jsonl")
    assert report.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=0)
    assert (report.model, report.request_count) == ("fake-model", 2)
    assert (report.step_count, report.tool_call_count) == (2, 1)
    assert calls(report) == [("shell", False)]
    assert report.final_text == "Done: wrote it"
    assert report.finished
    assert report.failure is None
    assert report.warnings == (UNCOUNTED_TITLE_REQUEST,)
    assert report.steps[0].model_name == "fake-model"


@pytest.mark.parametrize("name", ["stream.txt", "document.txt"])
def test_where_the_cache_is_not_told_the_input_is_unknown(name: str) -> None:
    report = goose(name)
    assert report.usage == Usage(input_tokens=None, output_tokens=80, cache_read_tokens=None, cache_write_tokens=None)
    assert report.warnings == (
        "3 lines of the agent's output could not be read as a JSON object",
        UNCOUNTED_TITLE_REQUEST,
        "goose counts cached tokens as input and does not say how many there were: 2,100 tokens were sent",
    )
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, None)
    assert calls(report) == [("write", False)]
    assert report.final_text == "Done: wrote hello.txt"
    assert (report.version, report.model, report.cost_usd, report.session_id) == (None, None, None, None)
    assert report.finished
    assert report.failure is None


def test_the_document_shows_the_prompt_too() -> None:
    assert [step.source for step in goose("document.txt").steps] == ["user", "agent", "agent"]


def test_a_tool_that_failed_does_not_fail_the_run() -> None:
    report = goose("tool-failed.jsonl")
    assert calls(report) == [("shell", True)]
    assert report.failure is None


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fail400.jsonl", FailureKind.CONTEXT_OVERFLOW),
        ("fail401.jsonl", FailureKind.UNAUTHORIZED),
        ("fail401.json", FailureKind.UNAUTHORIZED),
        ("fail404.jsonl", FailureKind.UNKNOWN_MODEL),
        ("fail429.jsonl", FailureKind.RATE_LIMITED),
        ("fail500.jsonl", FailureKind.SERVER_ERROR),
        ("refused.jsonl", FailureKind.CONNECTION_REFUSED),
    ],
)
def test_an_error_told_in_the_models_place_is_a_failure_although_goose_exits_with_0(
    name: str, kind: FailureKind
) -> None:
    report = goose(name)
    assert report.finished
    assert report.failure is not None
    assert report.failure.kind is kind
    assert report.usage == NO_USAGE
    assert report.step_count == 0


def test_a_cut_stream_passes_for_a_success_and_leaves_nothing_counted() -> None:
    report = goose("cut-stream.jsonl")
    assert report.failure is None
    assert report.usage == NO_USAGE
    assert report.step_count == 2


def test_an_error_before_the_model_spoke_again_was_overcome() -> None:
    error = said("a", "Ran into this error: x. Please retry if you think this is a transient or recoverable error.")
    report = read(GooseReader(), error + said("b", "Now it works") + COMPLETE)
    assert report.failure is None


def test_a_model_that_speaks_of_errors_has_not_failed() -> None:
    report = read(GooseReader(), said("a", "Ran into this error in the tests, and fixed it") + COMPLETE)
    assert report.failure is None


def test_the_limit_of_turns_is_a_limit() -> None:
    words = "I've reached the maximum number of actions I can do without user input. Would you like me to continue?"
    report = read(GooseReader(), said("a", words) + COMPLETE)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.TURN_LIMIT


def test_pieces_of_an_answer_are_one_step() -> None:
    report = read(GooseReader(), said("a", "Hel") + said("a", "lo") + said("b", "there") + COMPLETE)
    assert [step.message for step in report.steps] == ["Hello", "there"]


def test_a_tool_that_could_not_be_called_has_failed() -> None:
    lines = (
        b'{"type": "message", "message": {"id": "a", "role": "assistant", "content": [{"type": "toolRequest",'
        b' "id": "c", "toolCall": {"status": "success", "value": {"name": "gone", "arguments": {}}}}]}}\n'
        b'{"type": "message", "message": {"id": "b", "role": "user", "content": [{"type": "toolResponse",'
        b' "id": "c", "toolResult": {"status": "error", "error": "no such tool"}}]}}\n'
    )
    assert calls(read(GooseReader(), lines)) == [("gone", True)]
