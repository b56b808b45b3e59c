"""Errors as the APIs tell them, in bodies and in the middle of streams."""

from dataclasses import dataclass

from outweigh.gateway.dialects.loose import Json, count, decoded, mapping, text

_STATUS_OF_WORD = {
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
_LONGEST_MESSAGE = 2_000


@dataclass(frozen=True, slots=True)
class SpokenError:
    """What an API said went wrong; `status` is what it would have answered with, had it not begun to answer already."""

    status: int
    message: str


def spoken_error(error: Json) -> SpokenError:
    """The object under `error`, in any of the shapes in use."""
    word = text(error, "code") or text(error, "type") or text(error, "status") or ""
    status = count(error, "code") or _STATUS_OF_WORD.get(word) or _STATUS_OF_WORD.get(text(error, "type") or "", 500)
    message = text(error, "message") or "no message"
    return SpokenError(status, f"{word}: {message}"[:_LONGEST_MESSAGE] if word else message[:_LONGEST_MESSAGE])


def message_in(body: bytes) -> str:
    """What the body of a failed answer says, whatever its shape."""
    said = decoded(body)
    if isinstance(said, list) and said:  # Gemini answers a stream that is no stream of events with an array
        said = said[0]
    if error := mapping(said, "error"):
        return spoken_error(error).message
    plainly = text(said, "error") or text(said, "message") or text(said, "detail")
    return (plainly or " ".join(body.decode(errors="replace").split()) or "no message")[:_LONGEST_MESSAGE]
