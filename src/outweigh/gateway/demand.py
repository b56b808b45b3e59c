"""A request for an answer, read: what is asked, and what is to be sent on for it."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import msgspec

from outweigh.gateway.dialects import openai_chat, openai_responses
from outweigh.gateway.dialects.asked import Asked
from outweigh.gateway.dialects.loose import Json, decoded
from outweigh.gateway.dialects.speech import READ_REQUEST
from outweigh.gateway.routes import Route
from outweigh.transcript.model_call import Dialect


class UnreadableRequestError(Exception):
    """What cannot be read cannot be metered, so it is not sent. The message is a sentence for the client."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Demand:
    """`body` is what the client sent, but for the usage that we want of streams that would have none.

    `is_ours` tells the events that only come because of that.
    """

    asked: Asked
    body: bytes
    is_ours: Callable[[Json], bool] | None


def read_demand(route: Route, body: bytes) -> Demand:
    """Read a request's body; unchanged it goes on, except where its answer could not be metered."""
    said, asked = _read(route.dialect, body)
    if route.dialect is Dialect.GEMINI:
        asked = replace(asked, model=route.model, is_streamed=route.is_streamed)
    if route.dialect is Dialect.OPENAI_RESPONSES and openai_responses.is_answered_later(said):
        raise UnreadableRequestError("A background response cannot be metered, so it was not sent.")
    if route.dialect is Dialect.OPENAI_CHAT and not openai_chat.wants_usage(said):
        wanted = msgspec.json.encode(openai_chat.with_usage_wanted(said))
        return Demand(asked=asked, body=wanted, is_ours=openai_chat.is_usage_alone)
    return Demand(asked=asked, body=body, is_ours=None)


def _read(dialect: Dialect, body: bytes) -> tuple[dict[str, Any], Asked]:
    said = decoded(body)
    if not isinstance(said, dict):
        raise UnreadableRequestError("The body of this request is not a JSON object.")
    try:
        return said, READ_REQUEST[dialect](said)
    except RecursionError as fault:
        raise UnreadableRequestError("The body of this request is nested too deeply to be read.") from fault
