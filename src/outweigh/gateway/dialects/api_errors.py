"""How each API reports an error.

Reads a provider's errors (status, message, how long to wait, what kind of failure it is for the run) and writes the
gateway's own refusals in the form that each API's clients understand, so that agents give up instead of retrying.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from enum import StrEnum

import msgspec
from msgspec.structs import replace

from outweigh.model.failure import Failure, FailureKind, failure_from_http, make_failure
from outweigh.model.json_text import JsonObject, try_decode_json
from outweigh.model.untrusted_json import count_at, dict_at, dicts_at, str_at
from outweigh.ports.gateways import Dialect

_STATUS_OF_CODE = {
    "invalid_request_error": 400,
    "authentication_error": 401,
    "invalid_api_key": 401,
    "billing_error": 402,
    "permission_error": 403,
    "unsupported_country_region_territory": 403,
    "not_found_error": 404,
    "request_too_large": 413,
    "rate_limit_error": 429,
    "rate_limit_exceeded": 429,
    "insufficient_quota": 429,
    "context_length_exceeded": 400,
    "invalid_prompt": 400,
    "model_not_found": 404,
    "timeout_error": 504,
    "overloaded_error": 529,
    "server_is_overloaded": 529,
    "slow_down": 529,
}
_MAX_MESSAGE_LENGTH = 2_000


@dataclass(frozen=True, slots=True)
class ReportedError:
    """An error that an API reported; `status` is the HTTP status, or the one that the error code stands for."""

    status: int
    message: str


def read_reported_error(error: JsonObject) -> ReportedError:
    """Read the object under `error`, in any of the forms in use."""
    word = str_at(error, "code") or str_at(error, "type") or str_at(error, "status") or ""
    status = (
        count_at(error, "code") or _STATUS_OF_CODE.get(word) or _STATUS_OF_CODE.get(str_at(error, "type") or "", 500)
    )
    message = str_at(error, "message") or "no message"
    return ReportedError(status, f"{word}: {message}"[:_MAX_MESSAGE_LENGTH] if word else message[:_MAX_MESSAGE_LENGTH])


def read_error_message(body: bytes) -> str:
    """The message in the body of an error response, in any form."""
    decoded = try_decode_json(body)
    if (
        isinstance(decoded, list) and decoded
    ):  # Gemini responds with an array to a stream that is not server-sent events
        decoded = decoded[0]
    if error := dict_at(decoded, "error"):
        return read_reported_error(error).message
    plain_text = str_at(decoded, "error") or str_at(decoded, "message") or str_at(decoded, "detail")
    return (plain_text or " ".join(body.decode(errors="replace").split()) or "no message")[:_MAX_MESSAGE_LENGTH]


_DURATION = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d)")
_SECONDS_PER_UNIT = {"ms": 0.001, "s": 1.0, "m": 60.0, "h": 3600.0, "d": 86400.0}
_PLAN_RESET = "anthropic-ratelimit-unified-reset"
"""When the limit of a Claude plan that was reached resets. Limits that were not reached have headers of their own."""
_RESETS = re.compile(r"^(?P<before>anthropic-ratelimit-[\w-]+-|x-ratelimit-)reset(?P<after>-\w+)?$")


def read_retry_after(headers: Mapping[str, str], body: bytes, now: datetime) -> float | None:
    """The requested wait in seconds, None without one. An explicit retry header goes before other signs."""
    lowered = {name.lower(): value.strip() for name, value in headers.items()}
    plain = _parse_milliseconds(lowered.get("retry-after-ms")) or _parse_time_or_seconds(
        lowered.get("retry-after"), now
    )
    if plain is not None:
        return plain
    plan = _parse_time_or_seconds(lowered.get(_PLAN_RESET), now)
    return _delay_in_body(body, now) or plan or max(_until_resets(lowered, now), default=None)


def _until_resets(headers: Mapping[str, str], now: datetime) -> Iterator[float]:
    """Seconds until the exhausted limits reset, or until all do where none is marked as exhausted."""
    resets = [(found, value) for name, value in headers.items() if (found := _RESETS.match(name))]
    left = [headers.get(f"{found['before']}remaining{found['after'] or ''}") for found, _ in resets]
    is_any_used_up = "0" in left
    for (_, value), remaining in zip(resets, left, strict=True):
        if remaining == "0" or not is_any_used_up:
            wait = _parse_duration(value) if _parse_duration(value) is not None else _parse_time_or_seconds(value, now)
            if wait is not None:
                yield wait


def _parse_milliseconds(value: str | None) -> float | None:
    try:
        return None if value is None else max(0.0, float(value) / 1000)
    except ValueError:
        return None


def _parse_duration(value: str) -> float | None:
    """Durations such as `1s`, `6m0s` and `12ms`."""
    found = _DURATION.findall(value)
    if not found or "".join(number + unit for number, unit in found) != value:
        return None
    return sum(float(number) * _SECONDS_PER_UNIT[unit] for number, unit in found)


def _parse_time_or_seconds(value: str | None, now: datetime) -> float | None:
    """Seconds from now, given as a number, an HTTP date, RFC 3339, or seconds since 1970."""
    if value is None:
        return None
    try:
        number = float(value)
    except ValueError:
        moment = _parse_time(value)
        return None if moment is None else max(0.0, (moment - now).total_seconds())
    seconds = number - now.timestamp() if number > 1e9 else number
    return max(0.0, seconds) if seconds < float("inf") else None


def _parse_time(value: str) -> datetime | None:
    for read in (datetime.fromisoformat, parsedate_to_datetime):
        try:
            moment = read(value)
        except ValueError:
            continue
        return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
    return None


def _delay_in_body(body: bytes, now: datetime) -> float | None:
    """The delay in the details of a Gemini error, or until a ChatGPT plan's limit resets."""
    decoded = try_decode_json(body)
    error = dict_at(decoded, "error")
    if (seconds := count_at(error, "resets_in_seconds")) is not None:
        return float(seconds)
    if (moment := count_at(error, "resets_at")) is not None:
        return _parse_time_or_seconds(str(moment), now)
    for whole in decoded if isinstance(decoded, list) else [decoded]:
        for detail in dicts_at(whole, "error", "details"):
            if (str_at(detail, "@type") or "").endswith("RetryInfo"):
                return _parse_duration(str_at(detail, "retryDelay") or "")
    return None


