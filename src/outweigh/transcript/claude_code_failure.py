"""What went wrong, from what Claude Code says about it: a subtype, an HTTP status, a category, and mostly words.

Words are trusted only where they are Claude Code's own. A model may end with any sentence, and one about rate limits
must not turn a failed run into one that does not count.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from outweigh.transcript.failure import Failure, FailureKind, failure, failure_of_http
from outweigh.transcript.failure_text import DETAIL_LIMIT, failure_of_text, retry_after
from outweigh.transcript.foreign import amount, count, mapping, sequence, text

_BY_SUBTYPE = {
    "error_max_turns": FailureKind.TURN_LIMIT,
    "error_max_budget_usd": FailureKind.BUDGET_REACHED,
}
_EMPTY_ACCOUNT = "credit balance is too low"
"""Refused with status 400, like a bad request; but it is the account that must be mended, not the arm."""
_OF_THE_API = "API Error"
_OWN_SENTENCES = {
    "Credit balance is too low": FailureKind.UNAUTHORIZED,
    "Invalid API key": FailureKind.UNAUTHORIZED,
    "Not logged in": FailureKind.UNAUTHORIZED,
    "Failed to authenticate": FailureKind.UNAUTHORIZED,
    "Claude AI usage limit reached": FailureKind.RATE_LIMITED,
    "You've hit your": FailureKind.RATE_LIMITED,
    "Prompt is too long": FailureKind.CONTEXT_OVERFLOW,
    "There's an issue with the selected model": FailureKind.UNKNOWN_MODEL,
}
_BY_CATEGORY = {
    "authentication_failed": FailureKind.UNAUTHORIZED,
    "oauth_org_not_allowed": FailureKind.UNAUTHORIZED,
    "billing_error": FailureKind.UNAUTHORIZED,
    "rate_limit": FailureKind.RATE_LIMITED,
    "overloaded": FailureKind.OVERLOADED,
    "server_error": FailureKind.SERVER_ERROR,
    "model_not_found": FailureKind.UNKNOWN_MODEL,
    "invalid_request": FailureKind.BAD_REQUEST,
}
_RESET = re.compile(r"limit reached\|(?P<epoch>\d{9,11})\b")


@dataclass(slots=True)
class Troubles:
    """What the events before the result tell about troubles with the model.

    `category` is Claude Code's own word for the last one, `wait_seconds` how long the model asked to wait, and
    `resets_at` when a limit ends, in seconds of the epoch.
    """

    category: str | None = None
    retried_requests: int = 0
    wait_seconds: float | None = None
    resets_at: float | None = None

    def note(self, event: Mapping[str, Any]) -> None:
        """Take any event; most say nothing about troubles."""
        match event.get("type"), event.get("subtype"):
            case "assistant", _:
                self.category = text(event.get("error")) or self.category
            case "rate_limit_event", _:
                self.resets_at = amount(mapping(event.get("rate_limit_info")).get("resetsAt"))
            case "system", "api_retry":
                self.retried_requests += 1
                self.wait_seconds = _asked_wait(amount(event.get("retry_delay_ms")))


def failure_of_result(result: Mapping[str, Any], troubles: Troubles, now: float | None) -> Failure | None:
    """What a `result` event confesses. `subtype: success` means nothing: only `is_error` does.

    With `now`, in seconds of the epoch, a limit that names the moment of its end tells how long that is.
    """
    if result.get("is_error") is not True:
        return None
    words = _words(result)
    kind = _BY_SUBTYPE.get(text(result.get("subtype")) or "")
    if kind is not None:
        return failure(kind, words)
    told = failure_of_words(words, count(result.get("api_error_status")), troubles.category)
    if told.kind is FailureKind.CRASH and sequence(result.get("permission_denials")):
        return failure(FailureKind.PERMISSION_DENIED, words)
    if told.kind is FailureKind.RATE_LIMITED:
        return failure(told.kind, told.detail, told.retry_after_seconds or _wait(words, troubles, now))
    return told


def failure_of_words(words: str, status: int | None, category: str | None) -> Failure:
    """The likeliest meaning of an error: by its status, else by Claude Code's own words; anything else is a crash."""
    short = words[:DETAIL_LIMIT]
    from_api = short.startswith(_OF_THE_API)
    if (from_api or status is not None) and _EMPTY_ACCOUNT in short.lower():
        return failure(FailureKind.UNAUTHORIZED, short)
    if status is not None:
        return failure_of_http(status, short, retry_after(short))
    otherwise = _BY_CATEGORY.get(category or "", FailureKind.CRASH)
    if from_api:
        return failure_of_text(short, otherwise)
    own = (kind for beginning, kind in _OWN_SENTENCES.items() if short.startswith(beginning))
    return failure(next(own, otherwise), short)


def _words(result: Mapping[str, Any]) -> str:
    errors = [each for each in sequence(result.get("errors")) if isinstance(each, str)]
    stated = "; ".join(errors) or text(result.get("result"))
    return (stated or f"Claude Code ended with {result.get('subtype')!r} and no word about it")[:DETAIL_LIMIT]


def _wait(words: str, troubles: Troubles, now: float | None) -> float | None:
    reset = _RESET.search(words)
    moment = float(reset["epoch"]) if reset else troubles.resets_at
    if moment is None or now is None:
        return troubles.wait_seconds
    return max(0.0, moment - now)


def _asked_wait(delay_milliseconds: float | None) -> float | None:
    """Claude Code draws its own waits at random; whole seconds are what the model's `retry-after` asked for."""
    if not delay_milliseconds or delay_milliseconds % 1000:
        return None
    return delay_milliseconds / 1000
