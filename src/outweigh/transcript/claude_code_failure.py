"""What went wrong, from what Claude Code says about it: a subtype, an HTTP status, a category, and mostly words."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from outweigh.transcript.failure import Failure, FailureKind, failure, failure_of_http
from outweigh.transcript.foreign import amount, count, mapping, sequence, text

_BY_SUBTYPE = {
    "error_max_turns": FailureKind.TURN_LIMIT,
    "error_max_budget_usd": FailureKind.BUDGET_REACHED,
}
_EMPTY_ACCOUNT = "credit balance is too low"
"""Refused with status 400, like a bad request; but it is the account that must be mended, not the arm."""
# Where there is no status; looked for in this order, in lower case.
_BY_WORDS = (
    (FailureKind.UNAUTHORIZED, ("invalid api key", "not logged in", "please run /login")),
    (FailureKind.RATE_LIMITED, ("usage limit reached", "hit your limit", "hit your session limit", "rate limit")),
    (FailureKind.CONTEXT_OVERFLOW, ("prompt is too long", "conversation too long", "exceed context limit")),
    (FailureKind.UNKNOWN_MODEL, ("issue with the selected model",)),
    (FailureKind.REFUSAL, ("unable to respond to this request", "usage policy")),
    (FailureKind.CONNECTION_REFUSED, ("unable to connect", "connectionrefused", "econnrefused", "enotfound")),
    (
        FailureKind.CUT_STREAM,
        ("connection error", "socket", "econnreset", "terminated", "stream ended", "closed mid-response"),
    ),
    (FailureKind.SERVER_ERROR, ("timed out", "internal server error")),
)
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
_STATUS = re.compile(r"API Error: (?P<status>[45]\d\d)\b")
_WAIT = re.compile(r"(?:retry|try again)(?: after| in) (?P<number>\d{1,6}) ?(?P<unit>s|m|h)", re.IGNORECASE)
_RESET = re.compile(r"limit reached\|(?P<epoch>\d{9,11})\b")
_SECONDS = {"s": 1.0, "m": 60.0, "h": 3600.0}


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
        return failure(told.kind, told.detail, _wait(words, troubles, now))
    return told


def failure_of_words(words: str, status: int | None, category: str | None) -> Failure:
    """The likeliest meaning of an error: by its status, else by its words; what nobody has seen before is a crash."""
    lowered = words.lower()
    if _EMPTY_ACCOUNT in lowered:
        return failure(FailureKind.UNAUTHORIZED, words)
    status = status or _status(words)
    if status is not None:
        return failure_of_http(status, words)
    by_words = (kind for kind, signs in _BY_WORDS if any(sign in lowered for sign in signs))
    return failure(next(by_words, _BY_CATEGORY.get(category or "", FailureKind.CRASH)), words)


def _words(result: Mapping[str, Any]) -> str:
    errors = [each for each in sequence(result.get("errors")) if isinstance(each, str)]
    stated = "; ".join(errors) or text(result.get("result"))
    return stated or f"Claude Code ended with {result.get('subtype')!r} and no word about it"


def _status(words: str) -> int | None:
    found = _STATUS.search(words)
    return int(found["status"]) if found else None


def _wait(words: str, troubles: Troubles, now: float | None) -> float | None:
    stated = _WAIT.search(words)
    if stated:
        return float(stated["number"]) * _SECONDS[stated["unit"].lower()]
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