_OUT_OF_CREDIT = ("insufficient_quota", "credit balance is too low", "billing_error")


def classify_provider_error(error: ReportedError, retry_after_seconds: float | None) -> Failure:
    """The failure that a provider's error means.

    An account without credit counts as unauthorized: it is not the run's fault, and waiting does not help. A run that
    has spent its own budget is refused by the gateway, never by a provider.
    """
    if error.status < 400:
        sentence = f"HTTP {error.status}: the provider sends to another address, and keys are not sent there"
        return make_failure(
            FailureKind.SERVER_ERROR, f"{sentence}; name the address itself under [gateway] in the suite"
        )
    meant = failure_from_http(error.status, error.message, retry_after_seconds)
    if error.status == 402 or any(words in error.message.lower() for words in _OUT_OF_CREDIT):
        return replace(meant, kind=FailureKind.UNAUTHORIZED, retry_after_seconds=None)
    return meant


class RefusalReason(StrEnum):
    """Why the gateway refuses a request."""

    UNKNOWN_KEY = "unknown_key"
    NOT_SERVED = "not_served"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"
    UNKNOWN_MODEL = "unknown_model"
    CAP_REACHED = "cap_reached"
    NOT_ALLOWED = "not_allowed"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class GatewayRefusal:
    """A response that refuses a request. `is_retryable` is whether the same request could succeed later."""

    status: int
    body: bytes
    is_retryable: bool


@dataclass(frozen=True, slots=True)
class _ErrorCodes:
    status: int
    anthropic: str
    openai: str
    gemini: str


_ERROR_CODES = {
    RefusalReason.UNKNOWN_KEY: _ErrorCodes(401, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"),
    RefusalReason.NOT_SERVED: _ErrorCodes(404, "not_found_error", "invalid_request_error", "NOT_FOUND"),
    RefusalReason.UNREADABLE: _ErrorCodes(400, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    RefusalReason.TOO_LARGE: _ErrorCodes(413, "request_too_large", "invalid_request_error", "INVALID_ARGUMENT"),
    RefusalReason.UNKNOWN_MODEL: _ErrorCodes(400, "invalid_request_error", "model_not_found", "INVALID_ARGUMENT"),
    RefusalReason.CAP_REACHED: _ErrorCodes(402, "billing_error", "insufficient_quota", "PERMISSION_DENIED"),
    RefusalReason.NOT_ALLOWED: _ErrorCodes(403, "permission_error", "invalid_request_error", "PERMISSION_DENIED"),
    RefusalReason.UNREACHABLE: _ErrorCodes(502, "api_error", "server_error", "UNAVAILABLE"),
}


_FINAL_STATUS = {
    Dialect.ANTHROPIC_MESSAGES: 403,
    Dialect.OPENAI_RESPONSES: 400,
    Dialect.OPENAI_CHAT: 401,
    Dialect.GEMINI: 403,
}
"""What a spent budget and a request that is not allowed are answered with.

For the first, 402 would be the word, but what is built on LiteLLM (mini-swe-agent, aider) tries again for minutes after
it, and Codex five times. After these, every agent that was tried gives up at once: Codex tries again after 401 and 403,
goose after 400 and 404, mini-swe-agent after 400.
"""
_FINAL_REASONS = (RefusalReason.CAP_REACHED, RefusalReason.NOT_ALLOWED)


def make_refusal(dialect: Dialect | None, reason: RefusalReason, message: str) -> GatewayRefusal:
    """The response to a refused request; a plain sentence where the API is unknown."""
    codes = _ERROR_CODES[reason]
    status = codes.status if reason not in _FINAL_REASONS or dialect is None else _FINAL_STATUS[dialect]
    body = msgspec.json.encode(_error_body(dialect, status, codes, message))
    return GatewayRefusal(status, body, is_retryable=reason is RefusalReason.UNREACHABLE)


def _error_body(dialect: Dialect | None, status: int, codes: _ErrorCodes, message: str) -> dict[str, object]:
    match dialect:
        case None:
            return {"error": message}
        case Dialect.ANTHROPIC_MESSAGES:
            return {"type": "error", "error": {"type": codes.anthropic, "message": message}}
        case Dialect.GEMINI:
            return {"error": {"code": status, "message": message, "status": codes.gemini}}
        case _:
            return {"error": {"message": message, "type": codes.openai, "param": None, "code": codes.openai}}
