"""Saying no the way each API does, so that agents understand it and stop."""

from dataclasses import dataclass
from enum import StrEnum

import msgspec

from outweigh.transcript.model_call import Dialect


class Reason(StrEnum):
    """Why the gateway itself answers."""

    UNKNOWN_KEY = "unknown_key"
    NOT_SERVED = "not_served"
    UNREADABLE = "unreadable"
    TOO_LARGE = "too_large"
    UNKNOWN_MODEL = "unknown_model"
    CAP_REACHED = "cap_reached"
    UNREACHABLE = "unreachable"


@dataclass(frozen=True, slots=True)
class Refusal:
    """An answer that says no. `may_help_again` is whether asking once more could end otherwise."""

    status: int
    body: bytes
    may_help_again: bool


@dataclass(frozen=True, slots=True)
class _Words:
    status: int
    anthropic: str
    openai: str
    gemini: str


_WORDS = {
    Reason.UNKNOWN_KEY: _Words(401, "authentication_error", "invalid_api_key", "UNAUTHENTICATED"),
    Reason.NOT_SERVED: _Words(404, "not_found_error", "invalid_request_error", "NOT_FOUND"),
    Reason.UNREADABLE: _Words(400, "invalid_request_error", "invalid_request_error", "INVALID_ARGUMENT"),
    Reason.TOO_LARGE: _Words(413, "request_too_large", "invalid_request_error", "INVALID_ARGUMENT"),
    Reason.UNKNOWN_MODEL: _Words(400, "invalid_request_error", "model_not_found", "INVALID_ARGUMENT"),
    Reason.CAP_REACHED: _Words(402, "billing_error", "insufficient_quota", "PERMISSION_DENIED"),
    Reason.UNREACHABLE: _Words(502, "api_error", "server_error", "UNAVAILABLE"),
}


_GIVING_UP_AT = {
    Dialect.ANTHROPIC_MESSAGES: 403,
    Dialect.OPENAI_RESPONSES: 400,
    Dialect.OPENAI_CHAT: 401,
    Dialect.GEMINI: 403,
}
"""What a spent budget is answered with. A 402 would be the word for it, but what is built on LiteLLM (mini-swe-agent,
aider) tries again for minutes after it, and Codex five times. After these, every agent that was tried gives up at once:
Codex tries again after 401 and 403, goose after 400 and 404, mini-swe-agent after 400.
"""


def refusal(dialect: Dialect | None, reason: Reason, message: str) -> Refusal:
    """What to answer; a plain sentence where nobody knows which API was meant."""
    words = _WORDS[reason]
    status = words.status if reason is not Reason.CAP_REACHED or dialect is None else _GIVING_UP_AT[dialect]
    body = msgspec.json.encode(_shape(dialect, status, words, message))
    return Refusal(status, body, may_help_again=reason is Reason.UNREACHABLE)


def _shape(dialect: Dialect | None, status: int, words: _Words, message: str) -> dict[str, object]:
    match dialect:
        case None:
            return {"error": message}
        case Dialect.ANTHROPIC_MESSAGES:
            return {"type": "error", "error": {"type": words.anthropic, "message": message}}
        case Dialect.GEMINI:
            return {"error": {"code": status, "message": message, "status": words.gemini}}
        case _:
            return {"error": {"message": message, "type": words.openai, "param": None, "code": words.openai}}
