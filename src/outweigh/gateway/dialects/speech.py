"""The reader of requests and the listener to answers of each dialect."""

from collections.abc import Callable, Mapping

from outweigh.gateway.dialects import anthropic_messages, gemini, openai_chat, openai_responses
from outweigh.gateway.dialects.answer import Answer
from outweigh.gateway.dialects.asked import Asked
from outweigh.gateway.dialects.loose import Json
from outweigh.transcript.model_call import Dialect

READ_REQUEST: Mapping[Dialect, Callable[[Json], Asked]] = {
    Dialect.ANTHROPIC_MESSAGES: anthropic_messages.read_request,
    Dialect.OPENAI_RESPONSES: openai_responses.read_request,
    Dialect.OPENAI_CHAT: openai_chat.read_request,
    Dialect.GEMINI: gemini.read_request,
}

ANSWERS: Mapping[Dialect, Callable[[], Answer]] = {
    Dialect.ANTHROPIC_MESSAGES: anthropic_messages.MessagesAnswer,
    Dialect.OPENAI_RESPONSES: openai_responses.ResponsesAnswer,
    Dialect.OPENAI_CHAT: openai_chat.ChatAnswer,
    Dialect.GEMINI: gemini.GeminiAnswer,
}
