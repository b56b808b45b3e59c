"""How each provider refuses: its status, its type, its code, its words."""

from typing import NamedTuple, get_args

from outweigh.testing.model_server.reply import Failure
from outweigh.testing.model_server.request import Wire
from outweigh.testing.model_server.script import ErrorSpec, Trouble


class _Refusal(NamedTuple):
    status: int
    type: str
    message: str
    code: str | None = None


_ANTHROPIC: dict[Trouble, _Refusal] = {
    "rate_limited": _Refusal(
        429, "rate_limit_error", "This request would exceed your organization's rate limit of 50 requests per minute."
    ),
    "overloaded": _Refusal(529, "overloaded_error", "Overloaded"),
    "unauthorized": _Refusal(401, "authentication_error", "invalid x-api-key"),
    "forbidden": _Refusal(
        403, "permission_error", "Your API key does not have permission to use the specified resource."
    ),
    "server_error": _Refusal(500, "api_error", "Internal server error"),
    "context_overflow": _Refusal(400, "invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"),
    "unknown_model": _Refusal(404, "not_found_error", "model: {model}"),
    "quota_exhausted": _Refusal(
        400,
        "invalid_request_error",
        "Your credit balance is too low to access the Anthropic API. "
        "Please go to Plans & Billing to upgrade or purchase credits.",
    ),
    "bad_request": _Refusal(400, "invalid_request_error", "messages: at least one message is required"),
}

_OPENAI: dict[Trouble, _Refusal] = {
    "rate_limited": _Refusal(
        429,
        "requests",
        "Rate limit reached for {model} on requests per min (RPM): Limit 50, Used 50, Requested 1. "
        "Please try again in {seconds:g}s.",
        "rate_limit_exceeded",
    ),
    "overloaded": _Refusal(
        503, "server_error", "The server is currently overloaded with other requests. Sorry about that!"
    ),
    "unauthorized": _Refusal(401, "invalid_request_error", "Incorrect API key provided.", "invalid_api_key"),
    "forbidden": _Refusal(
        403, "invalid_request_error", "You are not allowed to sample from this model", "unsupported_country_region"
    ),
    "server_error": _Refusal(
        500, "server_error", "The server had an error while processing your request. Sorry about that!"
    ),
    "context_overflow": _Refusal(
        400,
        "invalid_request_error",
        "Your input exceeds the context window of this model. Please adjust your input and try again.",
        "context_length_exceeded",
    ),
    "unknown_model": _Refusal(
        404,
        "invalid_request_error",
        "The model `{model}` does not exist or you do not have access to it.",
        "model_not_found",
    ),
    "quota_exhausted": _Refusal(
        429,
        "insufficient_quota",
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
    ),
    "bad_request": _Refusal(400, "invalid_request_error", "The request cannot be understood."),
}

_GEMINI: dict[Trouble, _Refusal] = {
    "rate_limited": _Refusal(
        429, "", "Resource has been exhausted (e.g. check quota).", "GenerateRequestsPerMinutePerProjectPerModel"
    ),
    "overloaded": _Refusal(503, "", "The model is overloaded. Please try again later."),
    "unauthorized": _Refusal(400, "", "API key not valid. Please pass a valid API key.", "API_KEY_INVALID"),
    "forbidden": _Refusal(403, "", "The caller does not have permission"),
    "server_error": _Refusal(
        500,
        "",
        "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
    ),
    "context_overflow": _Refusal(
        400, "", "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."
    ),
    "unknown_model": _Refusal(
        404,
        "",
        "models/{model} is not found for API version v1beta, or is not supported for generateContent. "
        "Call ListModels to see the list of available models and their supported methods.",
    ),
    "quota_exhausted": _Refusal(
        429,
        "",
        "You exceeded your current quota, please check your plan and billing details.",
        "GenerateRequestsPerDayPerProjectPerModel",
    ),
    "bad_request": _Refusal(400, "", "Request contains an invalid argument."),
}

# Google's names follow from the status alone.
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
_BY_WIRE = {Wire.ANTHROPIC: _ANTHROPIC, Wire.CHAT: _OPENAI, Wire.RESPONSES: _OPENAI, Wire.GEMINI: _GEMINI}
_BY_STATUS: dict[int, Trouble] = {
    401: "unauthorized",
    403: "forbidden",
    404: "unknown_model",
    429: "rate_limited",
    503: "overloaded",
    529: "overloaded",
}
_TRY_AGAIN_SECONDS = 1.0

if any(set(get_args(Trouble)) != set(table) for table in _BY_WIRE.values()):
    raise AssertionError("every provider must have words for every kind of trouble")


def failure_for(error: ErrorSpec, wire: Wire, model: str) -> Failure:
    """What the script's error is in one provider's words; what the script says outright wins."""
    refusal = _BY_WIRE[wire][error.kind or _trouble_of(error.status)]
    status = error.status or refusal.status
    own_type = _GOOGLE_STATUS.get(status, "UNKNOWN") if wire is Wire.GEMINI else refusal.type
    seconds = error.retry_after_seconds or _TRY_AGAIN_SECONDS
    return Failure(
        status=status,
        type=error.type or own_type,
        message=refusal.message.format(model=model, seconds=seconds) if error.message is None else error.message,
        code=refusal.code if error.type is None else None,
        retry_after_seconds=error.retry_after_seconds,
    )


def _trouble_of(status: int | None) -> Trouble:
    if status is not None and status in _BY_STATUS:
        return _BY_STATUS[status]
    return "bad_request" if status is not None and status < 500 else "server_error"
