"""Which protocol a path belongs to."""

import re

from outweigh.testing.model_server.protocols.anthropic import Anthropic
from outweigh.testing.model_server.protocols.chat import Chat
from outweigh.testing.model_server.protocols.gemini import PATH, Gemini
from outweigh.testing.model_server.protocols.responses import Responses
from outweigh.testing.model_server.protocols.speech import Speech

_PATHS: tuple[tuple[re.Pattern[str], Speech], ...] = (
    (re.compile(r"/v1/messages"), Anthropic()),
    (re.compile(r"/v1/chat/completions"), Chat()),
    (re.compile(r"/v1/responses"), Responses()),
    (PATH, Gemini()),
)


def speech_for(path: str) -> Speech | None:
    """The protocol in which a model is asked for an answer at this path."""
    return next((speech for pattern, speech in _PATHS if pattern.fullmatch(path)), None)
