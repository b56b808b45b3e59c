"""Whose fault it was, and when to try again, from what Claude Code says."""

from typing import Any

import pytest
from tests.agents.claude_lines import assistant, init, lines, result, said

from outweigh.agents.claude_code.stream import ClaudeCodeReader
from outweigh.model.failure import Failure, FailureKind, Status

NOW = 1_750_000_000.0


def failed(*before: dict[str, Any], now: float | None = None, **fields: Any) -> Failure | None:
    reader = ClaudeCodeReader()
    reader.feed(lines(init(), *before, result(**{"is_error": True, **fields})))
    return reader.report(now).failure


def kind_of(*before: dict[str, Any], **fields: Any) -> FailureKind | None:
    found = failed(*before, **fields)
    return None if found is None else found.kind


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        (400, "API Error: 400 bad", FailureKind.BAD_REQUEST),
        (400, "API Error: 400 Your credit balance is too low", FailureKind.UNAUTHORIZED),
        (400, "API Error: 400 prompt is too long: 210000 tokens", FailureKind.CONTEXT_OVERFLOW),
        (401, "Failed to authenticate", FailureKind.UNAUTHORIZED),
        (404, "There's an issue with the selected model (x)", FailureKind.UNKNOWN_MODEL),
        (429, "API Error: Request rejected (429)", FailureKind.RATE_LIMITED),
        (500, "API Error: 500 oops", FailureKind.SERVER_ERROR),
        (529, "API Error: 529 overloaded", FailureKind.OVERLOADED),
        (None, "API Error: 429 later", FailureKind.RATE_LIMITED),
        (None, "API Error: Unable to connect to API (ECONNREFUSED)", FailureKind.CONNECTION_REFUSED),
        (None, "API Error: The socket connection was closed unexpectedly", FailureKind.CUT_STREAM),
        (None, "API Error: Request timed out", FailureKind.SERVER_ERROR),
        (None, "API Error: never seen before", FailureKind.CRASH),
        (None, "Credit balance is too low", FailureKind.UNAUTHORIZED),
        (None, "Prompt is too long", FailureKind.CONTEXT_OVERFLOW),
        (None, "Invalid API key · Please run /login", FailureKind.UNAUTHORIZED),
        (None, "You've hit your limit · resets 3pm", FailureKind.RATE_LIMITED),
        (None, None, FailureKind.CRASH),
    ],
)
def test_an_error_is_known_by_its_status_or_by_the_programs_own_words(
    status: int | None, words: str | None, kind: FailureKind
) -> None:
    assert kind_of(api_error_status=status, result=words) is kind


@pytest.mark.parametrize(
    "words",
    [
        "I hit a rate limit.",
        "The API is overloaded, sorry.",
        "Unauthorized!",
        "status 503",
        "My credit balance is too low",
    ],
)
def test_a_model_cannot_talk_itself_out_of_a_failed_run(words: str) -> None:
    found = failed(result=words)

    assert found is not None
    assert (found.kind, found.kind.status) == (FailureKind.CRASH, Status.AGENT_ERROR)


@pytest.mark.parametrize(
    ("subtype", "kind"),
    [
        ("error_max_turns", FailureKind.TURN_LIMIT),
        ("error_max_budget_usd", FailureKind.BUDGET_REACHED),
        ("error_during_execution", FailureKind.CRASH),
        ("error_max_structured_output_retries", FailureKind.CRASH),
    ],
)
def test_an_end_by_a_limit_is_known_by_its_subtype(subtype: str, kind: FailureKind) -> None:
    found = failed(subtype=subtype, result=None, errors=["Reached it", "really"])

    assert found is not None
    assert (found.kind, found.detail) == (kind, "Reached it; really")


def test_only_the_error_flag_makes_a_failure() -> None:
    assert failed(is_error=False, api_error_status=500, subtype="success") is None


def test_the_category_of_the_last_message_serves_where_all_else_is_silent() -> None:
    made_up = assistant("m1", said("?"), message={"model": "<synthetic>"}, error="billing_error")

    assert kind_of(made_up, result="?") is FailureKind.UNAUTHORIZED


def test_refused_permissions_explain_an_error_but_are_none() -> None:
    denials = [{"tool_name": "Write"}, {"tool_name": "Bash"}, {"tool_name": "Write"}]
    reader = ClaudeCodeReader()
    reader.feed(lines(result(permission_denials=denials)))

    report = reader.report()

    assert report.failure is None
    assert report.warnings == ("tool calls were refused for lack of permission: Bash (1), Write (2)",)
    assert kind_of(result="I may not.", permission_denials=denials) is FailureKind.PERMISSION_DENIED
    assert kind_of(api_error_status=500, permission_denials=denials) is FailureKind.SERVER_ERROR


def test_a_refusal_of_the_model_is_told_and_the_checks_decide() -> None:
    reader = ClaudeCodeReader()
    reader.feed(lines(result(stop_reason="refusal")))

    assert reader.report().failure is None
    assert reader.report().warnings == ("the model's last answer was a refusal",)


class TestTheTimeToWait:
    def wait(self, *before: dict[str, Any], now: float | None = NOW, words: str = "API Error: 429 no") -> float | None:
        found = failed(*before, now=now, api_error_status=429, result=words)
        assert found is not None
        return found.retry_after_seconds

    def test_is_unknown_where_nobody_says(self) -> None:
        assert self.wait() is None

    def test_is_in_the_words(self) -> None:
        assert self.wait(words="API Error: 429 try again in 2 minutes") == 120.0

    def test_is_told_by_a_reset_to_those_who_know_the_time(self) -> None:
        event = {"type": "rate_limit_event", "rate_limit_info": {"status": "rejected", "resetsAt": NOW + 90}}

        assert self.wait(event) == 90.0
        assert self.wait(event, now=None) is None
        assert self.wait(event, now=NOW + 100) == 0.0
        assert self.wait(words=f"Claude AI usage limit reached|{int(NOW) + 60}") == 60.0

    def test_is_what_the_model_asked_for_and_not_what_the_program_drew(self) -> None:
        retry = {"type": "system", "subtype": "api_retry", "error_status": 429}

        assert self.wait({**retry, "retry_delay_ms": 30_000}) == 30.0
        assert self.wait({**retry, "retry_delay_ms": 546.468}) is None


def test_a_long_story_is_cut() -> None:
    found = failed(result="API Error: 500 " + "x" * 100_000)

    assert found is not None
    assert len(found.detail) < 2100
