"""Why a run or a request failed, whether that counts against the arm, and whether another attempt can help.

A failure is read from an HTTP status, or from the sentence in which an agent or a provider reports it.
"""

import re
from enum import StrEnum

from msgspec import Struct


class Status(StrEnum):
    """Completed, ended by the agent's fault, or never a fair attempt."""

    COMPLETED = "completed"
    TIMEOUT = "timeout"
    BUDGET_EXCEEDED = "budget_exceeded"
    AGENT_ERROR = "agent_error"
    INFRA_ERROR = "infra_error"
    NOT_RUN = "not_run"
    ARM_NOT_APPLIED = "arm_not_applied"


EXCLUDED_STATUSES = frozenset({Status.INFRA_ERROR, Status.NOT_RUN, Status.ARM_NOT_APPLIED})
"""Statuses that say nothing about the arm; such runs are listed and left out, never counted as failures."""


class Remedy(StrEnum):
    """What the engine does about a failure."""

    RETRY = "retry"
    PAUSE = "pause"
    FAIL = "fail"


class FailureKind(StrEnum):
    """The known ways in which an agent or its requests to a model fail."""

    CONNECTION_REFUSED = "connection_refused"
    UNAUTHORIZED = "unauthorized"
    LOGIN_EXPIRED = "login_expired"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    CUT_STREAM = "cut_stream"
    UNKNOWN_MODEL = "unknown_model"
    BAD_REQUEST = "bad_request"
    BUDGET_REACHED = "budget_reached"
    NOT_ALLOWED = "not_allowed"
    TURN_LIMIT = "turn_limit"
    PERMISSION_DENIED = "permission_denied"
    CONTEXT_OVERFLOW = "context_overflow"
    REFUSAL = "refusal"
    CRASH = "crash"
    NO_RESULT = "no_result"
    TIMEOUT = "timeout"

    @property
    def status(self) -> Status:
        """The status of a run that ended this way."""
        return _MEANING[self][0]

    @property
    def remedy(self) -> Remedy:
        """Whether another attempt can help, and when."""
        return _MEANING[self][1]


_MEANING = {
    # The model could not be reached or did not respond: that says nothing about the arm.
    FailureKind.CONNECTION_REFUSED: (Status.INFRA_ERROR, Remedy.RETRY),
    FailureKind.SERVER_ERROR: (Status.INFRA_ERROR, Remedy.RETRY),
    FailureKind.CUT_STREAM: (Status.INFRA_ERROR, Remedy.RETRY),
    FailureKind.RATE_LIMITED: (Status.INFRA_ERROR, Remedy.PAUSE),
    FailureKind.OVERLOADED: (Status.INFRA_ERROR, Remedy.PAUSE),
    # The key or the model's name must be corrected first; retrying would fail the same way.
    FailureKind.UNAUTHORIZED: (Status.INFRA_ERROR, Remedy.FAIL),
    FailureKind.LOGIN_EXPIRED: (Status.INFRA_ERROR, Remedy.FAIL),
    FailureKind.UNKNOWN_MODEL: (Status.INFRA_ERROR, Remedy.FAIL),
    # The others count against the arm.
    FailureKind.BUDGET_REACHED: (Status.BUDGET_EXCEEDED, Remedy.FAIL),
    FailureKind.TIMEOUT: (Status.TIMEOUT, Remedy.FAIL),
    FailureKind.NOT_ALLOWED: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.BAD_REQUEST: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.TURN_LIMIT: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.PERMISSION_DENIED: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.CONTEXT_OVERFLOW: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.REFUSAL: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.CRASH: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.NO_RESULT: (Status.AGENT_ERROR, Remedy.FAIL),
}


class Failure(Struct, frozen=True, kw_only=True):
    """One failure; `retry_after_seconds` is known only where the provider sent it."""

    kind: FailureKind
    detail: str
    retry_after_seconds: float | None


def make_failure(kind: FailureKind, detail: str, retry_after_seconds: float | None = None) -> Failure:
    """Build a failure."""
    return Failure(kind=kind, detail=detail, retry_after_seconds=retry_after_seconds)


_OVERFLOW_WORDS = (
    "prompt is too long",
    "context length",
    "context window",
    "maximum context",
    "context_length",
    "input token count",
)
_REFUSED_KEY_WORDS = ("api key not valid", "api_key_invalid", "invalid api key", "invalid_api_key")
_UNKNOWN_MODEL_WORDS = ("model_not_found", "unknown model", "does not exist", "not_found_error", "no such model")


def failure_from_http(status: int, message: str, retry_after_seconds: float | None = None) -> Failure:
    """The failure that an HTTP error of a model's API means; `message` is its text."""
    return make_failure(_kind_of_http(status, message.lower()), f"HTTP {status}: {message}", retry_after_seconds)


def _kind_of_http(status: int, message: str) -> FailureKind:
    by_status = {
        401: FailureKind.UNAUTHORIZED,
        403: FailureKind.UNAUTHORIZED,
        402: FailureKind.BUDGET_REACHED,
        404: FailureKind.UNKNOWN_MODEL,
        413: FailureKind.CONTEXT_OVERFLOW,
        429: FailureKind.RATE_LIMITED,
        529: FailureKind.OVERLOADED,
        503: FailureKind.OVERLOADED,
    }
    if status in by_status:
        return by_status[status]
    if status >= 500 or status == 408:
        return FailureKind.SERVER_ERROR
    if any(phrase in message for phrase in _OVERFLOW_WORDS):
        return FailureKind.CONTEXT_OVERFLOW
    if any(phrase in message for phrase in _REFUSED_KEY_WORDS):
        return FailureKind.UNAUTHORIZED
    if any(phrase in message for phrase in _UNKNOWN_MODEL_WORDS):
        return FailureKind.UNKNOWN_MODEL
    return FailureKind.BAD_REQUEST


