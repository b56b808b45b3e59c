"""Why a run or a request failed, and what that means: whose fault it is, and whether trying again helps."""

from dataclasses import dataclass
from enum import StrEnum

from outweigh.record.status import Status


class Remedy(StrEnum):
    """What the engine does about a failure."""

    RETRY = "retry"
    PAUSE = "pause"
    FAIL = "fail"


class FailureKind(StrEnum):
    """Everything that is known to go wrong between an agent and its model."""

    CONNECTION_REFUSED = "connection_refused"
    UNAUTHORIZED = "unauthorized"
    RATE_LIMITED = "rate_limited"
    OVERLOADED = "overloaded"
    SERVER_ERROR = "server_error"
    CUT_STREAM = "cut_stream"
    UNKNOWN_MODEL = "unknown_model"
    BAD_REQUEST = "bad_request"
    BUDGET_REACHED = "budget_reached"
    TURN_LIMIT = "turn_limit"
    PERMISSION_DENIED = "permission_denied"
    CONTEXT_OVERFLOW = "context_overflow"
    REFUSAL = "refusal"
    CRASH = "crash"
    NO_RESULT = "no_result"
    TIMEOUT = "timeout"

    @property
    def status(self) -> Status:
        """What a run that ended this way is recorded as."""
        return _MEANING[self][0]

    @property
    def remedy(self) -> Remedy:
        """Whether another attempt can help, and when."""
        return _MEANING[self][1]


_MEANING = {
    # The model could not be reached or did not answer: that says nothing about the arm.
    FailureKind.CONNECTION_REFUSED: (Status.INFRA_ERROR, Remedy.RETRY),
    FailureKind.SERVER_ERROR: (Status.INFRA_ERROR, Remedy.RETRY),
    FailureKind.CUT_STREAM: (Status.INFRA_ERROR, Remedy.RETRY),
    FailureKind.RATE_LIMITED: (Status.INFRA_ERROR, Remedy.PAUSE),
    FailureKind.OVERLOADED: (Status.INFRA_ERROR, Remedy.PAUSE),
    # Somebody must mend the key or the name of the model first; the same answer would come every time.
    FailureKind.UNAUTHORIZED: (Status.INFRA_ERROR, Remedy.FAIL),
    FailureKind.UNKNOWN_MODEL: (Status.INFRA_ERROR, Remedy.FAIL),
    # The rest is what the arm made of its chance.
    FailureKind.BUDGET_REACHED: (Status.BUDGET_EXCEEDED, Remedy.FAIL),
    FailureKind.TIMEOUT: (Status.TIMEOUT, Remedy.FAIL),
    FailureKind.BAD_REQUEST: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.TURN_LIMIT: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.PERMISSION_DENIED: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.CONTEXT_OVERFLOW: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.REFUSAL: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.CRASH: (Status.AGENT_ERROR, Remedy.FAIL),
    FailureKind.NO_RESULT: (Status.AGENT_ERROR, Remedy.FAIL),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Failure:
    """One failure as somebody told it; `retry_after_seconds` is known only where the model said when."""

    kind: FailureKind
    detail: str
    retry_after_seconds: float | None


def failure(kind: FailureKind, detail: str, retry_after_seconds: float | None = None) -> Failure:
    """A failure in short."""
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


def failure_of_http(status: int, message: str, retry_after_seconds: float | None = None) -> Failure:
    """What an answer of a model's API means; `message` is what it said, whatever the shape."""
    return failure(_kind_of_http(status, message.lower()), f"HTTP {status}: {message}", retry_after_seconds)


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
    if any(words in message for words in _OVERFLOW_WORDS):
        return FailureKind.CONTEXT_OVERFLOW
    if any(words in message for words in _REFUSED_KEY_WORDS):
        return FailureKind.UNAUTHORIZED
    if any(words in message for words in _UNKNOWN_MODEL_WORDS):
        return FailureKind.UNKNOWN_MODEL
    return FailureKind.BAD_REQUEST
