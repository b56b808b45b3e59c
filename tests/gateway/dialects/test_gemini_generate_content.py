"""What is asked and answered in Gemini's dialect, handwritten from its documentation."""

from typing import Any

from outweigh.gateway.dialects.gemini_generate_content import GeminiResponse, read_request
from outweigh.model.usage import Component, Usage


def _chunk(*parts: dict[str, Any], finish: str | None = None, **usage: int) -> dict[str, Any]:
    candidate: dict[str, Any] = {"content": {"role": "model", "parts": list(parts)}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    return {"candidates": [candidate], "usageMetadata": usage, "modelVersion": "gemini-x"}


CHUNKS = [
    _chunk({"text": "Hm.", "thought": True}, promptTokenCount=1000, cachedContentTokenCount=600, thoughtsTokenCount=20),
    _chunk({"text": "Hello"}, promptTokenCount=1000, cachedContentTokenCount=600, candidatesTokenCount=5),
]
LAST = _chunk(
    {"functionCall": {"name": "delegate", "args": {"objective": "Look"}}},
    finish="STOP",
    promptTokenCount=1000,
    cachedContentTokenCount=600,
    candidatesTokenCount=50,
    thoughtsTokenCount=30,
    toolUsePromptTokenCount=7,
)


def _heard(*events: dict[str, Any]) -> GeminiResponse:
    answer = GeminiResponse()
    for event in events:
        answer.read_event(event)
    return answer


def test_a_whole_stream_tells_everything() -> None:
    answer = _heard(*CHUNKS, LAST)

    assert answer.usage == Usage(input_tokens=407, output_tokens=80, cache_read_tokens=600, cache_write_tokens=0)
    assert (answer.model, answer.reasoning_tokens, answer.is_complete) == ("gemini-x", 30, True)
    assert (answer.text_bytes, answer.tool_bytes) == (8, len('delegate{"objective":"Look"}'))
    assert list(answer.tool_argument_strings()) == ["Look"]


def test_a_stream_that_breaks_off_knows_its_input_but_not_its_output() -> None:
    answer = _heard(*CHUNKS)

    assert answer.usage == Usage(input_tokens=400, output_tokens=None, cache_read_tokens=600, cache_write_tokens=0)
    assert not answer.is_complete


def test_a_refused_prompt_is_an_answer_of_no_tokens() -> None:
    answer = _heard({"promptFeedback": {"blockReason": "SAFETY"}, "usageMetadata": {"promptTokenCount": 9}})

    assert (answer.usage.input_tokens, answer.usage.output_tokens, answer.is_complete) == (9, 0, True)


def test_an_error_in_the_middle_of_a_stream_is_heard() -> None:
    answer = _heard(*CHUNKS, {"error": {"code": 503, "message": "Overloaded", "status": "UNAVAILABLE"}})

    assert answer.error is not None
    assert (answer.error.status, answer.error.message) == (503, "UNAVAILABLE: Overloaded")


def test_a_request_is_taken_apart_by_components() -> None:
    asked = read_request(
        {
            "systemInstruction": {"parts": [{"text": "You are an agent."}]},
            "tools": [{"functionDeclarations": [{"name": "run", "description": "Runs."}]}, {"googleSearch": {}}],
            "contents": [
                {"role": "user", "parts": [{"text": "Where."}, {"text": "Fix it."}]},
                {"role": "model", "parts": [{"functionCall": {"name": "run", "args": {"command": "ls"}}}]},
                {
                    "role": "user",
                    "parts": [
                        {"functionResponse": {"name": "run", "response": {"output": "a.py"}}},
                        {"inlineData": {"mimeType": "image/png", "data": "A" * 100_000}},
                    ],
                },
                {"role": "model", "parts": [{"text": "Done."}]},
            ],
        }
    )

    assert (asked.tools, asked.first_user_texts) == (("run",), ("Where.", "Fix it."))
    assert [(part.component, part.texts) for part in asked.parts] == [
        (Component.SYSTEM_PROMPT, ("You are an agent.",)),
        (Component.TOOL_SCHEMA, ("run", "Runs.")),
        (Component.ORCHESTRATOR, ("Where.",)),
        (Component.ORCHESTRATOR, ("Fix it.",)),
        (Component.TOOL_CALL, ("run", "ls")),
        (Component.TOOL_RESPONSE, ("run", "a.py")),
        (Component.ORCHESTRATOR, ()),
        (Component.ORCHESTRATOR, ("Done.",)),
    ]
    assert asked.size_bytes < 10_000
