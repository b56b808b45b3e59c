"""Every provider says in its own way how long to wait; all of them are understood."""

from datetime import UTC, datetime

import pytest

from outweigh.gateway.dialects.api_errors import read_retry_after

NOW = datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({}, None),
        ({"Retry-After": "17"}, 17.0),
        ({"retry-after": "0"}, 0.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after-ms": "1500", "retry-after": "9"}, 1.5),
        ({"retry-after": "Fri, 02 Jan 2026 03:04:35 GMT"}, 30.0),
        ({"retry-after": "Fri, 02 Jan 2026 03:04:00 GMT"}, 0.0),
        ({"retry-after": "soon"}, None),
        ({"retry-after": "inf"}, None),
        ({"retry-after": "nan"}, None),
        ({"anthropic-ratelimit-requests-reset": "2026-01-02T03:04:15Z"}, 10.0),
        (
            {
                "anthropic-ratelimit-requests-remaining": "40",
                "anthropic-ratelimit-requests-reset": "2026-01-02T03:05:05Z",
                "anthropic-ratelimit-input-tokens-remaining": "0",
                "anthropic-ratelimit-input-tokens-reset": "2026-01-02T03:04:25Z",
            },
            20.0,
        ),
        ({"anthropic-ratelimit-unified-reset": str(int(NOW.timestamp()) + 120)}, 120.0),
        ({"x-ratelimit-reset-requests": "1s"}, 1.0),
        ({"x-ratelimit-reset-requests": "120ms", "x-ratelimit-reset-tokens": "6m0s"}, 360.0),
        (
            {
                "x-ratelimit-remaining-requests": "0",
                "x-ratelimit-reset-requests": "1h0m5s",
                "x-ratelimit-remaining-tokens": "9",
                "x-ratelimit-reset-tokens": "6m0s",
            },
            3605.0,
        ),
        ({"x-ratelimit-reset-requests": "whenever"}, None),
    ],
)
def test_headers_say_when(headers: dict[str, str], seconds: float | None) -> None:
    assert read_retry_after(headers, b"", NOW) == seconds


@pytest.mark.parametrize(
    ("body", "seconds"),
    [
        (b'{"error":{"details":[{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"17s"}]}}', 17.0),
        (b'[{"error":{"details":[{"@type":"x"},{"@type":"y.RetryInfo","retryDelay":"1.5s"}]}}]', 1.5),
        (b'{"error":{"details":[{"@type":"y.RetryInfo"}]}}', None),
        (b"not json", None),
    ],
)
def test_gemini_says_it_in_the_body(body: bytes, seconds: float | None) -> None:
    assert read_retry_after({}, body, NOW) == seconds
