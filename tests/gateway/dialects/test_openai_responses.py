"""What is asked and answered in OpenAI's Responses, handwritten from its documentation."""

from typing import Any

import pytest

from outweigh.gateway.dialects.openai_responses import OpenAIResponsesResponse, read_request
from outweigh.model.usage import NO_USAGE, Component, Usage

USAGE = {
    "input_tokens": 1000,
    "input_tokens_details": {"cached_tokens": 600},
    "output_tokens": 50,
    "output_tokens_details": {"reasoning_tokens": 30},
}
EXPECTED = Usage(input_tokens=400, output_tokens=50, cache_read_tokens=600, cache_write_tokens=0)
MESSAGE = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Hello"}]}
CALL = {"type": "function_call", "call_id": "c", "name": "spawn", "arguments": '{"message":"Look"}'}
EVENTS: list[dict[str, Any]] = [
    {"type": "response.created", "response": {"model": "gpt-x", "usage": None, "output": []}},
    {"type": "response.output_text.delta", "delta": "Hel"},
    {"type": "response.output_text.delta", "delta": "lo"},
    {"type": "response.output_item.done", "item": MESSAGE},
    {"type": "response.function_call_arguments.delta", "delta": '{"message":"Look"}'},
    {"type": "response.output_item.done", "item": CALL},
]
RESPONSE = {"object": "response", "model": "gpt-x", "output": [MESSAGE, CALL], "usage": USAGE, "error": None}


def _heard(*events: dict[str, Any]) -> OpenAIResponsesResponse:
    answer = OpenAIResponsesResponse()
    for event in events:
        answer.read_event(event)
    return answer


@pytest.mark.parametrize(
    "events",
    [
        [*EVENTS, {"type": "response.completed", "response": RESPONSE}],
        [*EVENTS, {"type": "response.completed", "response": {**RESPONSE, "output": []}}],
        [{"type": "response.completed", "response": RESPONSE}],
        [RESPONSE],
        [*EVENTS, {"type": "response.incomplete", "response": RESPONSE}],
    ],
)
def test_a_response_tells_the_same_in_one_piece_or_in_many(events: list[dict[str, Any]]) -> None:
    answer = _heard(*events)

    assert answer.usage == EXPECTED
    assert (answer.model, answer.reasoning_tokens, answer.is_complete) == ("gpt-x", 30, True)
    assert (answer.text_bytes, answer.tool_bytes) == (5, len('spawn{"message":"Look"}'))
    assert list(answer.tool_argument_strings()) == ["Look"]


def test_a_stream_that_breaks_off_is_not_complete_and_has_no_usage() -> None:
    answer = _heard(*EVENTS[:3])

    assert (answer.usage, answer.is_complete, answer.response_bytes) == (NO_USAGE, False, 5)


@pytest.mark.parametrize(
    "event",
    [
        {"type": "response.failed", "response": {"error": {"code": "rate_limit_exceeded", "message": "Wait."}}},
        {"type": "error", "code": "rate_limit_exceeded", "message": "Wait."},
        {"type": "error", "error": {"type": "rate_limit_exceeded", "message": "Wait."}},
    ],
)
def test_an_error_in_the_middle_of_a_stream_is_heard(event: dict[str, Any]) -> None:
    answer = _heard(*EVENTS, event)

    assert answer.error is not None
    assert (answer.error.status, answer.error.message) == (429, "rate_limit_exceeded: Wait.")


def test_a_request_is_taken_apart_by_components() -> None:
    asked = read_request(
        {
            "model": "gpt-x",
            "stream": True,
            "instructions": "You are an agent.",
            "tools": [{"type": "function", "name": "shell"}, {"type": "web_search"}],
            "input": [
                {"type": "message", "role": "developer", "content": [{"type": "input_text", "text": "Rules."}]},
                {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "Where."}]},
                {"role": "user", "content": "Fix it."},
                {
                    "type": "reasoning",
                    "summary": [{"type": "summary_text", "text": "Hm."}],
                    "encrypted_content": "x" * 99,
                },
                {"type": "function_call", "call_id": "c", "name": "shell", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "c", "output": "a.py"},
                {"type": "custom_tool_call_output", "call_id": "c", "output": [{"type": "input_text", "text": "b.py"}]},
                {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "Done."}]},
                {"type": "message", "role": "user", "content": "Go on."},
            ],
        }
    )

    assert (asked.model, asked.is_streamed, asked.tools) == ("gpt-x", True, ("shell", "web_search"))
    assert asked.first_user_texts == ("Where.", "Fix it.")
    assert [(part.component, part.texts) for part in asked.parts] == [
        (Component.SYSTEM_PROMPT, ("You are an agent.",)),
        (Component.TOOL_SCHEMA, ("function", "shell")),
        (Component.TOOL_SCHEMA, ("web_search",)),
        (Component.SYSTEM_PROMPT, ("Rules.",)),
        (Component.ORCHESTRATOR, ("Where.",)),
        (Component.ORCHESTRATOR, ("Fix it.",)),
        (Component.ORCHESTRATOR, ("Hm.",)),
        (Component.TOOL_CALL, ("function_call", "shell", "{}")),
        (Component.TOOL_RESPONSE, ("a.py",)),
        (Component.TOOL_RESPONSE, ("b.py",)),
        (Component.ORCHESTRATOR, ("Done.",)),
        (Component.ORCHESTRATOR, ("Go on.",)),
    ]


def test_an_input_that_is_a_string_is_the_users() -> None:
    assert read_request({"input": "Fix it."}).first_user_texts == ("Fix it.",)
