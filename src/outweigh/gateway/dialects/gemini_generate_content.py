"""Gemini's generateContent and streamGenerateContent: reads requests and their responses, whole or in chunks."""

import re
from collections.abc import Iterator

import msgspec

from outweigh.gateway.dialects.api_errors import read_reported_error
from outweigh.gateway.dialects.request_and_response import (
    IMAGE_BYTES,
    REMOTE_FILES,
    GenerationRequest,
    GenerationResponse,
    RequestPart,
    ToolResult,
    data_part,
    fetches_files,
    text_part,
    unique_names,
)
from outweigh.model.json_text import JsonObject
from outweigh.model.untrusted_json import count_at, dict_at, dicts_at, list_at, name_at, str_at
from outweigh.model.usage import Component


def read_request(body: JsonObject) -> GenerationRequest:
    """Read a request; model and streaming are in its path. A request to count tokens may hold a whole one."""
    body = dict_at(body, "generateContentRequest") or body
    return GenerationRequest(
        model=None,
        is_streamed=False,
        parts=tuple(_parts(body)),
        tools=tuple(name for tool in _declarations(body) if (name := str_at(tool, "name"))),
        first_user_texts=tuple(_first_user_texts(body)),
        hosted=unique_names(_hosted(body)),
        max_output_tokens=_max_output_tokens(body),
        service_tier=name_at(body, "serviceTier") or name_at(body, "service_tier"),
        tool_results=tuple(_tool_results(body)),
    )


def _max_output_tokens(body: JsonObject) -> int | None:
    limits = dict_at(body, "generationConfig") or dict_at(body, "generation_config")
    return count_at(limits, "maxOutputTokens") or count_at(limits, "max_output_tokens")


_CLIENT_TOOLS = frozenset({"function_declarations", "computer_use"})
"""Tools that the agent itself runs, and so inside its sandbox."""
_CAPITAL = re.compile(r"(?<=[a-z])(?=[A-Z])")


def _hosted(body: JsonObject) -> Iterator[str]:
    for tool in dicts_at(body, "tools"):
        for key in tool:
            if (kind := _CAPITAL.sub("_", key).lower()) not in _CLIENT_TOOLS:
                yield kind
    if fetches_files(content.get("parts") for content in dicts_at(body, "contents")):
        yield REMOTE_FILES


def _declarations(body: JsonObject) -> Iterator[JsonObject]:
    for tool in dicts_at(body, "tools"):
        yield from dicts_at(tool, "functionDeclarations")
        yield from dicts_at(tool, "function_declarations")


def _parts(body: JsonObject) -> Iterator[RequestPart]:
    system = dict_at(body, "systemInstruction") or dict_at(body, "system_instruction")
    for part in dicts_at(system, "parts"):
        yield text_part(Component.SYSTEM_PROMPT, str_at(part, "text") or "")
    for declaration in _declarations(body):
        yield data_part(Component.TOOL_SCHEMA, declaration)
    for content in dicts_at(body, "contents"):
        for part in dicts_at(content, "parts"):
            yield _part(part)


def _part(part: JsonObject) -> RequestPart:
    if (text := str_at(part, "text")) is not None:
        return text_part(Component.ORCHESTRATOR, text)
    for component, keys in (
        (Component.TOOL_CALL, ("functionCall", "function_call", "executableCode")),
        (Component.TOOL_RESPONSE, ("functionResponse", "function_response", "codeExecutionResult")),
    ):
        for key in keys:
            if found := dict_at(part, key):
                return data_part(component, found)
    return RequestPart(Component.ORCHESTRATOR, (), IMAGE_BYTES)


def _tool_results(body: JsonObject) -> Iterator[ToolResult]:
    """The results whose calls have ids; most clients of this API give them none."""
    for content in dicts_at(body, "contents"):
        for part in dicts_at(content, "parts"):
            answer = dict_at(part, "functionResponse") or dict_at(part, "function_response")
            if call_id := str_at(answer, "id"):
                yield ToolResult(call_id, msgspec.json.encode(answer.get("response")).decode())


def _first_user_texts(body: JsonObject) -> Iterator[str]:
    for content in dicts_at(body, "contents"):
        if content.get("role") == "model":
            return
        for part in dicts_at(content, "parts"):
            if text := str_at(part, "text"):
                yield text


_TRAFFIC = re.compile(r"^(ON_DEMAND_?|TRAFFIC_TYPE_(?=UNSPECIFIED))")
"""The start of what Vertex AI calls its tiers: ON_DEMAND, ON_DEMAND_FLEX, ON_DEMAND_PRIORITY."""


class GeminiResponse(GenerationResponse):
    """A response, whole or in chunks. Usage grows with every chunk; the prompt count includes cached tokens."""

    def read_event(self, event: JsonObject) -> None:
        """Read one chunk, or a whole response: they have the same form."""
        if error := dict_at(event, "error"):
            self.error = read_reported_error(error)
        self.model = str_at(event, "modelVersion") or self.model
        for candidate in dicts_at(event, "candidates"):
            for part in dicts_at(candidate, "content", "parts"):
                self._read_part(part)
            if queries := list_at(candidate, "groundingMetadata", "webSearchQueries"):
                self.hosted_uses["google_search"] = len(queries)
            if any("maps" in chunk for chunk in dicts_at(candidate, "groundingMetadata", "groundingChunks")):
                self.hosted_uses["google_maps"] = 1
            self.is_complete = self.is_complete or str_at(candidate, "finishReason") is not None
        if str_at(event, "promptFeedback", "blockReason") is not None:
            self.is_complete = True
        if usage := dict_at(event, "usageMetadata"):
            self._read_usage(usage)
        if self.is_complete:
            self.output_tokens = self.output_so_far

    def _read_part(self, part: JsonObject) -> None:
        self._read_text(str_at(part, "text"), is_thought=part.get("thought") is True)
        if call := dict_at(part, "functionCall"):
            key = (self.tool_bytes, str_at(call, "id"))
            self._read_tool(str_at(call, "name"), key, key[1])
            self._read_whole_arguments(key, dict_at(call, "args"))

    def _read_usage(self, usage: JsonObject) -> None:
        """Read usage: thoughts are billed as output and counted separately, built-in tools are billed as input.

        This API leaves out counts of 0.
        """
        prompt = count_at(usage, "promptTokenCount")
        self._set_input(prompt, read=count_at(usage, "cachedContentTokenCount"))
        if prompt is not None and self.input_tokens is not None:
            self.input_tokens += count_at(usage, "toolUsePromptTokenCount") or 0
        tier = name_at(usage, "serviceTier") or name_at(usage, "trafficType")
        self.service_tier = self.service_tier if tier is None else _TRAFFIC.sub("", tier).lower() or "standard"
        self.reasoning_tokens = count_at(usage, "thoughtsTokenCount")
        self.output_so_far = (count_at(usage, "candidatesTokenCount") or 0) + (self.reasoning_tokens or 0)
