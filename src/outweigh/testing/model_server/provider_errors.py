"""How each provider reports errors: status, type, code and message."""

from typing import NamedTuple

from outweigh.testing.model_server.model_reply import ErrorReply
from outweigh.testing.model_server.model_request import WireProtocol
from outweigh.testing.model_server.model_script import ErrorKind, ErrorSpec


class ErrorTemplate(NamedTuple):
    """One provider's message for one kind of error; Google's type follows from the status."""

    status: int
    message: str
    type: str = ""
    code: str | None = None


ANTHROPIC_ERRORS: dict[ErrorKind, ErrorTemplate] = {
    "rate_limited": ErrorTemplate(
        429, "This request would exceed your organization's rate limit of 50 requests per minute.", "rate_limit_error"
    ),
    "overloaded": ErrorTemplate(529, "Overloaded", "overloaded_error"),
    "unauthorized": ErrorTemplate(401, "invalid x-api-key", "authentication_error"),
    "forbidden": ErrorTemplate(
        403, "Your API key does not have permission to use the specified resource.", "permission_error"
    ),
    "server_error": ErrorTemplate(500, "Internal server error", "api_error"),
    "context_overflow": ErrorTemplate(
        400, "prompt is too long: 210000 tokens > 200000 maximum", "invalid_request_error"
    ),
    "unknown_model": ErrorTemplate(404, "model: {model}", "not_found_error"),
    "quota_exhausted": ErrorTemplate(
        400,
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits.",
        "invalid_request_error",
    ),
    "bad_request": ErrorTemplate(400, "messages: at least one message is required", "invalid_request_error"),
}

OPENAI_ERRORS: dict[ErrorKind, ErrorTemplate] = {
    "rate_limited": ErrorTemplate(
        429,
        "Rate limit reached for {model} on requests per min (RPM): Limit 50, Used 50, Requested 1. "
        "Please try again in {seconds:g}s.",
        "requests",
        "rate_limit_exceeded",
    ),
    "overloaded": ErrorTemplate(
        503, "The server is currently overloaded with other requests. Sorry about that!", "server_error"
    ),
    "unauthorized": ErrorTemplate(401, "Incorrect API key provided.", "invalid_request_error", "invalid_api_key"),
    "forbidden": ErrorTemplate(
        403,
        "Country, region, or territory not supported",
        "request_forbidden",
        "unsupported_country_region_territory",
    ),
    "server_error": ErrorTemplate(
        500, "The server had an error while processing your request. Sorry about that!", "server_error"
    ),
    "context_overflow": ErrorTemplate(
        400,
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "invalid_request_error",
        "context_length_exceeded",
    ),
    "unknown_model": ErrorTemplate(
        404,
        "The model `{model}` does not exist or you do not have access to it.",
        "invalid_request_error",
        "model_not_found",
    ),
    "quota_exhausted": ErrorTemplate(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
        "insufficient_quota",
    ),
    "bad_request": ErrorTemplate(400, "The request cannot be understood.", "invalid_request_error"),
}

GEMINI_ERRORS: dict[ErrorKind, ErrorTemplate] = {
    "rate_limited": ErrorTemplate(
        429,
        "Resource has been exhausted (e.g. check quota).",
        code="GenerateRequestsPerMinutePerProjectPerModel",
    ),
    "overloaded": ErrorTemplate(503, "The model is overloaded. Please try again later."),
    "unauthorized": ErrorTemplate(400, "API key not valid. Please pass a valid API key.", code="API_KEY_INVALID"),
    "forbidden": ErrorTemplate(403, "The caller does not have permission"),
    "server_error": ErrorTemplate(500, "An internal error has occurred. Please retry."),
    "context_overflow": ErrorTemplate(
        400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    ),
    "unknown_model": ErrorTemplate(
        404,
        "models/{model} is not found for API version v1beta, or is not supported for generateContent. "
        "Call ListModels to see the list of available models and their supported methods.",
    ),
    "quota_exhausted": ErrorTemplate(
        429,
        "You exceeded your current quota, please check your plan and billing details.",
        code="GenerateRequestsPerDayPerProjectPerModel",
    ),
    "bad_request": ErrorTemplate(400, "Request contains an invalid argument."),
}

ERRORS_BY_PROTOCOL = {
    WireProtocol.ANTHROPIC: ANTHROPIC_ERRORS,
    WireProtocol.CHAT: OPENAI_ERRORS,
    WireProtocol.RESPONSES: OPENAI_ERRORS,
    WireProtocol.GEMINI: GEMINI_ERRORS,
}
_GOOGLE_STATUS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    403: "PERMISSION_DENIED",
    404: "NOT_FOUND",
    429: "RESOURCE_EXHAUSTED",
    500: "INTERNAL",
    503: "UNAVAILABLE",
    504: "DEADLINE_EXCEEDED",
}
_KINDS_BY_STATUS: dict[int, ErrorKind] = {
    401: "unauthorized",
    403: "forbidden",
    404: "unknown_model",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
_RETRY_SECONDS = 1.0


def make_error_reply(error: ErrorSpec, protocol: WireProtocol, model: str) -> ErrorReply:
    """A script's error in the format of one provider; what the script states takes precedence."""
    template = ERRORS_BY_PROTOCOL[protocol][error.kind or _kind_of_status(error.status)]
    status = error.status or template.status
    own_type = template.type or _GOOGLE_STATUS.get(status, "UNKNOWN")
    seconds = error.retry_after_seconds or _RETRY_SECONDS
    return ErrorReply(
        status=status,
        type=error.type or own_type,
        message=template.message.format(model=model, seconds=seconds) if error.message is None else error.message,
        code=template.code if error.type is None else None,
        retry_after_seconds=error.retry_after_seconds,
    )


def _kind_of_status(status: int | None) -> ErrorKind:
    if status is not None and status in _KINDS_BY_STATUS:
        return _KINDS_BY_STATUS[status]
    return "bad_request" if status is not None and status < 500 else "server_error"
