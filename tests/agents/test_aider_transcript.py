import pytest
from tests.agents.transcript_samples import SAMPLES, read, sample

from outweigh.agents.aider import (
    PRINTED_LINE_LIMIT,
    ROUNDED_COST,
    UNCOUNTED_REQUESTS,
    AiderLogReader,
    AiderReader,
    add_chat,
    add_log,
)
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport

RUNS = ("priced", "unpriced", "fail400", "fail401", "fail404", "fail500", "refused")


def printed(name: str) -> AgentReport:
    return read(AiderReader(), sample(f"aider/{name}.txt"))


def logged(name: str) -> AgentReport:
    return read(AiderLogReader(), sample(f"aider/{name}.jsonl"))


def both(name: str) -> AgentReport:
    return add_log(printed(name), logged(name))


def test_what_is_printed_tells_version_and_model_and_counts_nothing_exactly() -> None:
    report = printed("stdout")
    assert (report.version, report.model) == ("0.86.2", "openai/fake-model")
    assert report.usage == NO_USAGE
    assert (report.cost_usd, report.duration_seconds, report.session_id) == (None, None, None)
    assert (report.step_count, report.tool_call_count, report.request_count) == (None, None, 1)
    assert report.finished
    assert report.failure is None
    assert report.warnings == (UNCOUNTED_REQUESTS,)


def test_a_printed_cost_is_rounded() -> None:
    report = printed("priced")
    assert (report.cost_usd, report.model) == (0.0031, "openai/gpt-4o")
    assert report.warnings == (UNCOUNTED_REQUESTS, ROUNDED_COST)


def test_the_log_is_exact_but_cannot_tell_cached_input_apart() -> None:
    report = logged("priced")
    assert report.usage == Usage(input_tokens=None, output_tokens=60, cache_read_tokens=None, cache_write_tokens=None)
    assert report.cost_usd == pytest.approx(0.0031)
    assert (report.step_count, report.request_count) == (1, 1)
    assert report.finished
    assert report.failure is None
    assert report.warnings == (
        UNCOUNTED_REQUESTS,
        "aider counts cached tokens as input and does not say how many there were: 1,000 tokens were sent",
    )


def test_the_last_total_of_the_cost_counts_and_tokens_are_summed() -> None:
    def send(received: int, total_cost: float) -> str:
        return (
            f'{{"event": "message_send", "properties": {{"prompt_tokens": 5, "completion_tokens": {received},'
            f' "cost": 0.1, "total_cost": {total_cost}}}}}\n'
        )

    report = read(AiderLogReader(), (send(3, 0.1) + send(4, 0.25)).encode())
    assert report.usage.output_tokens == 7
    assert report.cost_usd == 0.25
    assert report.request_count == 2


def test_a_cost_of_zero_means_that_no_price_is_known() -> None:
    assert both("unpriced").cost_usd is None


def test_output_and_log_together() -> None:
    report = both("priced")
    assert (report.version, report.model) == ("0.86.2", "openai/gpt-4o")
    assert report.usage.output_tokens == 60
    assert report.finished
    assert report.failure is None
    assert report.warnings == logged("priced").warnings


@pytest.mark.parametrize(
    ("name", "kind", "finished"),
    [
        ("fail400", FailureKind.CONTEXT_OVERFLOW, True),
        ("fail401", FailureKind.UNAUTHORIZED, True),
        ("fail404", FailureKind.UNKNOWN_MODEL, True),
        ("fail500", FailureKind.SERVER_ERROR, False),
        ("refused", FailureKind.CONNECTION_REFUSED, False),
    ],
)
def test_an_error_that_was_not_overcome_is_the_failure(name: str, kind: FailureKind, finished: bool) -> None:
    report = both(name)
    assert report.failure is not None
    assert report.failure.kind is kind
    assert report.finished is finished
    assert report.usage == NO_USAGE
    assert report.request_count == 0


def test_an_error_before_an_answer_was_overcome() -> None:
    error = b"litellm.RateLimitError: slow down\nRetrying in 0.2 seconds...\n\n"
    report = read(AiderReader(), error + b"Hi\n\nTokens: 1.2k sent, 5 received.\n")
    assert report.failure is None
    assert report.finished


def test_an_exception_in_the_log_is_a_failure() -> None:
    log = b'{"event": "message_send_exception", "properties": {"exception": "boom"}}\n{"event": "exit"}\n'
    report = add_log(read(AiderReader(), b""), read(AiderLogReader(), log))
    assert report.failure is not None
    assert report.failure.kind is FailureKind.CRASH


def test_nothing_printed_and_nothing_logged_is_no_result() -> None:
    report = add_log(read(AiderReader(), b""), read(AiderLogReader(), b""))
    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is FailureKind.NO_RESULT


def test_a_printed_line_without_end_takes_no_more_memory_than_its_limit() -> None:
    reader = AiderReader()
    for _ in range(3):
        reader.feed(b"x" * PRINTED_LINE_LIMIT)
    reader.feed(b"\nAider v1.0\n")
    assert reader.report().version == "1.0"


@pytest.mark.parametrize("name", ["stdout", *RUNS])
def test_printing_is_read_the_same_in_any_pieces(name: str) -> None:
    content = (SAMPLES / f"aider/{name}.txt").read_bytes()
    slowly = AiderReader()
    for at in range(len(content)):
        slowly.feed(content[at : at + 1])
        slowly.report()
    assert slowly.report() == printed(name)


def test_the_chat_tells_who_said_what() -> None:
    report = add_chat(both("priced"), sample("aider/priced.chat.md"))
    assert [step.source for step in report.steps] == ["system", "user", "agent", "system"]
    assert report.steps[1].message == "Write hello.txt"
    assert report.final_text is not None
    assert report.final_text.startswith("hello.txt\n```\n<<<<<<< SEARCH")
    assert "Applied edit to hello.txt" in report.steps[3].message
    assert report.usage == both("priced").usage


def test_an_empty_chat_has_no_steps() -> None:
    report = add_chat(both("priced"), b"\n# aider chat started at 2026-11-15 13:39:52\n\n")
    assert report.steps == ()
    assert report.final_text is None