FAILURE_DETAIL_LIMIT = 2000
DETAIL_LINE_LIMIT = 200


def detail_line(detail: str) -> str:
    """A detail as people are shown it among other things: one line, cut where it is long. Its record has all of it."""
    line = " ".join(detail[: 10 * DETAIL_LINE_LIMIT].split())
    return line if len(line) <= DETAIL_LINE_LIMIT else f"{line[: DETAIL_LINE_LIMIT - 1].rstrip()}…"


# These patterns are compiled when they are first used: a verdict loads this module and reads no failure.

# "unexpected status 401", "status: 429", "HTTP 500", "Error code: 400", "[API Error: 503", "429 Too Many Requests".
_STATUS = r"""(?: \b (?: status (?:[ _]?code)? | http (?:/\d(?:\.\d)?)? | error (?:[ ]code)? | code )
            ["']? [ ]* [:=]? [ ]* \(? ([45]\d\d) \b )
      | (?: \b ([45]\d\d) [ ]+ (?: bad[ ]request | unauthorized | payment[ ]required | forbidden | not[ ]found
            | request[ ]timeout | payload[ ]too[ ]large | too[ ]many[ ]requests | internal[ ]server[ ]error
            | bad[ ]gateway | service[ ]unavailable | gateway[ ]timeout ) )"""

# Searched in this order, in lower case: more specific patterns come first.
_WORDS = (
    (FailureKind.CONTEXT_OVERFLOW, r"context.?window|context.?length|maximum context|prompt is too long"),
    (FailureKind.UNAUTHORIZED, r"authentication|unauthorized|permissiondenied|api key|not logged in"),
    (FailureKind.RATE_LIMITED, r"rate.?limit|too many requests|usage limit|resource_exhausted|quota"),
    (FailureKind.OVERLOADED, r"overloaded|at capacity|service.?unavailable"),
    (FailureKind.UNKNOWN_MODEL, r"model_not_found|unknown model|no such model|notfounderror"),
    (FailureKind.UNKNOWN_MODEL, r"model\b.{0,200}(?:does not exist|not found|is not supported)"),
    (FailureKind.CONNECTION_REFUSED, r"connection refused|econnrefused|connection (?:error|failed)|apiconnectionerror"),
    (FailureKind.CONNECTION_REFUSED, r"error sending request|fetch failed|enotfound|name resolution"),
    (FailureKind.CONNECTION_REFUSED, r"(?:cannot|unable to|could not|couldn.t) connect|internet connection"),
    (
        FailureKind.CUT_STREAM,
        r"stream (?:disconnected|ended|closed|decode)|econnreset|connection reset|premature close",
    ),
    (FailureKind.CUT_STREAM, r"incomplete chunked|terminated unexpectedly|socket hang up|socket connection was closed"),
    (FailureKind.SERVER_ERROR, r"internal.?server.?error|high demand|bad gateway|timed out|apitimeouterror|etimedout"),
    (FailureKind.REFUSAL, r"content_filter|content.?policy|prohibited_content|safety"),
    (FailureKind.BAD_REQUEST, r"bad.?request|invalid.?request"),
)

_SECONDS = {"ms": 0.001, "s": 1, "sec": 1, "second": 1, "m": 60, "min": 60, "minute": 60, "h": 3600, "hour": 3600}
_SECONDS["d"] = _SECONDS["day"] = 86_400
_TIME_SPAN = r"\d{1,9}(?:\.\d{1,9})? ?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)?\b"
_RETRY = (
    rf"(?:try again in|retry(?:ing)? (?:in|after)|retry[-_]after[\"']?[:=]?|resets? in) ?(?:about )?"
    rf"((?:{_TIME_SPAN}(?:,? (?:and )?)?)+)"
)
_EXIT_CODE = r"^(?:(?:Process|Command) exited with code:?|Exit code:|Exit Code:) (?P<code>-?\d{1,9})$"
_TIME_PART = r"(\d+(?:\.\d+)?) ?([a-z]*)"


def failure_from_text(message: str, otherwise: FailureKind) -> Failure:
    """The failure that a message describes; `otherwise` where nothing in it is known."""
    short = message[:FAILURE_DETAIL_LIMIT]
    retry_after_seconds = parse_retry_after(short)
    if (found := re.search(_STATUS, short, re.IGNORECASE | re.VERBOSE)) is not None:
        return failure_from_http(int(found[1] or found[2]), short, retry_after_seconds)
    lowered = short.lower()
    kind = next((kind for kind, pattern in _WORDS if re.search(pattern, lowered)), otherwise)
    return make_failure(kind, short, retry_after_seconds)


def parse_retry_after(message: str) -> float | None:
    """The seconds to wait, where a message states them; a time of day cannot be used without a clock."""
    found = re.search(_RETRY, message, re.IGNORECASE)
    if found is None:
        return None
    return sum(float(number) * _unit_seconds(unit) for number, unit in re.findall(_TIME_PART, found[1], re.IGNORECASE))


def parse_exit_code(output: str) -> int | None:
    """The exit code that a shell tool wrote into a command's output; None without one."""
    found = re.search(_EXIT_CODE, output, re.MULTILINE)
    return None if found is None else int(found["code"])


def _unit_seconds(unit: str) -> float:
    name = unit.lower()
    if name.startswith("millisecond"):
        return 0.001
    return _SECONDS.get(name) or _SECONDS.get(name.removesuffix("s"), 1)
