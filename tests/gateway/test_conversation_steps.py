"""Steps, tool calls and results of a run, seen in its requests and responses alone."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.gateway.gateway_fixtures import MODEL, Way, a_way
from tests.gateway.plain_http import post

from outweigh.gateway import conversation_steps
from outweigh.model.json_text import JsonObject
from outweigh.ports.gateways import MeteredSteps
from outweigh.testing.model_server import CallSpec, Conversation, ErrorSpec, ModelServer, Script, Turn, When
from outweigh.transcript.atif import ATIF_VERSION, AtifAgent, AtifTrajectory
from outweigh.transcript.trajectory_file import encode_trajectory, read_trajectory

TASK = "Look at the zebra, then say what you saw."
LOOK = CallSpec(name="look", arguments={"at": "zebra"})
SCRIPT = Script(turn=[Turn(text="I look.", tool_calls=[LOOK]), Turn(text="It has stripes.")])
SCHEMA = {"type": "object", "properties": {"at": {"type": "string"}}}
USER = {"role": "user", "content": TASK}


def anthropic(*messages: JsonObject, **more: Any) -> tuple[str, JsonObject]:
    tools = [{"name": "look", "input_schema": SCHEMA}]
    return "/v1/messages", {"model": MODEL, "max_tokens": 99, "tools": tools, "messages": list(messages), **more}


def anthropic_history(call_id: str) -> tuple[JsonObject, ...]:
    called = {"type": "tool_use", "id": call_id, "name": "look", "input": {"at": "zebra"}}
    result = {"type": "tool_result", "tool_use_id": call_id, "content": "stripes", "is_error": False}
    return USER, {"role": "assistant", "content": [called]}, {"role": "user", "content": [result]}


def chat(*messages: JsonObject, **more: Any) -> tuple[str, JsonObject]:
    tools = [{"type": "function", "function": {"name": "look", "parameters": SCHEMA}}]
    return "/v1/chat/completions", {"model": MODEL, "tools": tools, "messages": list(messages), **more}


def chat_history(call_id: str) -> tuple[JsonObject, ...]:
    function = {"name": "look", "arguments": '{"at": "zebra"}'}
    called = {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]}
    return USER, called, {"role": "tool", "tool_call_id": call_id, "content": "stripes"}


def responses(*items: JsonObject, **more: Any) -> tuple[str, JsonObject]:
    tools = [{"type": "function", "name": "look", "parameters": SCHEMA}]
    return "/v1/responses", {"model": MODEL, "tools": tools, "input": list(items), **more}


def responses_history(call_id: str) -> tuple[JsonObject, ...]:
    called = {"type": "function_call", "call_id": call_id, "name": "look", "arguments": '{"at": "zebra"}'}
    return USER, called, {"type": "function_call_output", "call_id": call_id, "output": "stripes"}


Build = Callable[..., tuple[str, JsonObject]]
DIALECTS: dict[str, tuple[Build, Callable[[str], tuple[JsonObject, ...]]]] = {
    "anthropic": (anthropic, anthropic_history),
    "chat": (chat, chat_history),
    "responses": (responses, responses_history),
}


def ask(way: Way, request: tuple[str, JsonObject]) -> int:
    path, body = request
    return post(f"{way.url}{path}", body, {"x-api-key": way.key}).status


def seen_by(way: Way) -> MeteredSteps:
    found = way.account().conversation
    assert found is not None
    return found


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("dialect", DIALECTS)
def test_a_run_has_a_step_for_every_response_with_its_calls_and_their_results(dialect: str, *, stream: bool) -> None:
    build, history = DIALECTS[dialect]
    with ModelServer(SCRIPT) as server, a_way(server.url) as way:
        ask(way, build(USER, stream=stream))
        (called,) = seen_by(way).steps[-1].tool_calls or ()
        ask(way, build(*history(called.tool_call_id), stream=stream))
        seen = seen_by(way)

    user, first, last = seen.steps
    assert (seen.count, seen.tool_calls) == (2, 1)
    assert (user.source, user.message) == ("user", TASK)
    assert (first.source, first.message, first.model_name) == ("agent", "I look.", MODEL)
    assert (called.function_name, called.arguments) == ("look", {"at": "zebra"})
    assert first.observation is not None
    assert [result.content for result in first.observation.results] == ["stripes"]
    assert (last.message, last.tool_calls) == ("It has stripes.", None)


def test_a_gemini_run_has_its_calls_too() -> None:
    tools = [{"functionDeclarations": [{"name": "look", "parameters": SCHEMA}]}]
    body = {"tools": tools, "contents": [{"role": "user", "parts": [{"text": TASK}]}]}
    with ModelServer(SCRIPT) as server, a_way(server.url) as way:
        path = f"/v1beta/models/{MODEL}:generateContent"
        assert post(f"{way.url}{path}", body, {"x-goog-api-key": way.key}).status == 200
        seen = seen_by(way)

    assert (seen.count, seen.tool_calls, [step.message for step in seen.steps]) == (1, 1, [TASK, "I look."])


def test_a_history_that_is_sent_again_or_compacted_adds_no_steps() -> None:
    """After compaction a conversation begins with a summary of what was said before."""
    summary = {"role": "user", "content": "Summary: I looked at the zebra. It has stripes."}
    with ModelServer(SCRIPT) as server, a_way(server.url) as way:
        ask(way, anthropic(USER))
        (called,) = seen_by(way).steps[-1].tool_calls or ()
        ask(way, anthropic(*anthropic_history(called.tool_call_id)))
        ask(way, anthropic(*anthropic_history(called.tool_call_id), {"role": "assistant", "content": "Stripes."}, USER))
        ask(way, anthropic(summary))
        seen = seen_by(way)

    assert seen.count == sum(step.source == "agent" for step in seen.steps) == 4
    results = [result.content for step in seen.steps if step.observation for result in step.observation.results]
    assert results == ["stripes"]


def test_a_sub_agents_responses_are_marked_and_counted_once() -> None:
    errand = "Count the stripes of the zebra."
    script = Script(
        conversation=[
            Conversation(when=When(contains=errand), turn=[Turn(text="Forty.")]),
            Conversation(turn=[Turn(tool_calls=[CallSpec(name="look", arguments={"at": errand})])]),
        ]
    )
    with ModelServer(script) as server, a_way(server.url) as way:
        ask(way, anthropic(USER))
        ask(way, anthropic({"role": "user", "content": errand}))
        seen = seen_by(way)

    assert seen.count == 2
    assert [step.sub_agent is not None for step in seen.steps if step.source == "agent"] == [False, True]
    assert [step.message for step in seen.steps if step.source == "user"] == [TASK]


def test_requests_without_tools_beside_those_with_some_are_no_steps() -> None:
    """Titles and summaries."""
    with ModelServer(SCRIPT) as server, a_way(server.url) as way:
        ask(way, anthropic({"role": "user", "content": "Give it a title."}, tools=[]))
        ask(way, anthropic(USER))

        assert [step.message for step in seen_by(way).steps] == [TASK, "I look."]
        assert seen_by(way).count == 1


def test_an_agent_without_tools_has_steps_and_unknown_tool_calls() -> None:
    with ModelServer(Script(turn=[Turn(text="It has stripes.")])) as server, a_way(server.url) as way:
        ask(way, chat(USER, tools=[]))

        assert (seen_by(way).count, seen_by(way).tool_calls) == (1, None)


def test_a_response_that_fails_is_no_step() -> None:
    failing = Turn(text="I look.", error=ErrorSpec(kind="overloaded", times=1))
    with ModelServer(Script(turn=[failing])) as server, a_way(server.url) as way:
        ask(way, anthropic(USER))
        assert way.account().conversation is None
        ask(way, anthropic(USER))

        assert seen_by(way).count == 1


def test_calls_of_the_same_id_in_several_responses_stay_apart() -> None:
    """Some servers count from 0 in every response."""
    repeated = Turn(tool_calls=[LOOK])
    with ModelServer(Script(turn=[repeated, repeated])) as server, a_way(server.url) as way:
        ask(way, chat(USER))
        ask(way, chat(USER))
        seen = seen_by(way)

    trajectory = AtifTrajectory(
        schema_version=ATIF_VERSION, agent=AtifAgent(name="shell", version="1"), steps=seen.steps
    )
    assert read_trajectory(encode_trajectory(trajectory)).steps == seen.steps
    assert seen.tool_calls == 2


def test_a_run_with_large_results_is_counted_in_full_and_kept_within_bounds() -> None:
    """More text than is kept of a run, and each result longer than is kept of one."""
    calls = conversation_steps.MAX_TEXT // conversation_steps.MAX_RESULT + 10
    large = "x" * (conversation_steps.MAX_RESULT + 1)
    script = Script(turn=[Turn(tool_calls=[LOOK] * calls), Turn(text="It has stripes.")])
    with ModelServer(script) as server, a_way(server.url) as way:
        ask(way, chat(USER))
        ids = [call.tool_call_id for call in seen_by(way).steps[-1].tool_calls or ()]
        results = [{"role": "tool", "tool_call_id": call_id, "content": large} for call_id in ids]
        function = {"name": "look", "arguments": "{}"}
        called = [{"id": call_id, "type": "function", "function": function} for call_id in ids]
        ask(way, chat(USER, {"role": "assistant", "tool_calls": called}, *results))
        seen = seen_by(way)

    assert (seen.count, seen.tool_calls) == (2, calls)
    found = [str(result.content) for step in seen.steps if step.observation for result in step.observation.results]
    assert max(map(len, found)) == conversation_steps.MAX_RESULT
    assert conversation_steps.MAX_TEXT * 0.9 < sum(map(len, found)) <= conversation_steps.MAX_TEXT
