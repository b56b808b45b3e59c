"""The last event of a Claude Code run: its totals, and what went wrong.

Totals are cumulative, so only the last event counts. Error texts are trusted only where they are Claude Code's own:
a model may end with any sentence, and one about rate limits must not turn a failed run into one that does not
count.
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from outweigh.agents.claude_code.messages import message_usage
from outweigh.model.failure import (
    FAILURE_DETAIL_LIMIT,
    Failure,
    FailureKind,
    failure_from_http,
    failure_from_text,
    make_failure,
    parse_retry_after,
)
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import ZERO_USAGE, Usage, sum_usage


@dataclass(frozen=True, slots=True)
class ResultTotals:
    """The token totals of a `result` event. `complete` is whether they include sub-agents and side requests."""

    usage: Usage
    by_model: dict[str, Usage]
    complete: bool


def read_totals(result: Mapping[str, Any]) -> ResultTotals:
    """`modelUsage` covers everything; `usage` only the main loop, and is all zeros when an answer was cut off."""
    by_model = {
        model: _model_usage(as_dict(raw))
        for model, raw in as_dict(result.get("modelUsage")).items()
        if as_name(model) is not None
    }
    main_loop = message_usage(result.get("usage"))
    if by_model:
        return ResultTotals(sum_usage(list(by_model.values())), by_model, complete=True)
    nothing_was_answered = "modelUsage" in result and main_loop == ZERO_USAGE
    return ResultTotals(main_loop, {}, complete=nothing_was_answered)


def result_warnings(result: Mapping[str, Any], read: ResultTotals) -> Iterator[str]:
    """Warnings that follow from a result."""
    if not read.complete:
        yield "the agent's tokens cover its main loop only, without sub-agents and side requests"
    guessed = sorted(model for model, raw in as_dict(result.get("modelUsage")).items() if _is_guess(model, raw))
    if guessed:
        yield f"the dollar figure is a guess: Claude Code has no price for {', '.join(guessed)}"
    refused = Counter(as_name(as_dict(each).get("tool_name")) or "unknown" for each in _denials(result))
    if refused:
        calls = ", ".join(f"{tool} ({times})" for tool, times in sorted(refused.items()))
        yield f"tool calls were refused for lack of permission: {calls}"
    if result.get("stop_reason") == "refusal":
        yield "the model's last answer was a refusal"


def only_model(read: ResultTotals) -> str | None:
    """The model of the run, where only one was used."""
    return next(iter(read.by_model)) if len(read.by_model) == 1 else None


def cost_usd(result: Mapping[str, Any]) -> float | None:
    """The cost that the agent reports."""
    return as_amount(result.get("total_cost_usd"))


def duration_seconds(result: Mapping[str, Any]) -> float | None:
    """The duration that the agent reports."""
    milliseconds = as_amount(result.get("duration_ms"))
    return None if milliseconds is None else milliseconds / 1000


def _denials(result: Mapping[str, Any]) -> list[Any]:
    return as_list(result.get("permission_denials"))


def _model_usage(raw: Mapping[str, Any]) -> Usage:
    return Usage(
        input_tokens=as_count(raw.get("inputTokens")),
        output_tokens=as_count(raw.get("outputTokens")),
        cache_read_tokens=as_count(raw.get("cacheReadInputTokens")),
        cache_write_tokens=as_count(raw.get("cacheCreationInputTokens")),
    )


def _is_guess(model: str, raw: object) -> bool:
    """Whether a cost is a guess. Newer versions say so; older ones silently use another model's price."""
    basis = as_dict(raw).get("costBasis")
    return basis == "unknown" or (basis is None and "claude" not in model.lower())


_BY_SUBTYPE = {
    "error_max_turns": FailureKind.TURN_LIMIT,
    "error_max_budget_usd": FailureKind.BUDGET_REACHED,
}
_EMPTY_ACCOUNT = "credit balance is too low"
"""Refused with status 400 like a bad request, but the account is at fault, not the arm."""
_API_ERROR_PREFIX = "API Error"
_BY_SENTENCE = {
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
class ModelErrors:
    """Errors of the model that are reported by events before the result.

    `category` is Claude Code's name for the last one, `wait_seconds` how long the model asked to wait, and
    `resets_at` when a limit ends, in seconds of the epoch.
    """

    category: str | None = None
    retried_requests: int = 0
    wait_seconds: float | None = None
    resets_at: float | None = None

    def note(self, event: Mapping[str, Any]) -> None:
        """Read any event; most report no error."""
        match event.get("type"), event.get("subtype"):
            case "assistant", _:
                self.category = as_str(event.get("error")) or self.category
            case "rate_limit_event", _:
                self.resets_at = as_amount(as_dict(event.get("rate_limit_info")).get("resetsAt"))
            case "system", "api_retry":
                self.retried_requests += 1
                self.wait_seconds = _requested_wait(as_amount(event.get("retry_delay_ms")))


def failure_from_result(result: Mapping[str, Any], errors: ModelErrors, now: float | None) -> Failure | None:
    """The failure that a `result` event reports. Only `is_error` counts, not `subtype: success`.

    With `now`, in seconds since the epoch, a limit that states when it ends gives the time to wait.
    """
    if result.get("is_error") is not True:
        return None
    message = _error_message(result)
    kind = _BY_SUBTYPE.get(as_str(result.get("subtype")) or "")
    if kind is not None:
        return make_failure(kind, message)
    failure = failure_from_message(message, as_count(result.get("api_error_status")), errors.category)
    if failure.kind is FailureKind.CRASH and as_list(result.get("permission_denials")):
        return make_failure(FailureKind.PERMISSION_DENIED, message)
    if failure.kind is FailureKind.RATE_LIMITED:
        return make_failure(
            failure.kind, failure.detail, failure.retry_after_seconds or _retry_wait(message, errors, now)
        )
    return failure


def failure_from_message(message: str, status: int | None, category: str | None) -> Failure:
    """The most likely failure: by its status, else by Claude Code's own message; anything else is a crash."""
    short = message[:FAILURE_DETAIL_LIMIT]
    from_api = short.startswith(_API_ERROR_PREFIX)
    if (from_api or status is not None) and _EMPTY_ACCOUNT in short.lower():
        return make_failure(FailureKind.UNAUTHORIZED, short)
    if status is not None:
        return failure_from_http(status, short, parse_retry_after(short))
    otherwise = _BY_CATEGORY.get(category or "", FailureKind.CRASH)
    if from_api:
        return failure_from_text(short, otherwise)
    own = (kind for beginning, kind in _BY_SENTENCE.items() if short.startswith(beginning))
    return make_failure(next(own, otherwise), short)


def _error_message(result: Mapping[str, Any]) -> str:
    errors = [each for each in as_list(result.get("errors")) if isinstance(each, str)]
    stated = "; ".join(errors) or as_str(result.get("result"))
    return (stated or f"Claude Code ended with {result.get('subtype')!r} and no message")[:FAILURE_DETAIL_LIMIT]


def _retry_wait(message: str, errors: ModelErrors, now: float | None) -> float | None:
    reset = _RESET.search(message)
    moment = float(reset["epoch"]) if reset else errors.resets_at
    if moment is None or now is None:
        return errors.wait_seconds
    return max(0.0, moment - now)


def _requested_wait(delay_milliseconds: float | None) -> float | None:
    """The wait that `retry-after` asked for. Claude Code's own waits are random; whole seconds come from the header."""
    if not delay_milliseconds or delay_milliseconds % 1000:
        return None
    return delay_milliseconds / 1000
