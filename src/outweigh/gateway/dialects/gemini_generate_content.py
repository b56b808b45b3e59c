"""Gemini's generateContent and streamGenerateContent: reads requests and their responses, whole or in chunks."""

from collections.abc import Iterator

from outweigh.gateway.dialects.api_errors import read_reported_error
from outweigh.gateway.dialects.json_path import JsonMapping, count_at, dict_at, dicts_at, str_at
from outweigh.gateway.dialects.request_and_response import (
    IMAGE_BYTES,
    GenerationRequest,
    GenerationResponse,
    RequestPart,
    data_part,
    text_part,
)
from outweigh.model.usage import Component


def read_request(body: JsonMapping) -> GenerationRequest:
    """What a request says; model and streaming are in its path."""
    return GenerationRequest(
        model=None,
        is_streamed=False,
        parts=tuple(_parts(body)),
        tools=tuple(name for tool in _declarations(body) if (name := str_at(tool, "name"))),
        opening=tuple(_opening(body)),
    )


def _declarations(body: JsonMapping) -> Iterator[JsonMapping]:
    for tool in dicts_at(body, "tools"):
        yield from dicts_at(tool, "functionDeclarations")
        yield from dicts_at(tool, "function_declarations")


def _parts(body: JsonMapping) -> Iterator[RequestPart]:
    system = dict_at(body, "systemInstruction") or dict_at(body, "system_instruction")
    for part in dicts_at(system, "parts"):
        yield text_part(Component.SYSTEM_PROMPT, str_at(part, "text") or "")
    for declaration in _declarations(body):
        yield data_part(Component.TOOL_SCHEMA, declaration)
    for content in dicts_at(body, "contents"):
        for part in dicts_at(content, "parts"):
            yield _part(part)


def _part(part: JsonMapping) -> RequestPart:
    if (said := str_at(part, "text")) is not None:
        return text_part(Component.ORCHESTRATOR, said)
    for component, keys in (
        (Component.TOOL_CALL, ("functionCall", "function_call", "executableCode")),
        (Component.TOOL_RESPONSE, ("functionResponse", "function_response", "codeExecutionResult")),
    ):
        for key in keys:
            if found := dict_at(part, key):
                return data_part(component, found)
    return RequestPart(Component.ORCHESTRATOR, (), IMAGE_BYTES)


def _opening(body: JsonMapping) -> Iterator[str]:
    for content in dicts_at(body, "contents"):
        if content.get("role") == "model":
            return
        for part in dicts_at(content, "parts"):
            if said := str_at(part, "text"):
                yield said


class GeminiResponse(GenerationResponse):
    """An answer, or the chunks it comes in. Usage grows with every chunk; the prompt's count includes cached tokens."""

    def __init__(self) -> None:
        super().__init__()
        self._output_so_far: int | None = None

    def hear(self, event: JsonMapping) -> None:
        """One chunk, or a whole answer: they have the same shape."""
        if error := dict_at(event, "error"):
            self.error = read_reported_error(error)
        self.model = str_at(event, "modelVersion") or self.model
        for candidate in dicts_at(event, "candidates"):
            for part in dicts_at(candidate, "content", "parts"):
                self._hear_part(part)
            self.is_complete = self.is_complete or str_at(candidate, "finishReason") is not None
        if str_at(event, "promptFeedback", "blockReason") is not None:
            self.is_complete = True
        if usage := dict_at(event, "usageMetadata"):
            self._hear_usage(usage)
        if self.is_complete:
            self.output_tokens = self._output_so_far

    def _hear_part(self, part: JsonMapping) -> None:
        self._hear_text(str_at(part, "text"))
        if call := dict_at(part, "functionCall"):
            self._hear_tool(str_at(call, "name"))
            self._hear_whole_arguments((self.tool_bytes, str_at(call, "id")), dict_at(call, "args"))

    def _hear_usage(self, usage: JsonMapping) -> None:
        """Thoughts are billed as output and counted apart; what a built-in tool read is billed as input.

        This API leaves counts of 0 out.
        """
        prompt = count_at(usage, "promptTokenCount")
        self._set_input(prompt, read=count_at(usage, "cachedContentTokenCount"))
        if prompt is not None and self.input_tokens is not None:
            self.input_tokens += count_at(usage, "toolUsePromptTokenCount") or 0
        self.reasoning_tokens = count_at(usage, "thoughtsTokenCount")
        self._output_so_far = (count_at(usage, "candidatesTokenCount") or 0) + (self.reasoning_tokens or 0)
