"""Saying no the way each API does, so that agents understand it and stop."""

import msgspec

from outweigh.transcript.model_call import Dialect

_ANTHROPIC_WORDS = {
    400: "invalid_request_error",
    401: "authentication_error",
    402: "billing_error",
    404: "not_found_error",
    413: "request_too_large",
    502: "api_error",
}
_OPENAI_WORDS = {
    400: ("invalid_request_error", None),
    401: ("invalid_request_error", "invalid_api_key"),
    402: ("insufficient_quota", "insufficient_quota"),
    404: ("invalid_request_error", None),
    413: ("invalid_request_error", None),
    502: ("server_error", None),
}
_GEMINI_WORDS = {
    400: "INVALID_ARGUMENT",
    401: "UNAUTHENTICATED",
    402: "FAILED_PRECONDITION",
    404: "NOT_FOUND",
    413: "INVALID_ARGUMENT",
    502: "UNAVAILABLE",
}


def refusal(dialect: Dialect | None, status: int, message: str) -> bytes:
    """The body of an answer with this status; a plain sentence where nobody knows which API was meant."""
    return msgspec.json.encode(_shape(dialect, status, message))


def _shape(dialect: Dialect | None, status: int, message: str) -> dict[str, object]:
    match dialect:
        case None:
            return {"error": message}
        case Dialect.ANTHROPIC_MESSAGES:
            return {"type": "error", "error": {"type": _ANTHROPIC_WORDS[status], "message": message}}
        case Dialect.GEMINI:
            return {"error": {"code": status, "message": message, "status": _GEMINI_WORDS[status]}}
    kind, code = _OPENAI_WORDS[status]
    return {"error": {"message": message, "type": kind, "param": None, "code": code}}
