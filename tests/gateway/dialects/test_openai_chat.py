"""What is asked and answered in Chat Completions, handwritten from its documentation."""

from typing import Any

import pytest

from outweigh.gateway.dialects.openai_chat import (
    OpenAIChatResponse,
    is_usage_only_event,
    read_request,
    request_usage,
    wants_usage,
)
from outweigh.model.usage import NO_USAGE, Component, Usage

USAGE = {
    "prompt_tokens": 1000,
    "completion_tokens": 50,
    "total_tokens": 1050,
    "prompt_tokens_details": {"cached_tokens": 600},
    "completion_tokens_details": {"reasoning_tokens": 30},
}
EXPECTED = Usage(input_tokens=400, output_tokens=50, cache_read_tokens=600, cache_write_tokens=0)


def _chunk(delta: dict[str, Any], finish: str | None = None, **more: Any) -> dict[str, Any]:
    return {"model": "gpt-x", "choices": [{"index": 0, "delta": delta, "finish_reason": finish}], "usage": None, **more}


CHUNKS = [
    _chunk({"role": "assistant", "content": ""}),
    _chunk({"content": "Hello"}),
    _chunk({"tool_calls": [{"index": 0, "id": "c", "function": {"name": "task", "arguments": ""}}]}),
    _chunk({"tool_calls": [{"index": 0, "function": {"arguments": '{"prompt":"Lo'}}]}),
    _chunk({"tool_calls": [{"index": 0, "function": {"arguments": 'ok"}'}}]}),
    _chunk({}, "tool_calls"),
]
LAST = {"model": "gpt-x", "choices": [], "usage": USAGE}


def _heard(*events: dict[str, Any], is_marked: bool = True) -> OpenAIChatResponse:
    answer = OpenAIChatResponse()
    for event in events:
        answer.read_event(event)
    if is_marked:
        answer.read_end_mark()
    return answer


def test_a_whole_stream_tells_everything() -> None:
    answer = _heard(*CHUNKS, LAST)

    assert answer.usage == EXPECTED
    assert (answer.model, answer.reasoning_tokens, answer.is_complete) == ("gpt-x", 30, True)
    assert (answer.text_bytes, answer.tool_bytes) == (5, len('task{"prompt":"Look"}'))
    assert list(answer.tool_argument_strings()) == ["Look"]


@pytest.mark.parametrize(("count", "read"), [(12.0, 12), (12.5, None), (10**16, None), (True, None), ("12", None)])
def test_a_count_is_whole_and_no_larger_than_a_record_can_hold(count: object, read: int | None) -> None:
    answer = _heard(*CHUNKS, {**LAST, "usage": {"prompt_tokens": 100, "completion_tokens": count}})

    assert answer.usage.output_tokens == read


def test_a_completion_in_one_piece_tells_the_same() -> None:
    calls = [{"id": "c", "function": {"name": "task", "arguments": '{"prompt":"Look"}'}}]
    message = {"role": "assistant", "content": "Hello", "tool_calls": calls}
    answer = _heard(
        {
            "model": "gpt-x",
            "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
            "usage": USAGE,
        },
        is_marked=False,
    )

    assert (answer.usage, answer.is_complete, list(answer.tool_argument_strings())) == (EXPECTED, True, ["Look"])


def test_a_stream_that_breaks_off_is_not_complete_and_has_no_usage() -> None:
    answer = _heard(*CHUNKS[:3], is_marked=False)

    assert (answer.usage, answer.is_complete) == (NO_USAGE, False)


def test_figures_that_count_aloud_are_no_result_before_the_end() -> None:
    aloud = _chunk({"content": "He"}, usage={"prompt_tokens": 10, "completion_tokens": 1})
    answer = _heard(aloud, is_marked=False)

    assert answer.usage.output_tokens is None
    assert answer.usage.input_tokens == 10


def test_a_server_that_tells_no_usage_is_complete_and_unknown() -> None:
    answer = _heard(*CHUNKS)

    assert (answer.usage, answer.is_complete) == (NO_USAGE, True)


def test_what_is_written_to_the_cache_is_no_input() -> None:
    usage = {**USAGE, "prompt_tokens_details": {"cached_tokens": 600, "cache_write_tokens": 300}}
    answer = _heard(*CHUNKS, {"choices": [], "usage": usage})

    assert answer.usage == Usage(input_tokens=100, output_tokens=50, cache_read_tokens=600, cache_write_tokens=300)


def test_an_error_in_the_middle_of_a_stream_is_heard() -> None:
    answer = _heard(*CHUNKS[:2], {"error": {"message": "Slow down", "code": 429}}, is_marked=False)

    assert answer.error is not None
    assert answer.error.status == 429


def test_usage_is_asked_for_where_a_stream_would_have_none() -> None:
    assert wants_usage({})
    assert wants_usage({"stream": True, "stream_options": {"include_usage": True}})
    assert not wants_usage({"stream": True})
    assert request_usage({"stream": True, "stream_options": {"x": 1}, "n": 2}) == {
        "stream": True,
        "stream_options": {"x": 1, "include_usage": True},
        "n": 2,
    }


def test_only_the_event_that_is_there_for_its_usage_is_ours() -> None:
    assert is_usage_only_event(LAST)
    assert not any(is_usage_only_event(chunk) for chunk in CHUNKS)
    assert not is_usage_only_event(
        {"choices": [], "prompt_filter_results": []}
    )  # another's first chunk without choices


def test_a_request_is_taken_apart_by_components() -> None:
    asked = read_request(
        {
            "model": "gpt-x",
            "tools": [{"type": "function", "function": {"name": "bash", "description": "Runs."}}],
            "messages": [
                {"role": "system", "content": "You are an agent."},
                {"role": "user", "content": [{"type": "text", "text": "Fix it."}]},
                {
                    "role": "assistant",
                    "content": None,
                    "tool_calls": [{"id": "c", "function": {"name": "bash", "arguments": "{}"}}],
                },
                {"role": "tool", "tool_call_id": "c", "content": "a.py"},
                {"role": "user", "content": "Go on."},
            ],
        }
    )

    assert (asked.model, asked.is_streamed, asked.tools, asked.first_user_texts) == (
        "gpt-x",
        False,
        ("bash",),
        ("Fix it.",),
    )
    assert [(part.component, part.texts) for part in asked.parts] == [
        (Component.TOOL_SCHEMA, ("function", "bash", "Runs.")),
        (Component.SYSTEM_PROMPT, ("You are an agent.",)),
        (Component.ORCHESTRATOR, ("Fix it.",)),
        (Component.TOOL_CALL, ("bash", "{}")),
        (Component.TOOL_RESPONSE, ("a.py",)),
        (Component.ORCHESTRATOR, ("Go on.",)),
    ]
