"""Metered model calls for tests."""

from typing import Any

from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.usage import Usage
from outweigh.ports.gateways import Dialect, MeteredCalls, ModelCall


def tokens(sent: int | None, got: int | None, read: int | None = 0, written: int | None = 0) -> Usage:
    return Usage(input_tokens=sent, output_tokens=got, cache_read_tokens=read, cache_write_tokens=written)


def a_call(**fields: Any) -> ModelCall:
    """An answered request of the main conversation, unless fields say otherwise."""
    known: dict[str, Any] = {
        "dialect": Dialect.ANTHROPIC_MESSAGES,
        "requested_model": "model-1",
        "model": "model-1",
        "usage": tokens(100, 10),
        "reasoning_tokens": None,
        "cost_usd": 0.01,
        "http_status": 200,
        "failure": None,
        "started_at_seconds": 0.0,
        "time_to_first_token_seconds": 0.5,
        "duration_seconds": 2.0,
        "components": (),
        "tools": ("Bash",),
        "is_sub_agent": False,
    }
    return ModelCall(**(known | fields))


def a_failed_call(kind: FailureKind, http_status: int | None = 500, **fields: Any) -> ModelCall:
    """A request that was answered with an error, at no charge."""
    seconds = fields.pop("retry_after_seconds", None)
    unknown = {"usage": tokens(None, None, None, None), "cost_usd": None, "model": None}
    return a_call(failure=make_failure(kind, "so it goes", seconds), http_status=http_status, **(unknown | fields))


def an_account(*calls: ModelCall, seen: frozenset[str] = frozenset(), unserved: tuple[str, ...] = ()) -> MeteredCalls:
    return MeteredCalls(calls=calls, seen=seen, price_table="list@1", bodies=b"", unserved=unserved)
