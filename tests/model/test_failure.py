"""What the answers of models mean: whose fault a failure is, and whether another attempt can help."""

import pytest

from outweigh.model.failure import DETAIL_LINE_LIMIT, FailureKind, Remedy, Status, detail_line, failure_from_http


@pytest.mark.parametrize(
    ("status", "message", "kind"),
    [
        (401, "invalid x-api-key", FailureKind.UNAUTHORIZED),
        (403, "forbidden", FailureKind.UNAUTHORIZED),
        (400, "API key not valid. Please pass a valid API key.", FailureKind.UNAUTHORIZED),
        (404, "model: x", FailureKind.UNKNOWN_MODEL),
        (400, "The model `x` does not exist", FailureKind.UNKNOWN_MODEL),
        (429, "slow down", FailureKind.RATE_LIMITED),
        (529, "Overloaded", FailureKind.OVERLOADED),
        (503, "try again", FailureKind.OVERLOADED),
        (500, "oops", FailureKind.SERVER_ERROR),
        (502, "bad gateway", FailureKind.SERVER_ERROR),
        (408, "request timeout", FailureKind.SERVER_ERROR),
        (413, "too large", FailureKind.CONTEXT_OVERFLOW),
        (400, "prompt is too long: 210000 tokens > 200000 maximum", FailureKind.CONTEXT_OVERFLOW),
        (400, "The input token count (2000000) exceeds the maximum number of tokens", FailureKind.CONTEXT_OVERFLOW),
        (400, "messages: field required", FailureKind.BAD_REQUEST),
    ],
)
def test_an_answer_of_a_model_is_known_by_its_status_and_its_words(
    status: int, message: str, kind: FailureKind
) -> None:
    assert failure_from_http(status, message).kind is kind


@pytest.mark.parametrize("kind", FailureKind)
def test_every_failure_has_a_status_and_a_remedy_and_only_infrastructure_is_tried_again(kind: FailureKind) -> None:
    assert kind.status is not Status.COMPLETED
    assert (kind.remedy is Remedy.FAIL) or kind.status is Status.INFRA_ERROR


def test_the_wait_that_a_model_asks_for_is_kept() -> None:
    assert failure_from_http(429, "slow down", 7.0).retry_after_seconds == 7.0


@pytest.mark.parametrize(
    ("detail", "shown"),
    [
        ("the disk is full", "the disk is full"),
        ("first\n  second\r\n\tthird\n", "first second third"),
        ("x" * DETAIL_LINE_LIMIT, "x" * DETAIL_LINE_LIMIT),
        ("x" * 10**6, "x" * (DETAIL_LINE_LIMIT - 1) + "…"),
        ("\n".join(["word"] * 10**5), " ".join(["word"] * 40)[: DETAIL_LINE_LIMIT - 1].rstrip() + "…"),
    ],
)
def test_a_detail_is_shown_as_one_line_of_bounded_length(detail: str, shown: str) -> None:
    assert detail_line(detail) == shown
