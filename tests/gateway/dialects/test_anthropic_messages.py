"""What is asked and answered in Anthropic's dialect, handwritten from its documentation."""

from typing import Any

import pytest

from outweigh.gateway.dialects.anthropic_messages import AnthropicResponse, read_request
from outweigh.model.usage import NO_USAGE, Component, Usage

START = {
    "type": "message_start",
    "message": {
        "model": "claude-x",
        "usage": {
            "input_tokens": 25,
            "cache_creation_input_tokens": 300,
            "cache_read_input_tokens": 4000,
            "cache_creation": {"ephemeral_5m_input_tokens": 100, "ephemeral_1h_input_tokens": 200},
            "output_tokens": 1,
        },
    },
}
TEXT: list[dict[str, Any]] = [
    {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
    {"type": "ping"},
    {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "Hello"}},
    {"type": "content_block_stop", "index": 0},
]
TOOL: list[dict[str, Any]] = [
    {
        "type": "content_block_start",
        "index": 1,
        "content_block": {"type": "tool_use", "id": "t1", "name": "Task", "input": {}},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": ""}},
    {
        "type": "content_block_delta",
        "index": 1,
        "delta": {"type": "input_json_delta", "partial_json": '{"prompt": "Lo'},
    },
    {"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": 'ok"}'}},
    {"type": "content_block_stop", "index": 1},
]
END: list[dict[str, Any]] = [
    {"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": {"output_tokens": 89}},
    {"type": "message_stop"},
]


def _heard(*events: dict[str, Any]) -> AnthropicResponse:
    answer = AnthropicResponse()
    for event in events:
        answer.read_event(event)
    return answer


def test_a_whole_stream_tells_everything() -> None:
    answer = _heard(START, *TEXT, *TOOL, *END)

    assert answer.usage == Usage(input_tokens=25, output_tokens=89, cache_read_tokens=4000, cache_write_tokens=300)
    assert (answer.model, answer.hour_write_tokens, answer.is_complete) == ("claude-x", 200, True)
    assert (answer.text_bytes, answer.tool_bytes) == (5, len('Task{"prompt": "Look"}'))
    assert list(answer.tool_argument_strings()) == ["Look"]


def test_a_stream_that_breaks_off_knows_its_input_but_not_its_output() -> None:
    answer = _heard(START, *TEXT)

    assert answer.usage == Usage(input_tokens=25, output_tokens=None, cache_read_tokens=4000, cache_write_tokens=300)
    assert not answer.is_complete


def test_nothing_heard_is_nothing_known() -> None:
    assert _heard().usage == NO_USAGE


def test_later_figures_replace_earlier_ones() -> None:
    usage = {"input_tokens": 30, "cache_read_input_tokens": 5000, "output_tokens": 12}
    answer = _heard(
        START, {"type": "message_delta", "usage": {"output_tokens": 3}}, {"type": "message_delta", "usage": usage}
    )

    assert answer.usage == Usage(input_tokens=30, output_tokens=12, cache_read_tokens=5000, cache_write_tokens=300)


def test_a_message_in_one_piece_tells_the_same() -> None:
    message = {
        "type": "message",
        "model": "claude-x",
        "content": [
            {"type": "thinking", "thinking": "Hm.", "signature": "s"},
            {"type": "text", "text": "Hello"},
            {"type": "tool_use", "id": "t1", "name": "Task", "input": {"prompt": "Look"}},
        ],
        "usage": {
            "input_tokens": 25,
            "output_tokens": 89,
            "output_tokens_details": {"thinking_tokens": 7},
            "cache_read_input_tokens": None,
        },
    }
    answer = _heard(message)

    assert answer.usage == Usage(input_tokens=25, output_tokens=89, cache_read_tokens=0, cache_write_tokens=0)
    assert (answer.reasoning_tokens, answer.text_bytes, answer.is_complete) == (7, 8, True)
    assert list(answer.tool_argument_strings()) == ["Look"]


def test_an_error_in_the_middle_of_a_stream_is_heard() -> None:
    said = {"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}
    answer = _heard(START, *TEXT, said)

    assert answer.error is not None
    assert (answer.error.status, answer.error.message) == (529, "overloaded_error: Overloaded")


@pytest.mark.parametrize("event", [{}, {"type": 7}, {"type": "message_start"}, {"type": "message_delta", "usage": []}])
def test_events_of_another_shape_are_no_trouble(event: dict[str, Any]) -> None:
    assert _heard(event).usage == NO_USAGE


def test_a_request_is_taken_apart_by_components() -> None:
    asked = read_request(
        {
            "model": "claude-x",
            "stream": True,
            "system": [{"type": "text", "text": "You are an agent."}],
            "tools": [{"name": "Bash", "description": "Runs.", "input_schema": {"type": "object"}}],
            "messages": [
                {
                    "role": "user",
                    "content": [{"type": "text", "text": "Reminder."}, {"type": "text", "text": "Fix it."}],
                },
                {
                    "role": "assistant",
                    "content": [
                        {"type": "thinking", "thinking": "Hm."},
                        {"type": "tool_use", "id": "t", "name": "Bash", "input": {"command": "ls"}},
                    ],
                },
                {
                    "role": "user",
                    "content": [
                        {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "a.py"}]},
                        {"type": "image", "source": {"type": "base64", "data": "A" * 100_000}},
                        {"type": "text", "text": "Go on."},
                    ],
                },
                {"role": "assistant", "content": "Done."},
            ],
        }
    )

    assert (asked.model, asked.is_streamed, asked.tools) == ("claude-x", True, ("Bash",))
    assert asked.first_user_texts == ("Reminder.", "Fix it.")
    assert [(part.component, part.texts) for part in asked.parts] == [
        (Component.SYSTEM_PROMPT, ("You are an agent.",)),
        (Component.TOOL_SCHEMA, ("Bash", "Runs.", "object")),
        (Component.ORCHESTRATOR, ("Reminder.",)),
        (Component.ORCHESTRATOR, ("Fix it.",)),
        (Component.ORCHESTRATOR, ("Hm.",)),
        (Component.TOOL_CALL, ("Bash", "ls")),
        (Component.TOOL_RESPONSE, ("a.py",)),
        (Component.ORCHESTRATOR, ()),
        (Component.ORCHESTRATOR, ("Go on.",)),
        (Component.ORCHESTRATOR, ("Done.",)),
    ]
    assert asked.size_bytes < 10_000  # a picture's bytes are not text


def test_claude_code_says_which_requests_are_its_sub_agents() -> None:
    line = "x-anthropic-billing-header: cc_version=2.1.325; cc_entrypoint=sdk-cli; cc_is_subagent=true;"

    assert read_request({"system": [{"type": "text", "text": line}]}).is_marked_sub_agent
    assert not read_request(
        {"system": [{"type": "text", "text": line.removesuffix(" cc_is_subagent=true;")}]}
    ).is_marked_sub_agent
