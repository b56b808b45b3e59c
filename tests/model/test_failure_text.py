import pytest

from outweigh.model.failure import FailureKind, failure_from_text, parse_retry_after


@pytest.mark.parametrize(
    ("message", "kind"),
    [
        ("unexpected status 401 Unauthorized: no", FailureKind.UNAUTHORIZED),
        ("Error code: 400 - {'error': {'message': 'prompt is too long'}}", FailureKind.CONTEXT_OVERFLOW),
        ('{"error":{"code":503,"message":"x"}}', FailureKind.OVERLOADED),
        ("Server error: Request failed with status: 500", FailureKind.SERVER_ERROR),
        ("429 Too Many Requests", FailureKind.RATE_LIMITED),
        ("HTTP/1.1 404 Not Found", FailureKind.UNKNOWN_MODEL),
        ("litellm.AuthenticationError: bad key", FailureKind.UNAUTHORIZED),
        ("The model `x` does not exist", FailureKind.UNKNOWN_MODEL),
        ("connect ECONNREFUSED 127.0.0.1:4000", FailureKind.CONNECTION_REFUSED),
        ("API Error: Couldn't connect through your proxy (ERR_PROXY_TUNNEL)", FailureKind.CONNECTION_REFUSED),
        ("Request failed. Check your internet connection.", FailureKind.CONNECTION_REFUSED),
        ("stream disconnected before completion: idle", FailureKind.CUT_STREAM),
        ("Selected model is at capacity. Please try a different model.", FailureKind.OVERLOADED),
        ("You've hit your usage limit. Try again in 3 days 2 hours.", FailureKind.RATE_LIMITED),
        ("it broke at line 500", FailureKind.CRASH),
        ("", FailureKind.CRASH),
    ],
)
def test_a_sentence_tells_what_went_wrong(message: str, kind: FailureKind) -> None:
    assert failure_from_text(message, otherwise=FailureKind.CRASH).kind is kind


@pytest.mark.parametrize(
    ("message", "seconds"),
    [
        ("Please try again in 1.5s.", 1.5),
        ("Please try again in 350ms", 0.35),
        ("try again in 2 minutes", 120.0),
        ("Try again in 3 days 2 hours 1 minute.", 3 * 86_400 + 2 * 3600 + 60.0),
        ("retry after 30 seconds", 30.0),
        ('"retry-after": 7', 7.0),
        ("Retrying in 5s", 5.0),
        ("try again in about 1 hour and 5 minutes", 3900.0),
    ],
)
def test_a_sentence_tells_when_to_try_again(message: str, seconds: float) -> None:
    assert parse_retry_after(message) == pytest.approx(seconds)


@pytest.mark.parametrize("message", ["try again later", "try again at 3:45 PM", "no", "wait 5 seconds"])
def test_without_a_span_of_time_nobody_knows_when(message: str) -> None:
    assert parse_retry_after(message) is None


def test_a_long_message_is_cut() -> None:
    assert len(failure_from_text("x" * 10_000, otherwise=FailureKind.CRASH).detail) == 2000
