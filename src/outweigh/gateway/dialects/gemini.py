"""Gemini's generateContent and streamGenerateContent."""

from collections.abc import Iterator

from outweigh.gateway.dialects.answer import Answer
from outweigh.gateway.dialects.asked import PICTURE_BYTES, Asked, Part, data_part, text_part
from outweigh.gateway.dialects.loose import Json, count, mapping, mappings, text
from outweigh.gateway.dialects.spoken_error import spoken_error
from outweigh.record.components import Component


def read_request(body: Json) -> Asked:
    """What a request says; model and streaming are in its path."""
    return Asked(
        model=None,
        is_streamed=False,
        parts=tuple(_parts(body)),
        tools=tuple(name for tool in _declarations(body) if (name := text(tool, "name"))),
        opening=tuple(_opening(body)),
    )


def _declarations(body: Json) -> Iterator[Json]:
    for tool in mappings(body, "tools"):
        yield from mappings(tool, "functionDeclarations")
        yield from mappings(tool, "function_declarations")


def _parts(body: Json) -> Iterator[Part]:
    system = mapping(body, "systemInstruction") or mapping(body, "system_instruction")
    for part in mappings(system, "parts"):
        yield text_part(Component.SYSTEM_PROMPT, text(part, "text") or "")
    for declaration in _declarations(body):
        yield data_part(Component.TOOL_SCHEMA, declaration)
    for content in mappings(body, "contents"):
        for part in mappings(content, "parts"):
            yield _part(part)


def _part(part: Json) -> Part:
    if (said := text(part, "text")) is not None:
        return text_part(Component.ORCHESTRATOR, said)
    for component, keys in (
        (Component.TOOL_CALL, ("functionCall", "function_call", "executableCode")),
        (Component.TOOL_RESPONSE, ("functionResponse", "function_response", "codeExecutionResult")),
    ):
        for key in keys:
            if found := mapping(part, key):
                return data_part(component, found)
    return Part(Component.ORCHESTRATOR, (), PICTURE_BYTES)


def _opening(body: Json) -> Iterator[str]:
    for content in mappings(body, "contents"):
        if content.get("role") == "model":
            return
        for part in mappings(content, "parts"):
            if said := text(part, "text"):
                yield said


class GeminiAnswer(Answer):
    """An answer, or the chunks it comes in. Usage grows with every chunk; the prompt's count includes cached tokens."""

    def __init__(self) -> None:
        super().__init__()
        self._output_so_far: int | None = None

    def hear(self, event: Json) -> None:
        """One chunk, or a whole answer: they have the same shape."""
        if error := mapping(event, "error"):
            self.error = spoken_error(error)
        self.model = text(event, "modelVersion") or self.model
        for candidate in mappings(event, "candidates"):
            for part in mappings(candidate, "content", "parts"):
                self._hear_part(part)
            self.is_complete = self.is_complete or text(candidate, "finishReason") is not None
        if text(event, "promptFeedback", "blockReason") is not None:
            self.is_complete = True
        if usage := mapping(event, "usageMetadata"):
            self._hear_usage(usage)
        if self.is_complete:
            self.output_tokens = self._output_so_far

    def _hear_part(self, part: Json) -> None:
        self._hear_text(text(part, "text"))
        if call := mapping(part, "functionCall"):
            self._hear_tool(text(call, "name"))
            self._hear_whole_arguments((self.tool_bytes, text(call, "id")), mapping(call, "args"))

    def _hear_usage(self, usage: Json) -> None:
        """Thoughts are billed as output and counted apart; what a built-in tool read is billed as input.

        This API leaves counts of 0 out.
        """
        prompt = count(usage, "promptTokenCount")
        self._set_input(prompt, read=count(usage, "cachedContentTokenCount"))
        if prompt is not None and self.input_tokens is not None:
            self.input_tokens += count(usage, "toolUsePromptTokenCount") or 0
        self.reasoning_tokens = count(usage, "thoughtsTokenCount")
        self._output_so_far = (count(usage, "candidatesTokenCount") or 0) + (self.reasoning_tokens or 0)
