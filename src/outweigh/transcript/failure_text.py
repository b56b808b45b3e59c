"""What went wrong, from the sentence in which an agent tells it."""

import re

from outweigh.transcript.failure import Failure, FailureKind, failure, failure_of_http

DETAIL_LIMIT = 2000

# "unexpected status 401", "status: 429", "HTTP 500", "Error code: 400", "[API Error: 503", "429 Too Many Requests".
_STATUS = re.compile(
    r"""(?: \b (?: status (?:[ _]?code)? | http (?:/\d(?:\.\d)?)? | error (?:[ ]code)? | code )
            ["']? [ ]* [:=]? [ ]* \(? ([45]\d\d) \b )
      | (?: \b ([45]\d\d) [ ]+ (?: bad[ ]request | unauthorized | payment[ ]required | forbidden | not[ ]found
            | request[ ]timeout | payload[ ]too[ ]large | too[ ]many[ ]requests | internal[ ]server[ ]error
            | bad[ ]gateway | service[ ]unavailable | gateway[ ]timeout ) )""",
    re.IGNORECASE | re.VERBOSE,
)

# In this order, in lower case: the more telling words come first.
_WORDS = (
    (FailureKind.CONTEXT_OVERFLOW, r"context.?window|context.?length|maximum context|prompt is too long"),
    (FailureKind.UNAUTHORIZED, r"authentication|unauthorized|permissiondenied|api key|not logged in"),
    (FailureKind.RATE_LIMITED, r"rate.?limit|too many requests|usage limit|resource_exhausted|quota"),
    (FailureKind.OVERLOADED, r"overloaded|at capacity|service.?unavailable"),
    (FailureKind.UNKNOWN_MODEL, r"model_not_found|unknown model|no such model|notfounderror"),
    (FailureKind.UNKNOWN_MODEL, r"model\b.{0,200}(?:does not exist|not found|is not supported)"),
    (FailureKind.CONNECTION_REFUSED, r"connection refused|econnrefused|connection (?:error|failed)|apiconnectionerror"),
    (FailureKind.CONNECTION_REFUSED, r"error sending request|fetch failed|(?:cannot|unable to|could not) connect"),
    (FailureKind.CONNECTION_REFUSED, r"enotfound|name resolution"),
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
_SPAN = r"\d{1,9}(?:\.\d{1,9})? ?(?:ms|milliseconds?|s|secs?|seconds?|m|mins?|minutes?|h|hours?|d|days?)?\b"
_RETRY = re.compile(
    rf"(?:try again in|retry(?:ing)? (?:in|after)|retry[-_]after[\"']?[:=]?|resets? in) ?(?:about )?"
    rf"((?:{_SPAN}(?:,? (?:and )?)?)+)",
    re.IGNORECASE,
)
_EXIT_CODE = re.compile(
    r"^(?:(?:Process|Command) exited with code:?|Exit code:|Exit Code:) (?P<code>-?\d{1,9})$", re.MULTILINE
)
_PART = re.compile(r"(\d+(?:\.\d+)?) ?([a-z]*)", re.IGNORECASE)


def failure_of_text(message: str, otherwise: FailureKind) -> Failure:
    """The failure a message tells; `otherwise` where it names nothing that is known."""
    short = message[:DETAIL_LIMIT]
    retry_after_seconds = retry_after(short)
    if (found := _STATUS.search(short)) is not None:
        return failure_of_http(int(found[1] or found[2]), short, retry_after_seconds)
    words = short.lower()
    kind = next((kind for kind, pattern in _WORDS if re.search(pattern, words)), otherwise)
    return failure(kind, short, retry_after_seconds)


def retry_after(message: str) -> float | None:
    """The seconds after which to try again, where a message says so; a time of day says nothing without a clock."""
    found = _RETRY.search(message)
    if found is None:
        return None
    return sum(float(number) * _unit_seconds(unit) for number, unit in _PART.findall(found[1]))


def exit_code_told(output: str) -> int | None:
    """The exit code that a shell tool wrote into a command's output, where it did."""
    found = _EXIT_CODE.search(output)
    return None if found is None else int(found["code"])


def _unit_seconds(unit: str) -> float:
    name = unit.lower()
    if name.startswith("millisecond"):
        return 0.001
    return _SECONDS.get(name) or _SECONDS.get(name.removesuffix("s"), 1)
