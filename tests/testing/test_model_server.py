"""A scripted model answers real clients, knows where in a conversation it is, and notes everything it hands out."""

from collections.abc import Iterator

import anthropic
import openai
import pytest
from anthropic.types import MessageParam, ToolParam

from outweigh.testing.model_server import ModelServer, Script, Tokens, Turn, UsageSpec

BASH: ToolParam = {
    "name": "Bash",
    "input_schema": {
        "type": "object",
        "properties": {"command": {"type": "string"}, "description": {"type": "string"}},
        "required": ["command", "description"],
    },
}
USAGE = UsageSpec(input_tokens=50, output_tokens=20, cache_read_tokens=7, cache_write_tokens=3, reasoning_tokens=4)
SCRIPT = Script(turn=[Turn(run="echo 42 >answer.txt", usage=USAGE), Turn(text="It is done.", usage=USAGE)])


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer(SCRIPT) as running:
        yield running


def test_a_conversation_with_anthropics_own_client_goes_through_the_turns(server: ModelServer) -> None:
    with anthropic.Anthropic(api_key="dummy", base_url=server.url, max_retries=0) as client:
        messages: list[MessageParam] = [{"role": "user", "content": "What is 6 x 7?"}]
        first = client.messages.create(model="m", max_tokens=100, messages=messages, tools=[BASH])
        (call,) = first.content
        assert call.type == "tool_use"
        messages += [
            first.to_param(),
            {"role": "user", "content": [{"type": "tool_result", "tool_use_id": call.id, "content": ""}]},
        ]
        second = client.messages.create(model="m", max_tokens=100, messages=messages, tools=[BASH])

    assert (call.name, call.input["command"]) == ("Bash", "echo 42 >answer.txt")
    assert [block.text for block in second.content if block.type == "text"] == ["It is done."]
    assert (first.usage.input_tokens, first.usage.cache_read_input_tokens) == (50, 7)
    assert server.totals().tokens == Tokens(
        input_tokens=100, output_tokens=40, cache_read_tokens=14, cache_write_tokens=6, reasoning_tokens=8
    )


def test_openais_own_client_gets_the_same_turn_in_its_own_shape(server: ModelServer) -> None:
    with openai.OpenAI(api_key="dummy", base_url=f"{server.url}/v1", max_retries=0) as client:
        answer = client.chat.completions.create(
            model="m",
            messages=[{"role": "user", "content": "What is 6 x 7?"}],
            tools=[{"type": "function", "function": {"name": "bash", "parameters": dict(BASH["input_schema"])}}],
        )

    (choice,) = answer.choices
    assert choice.finish_reason == "tool_calls"
    assert answer.usage is not None
    assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (60, 20)
    (entry,) = server.ledger
    assert (entry.protocol, entry.rule, entry.api_key) == ("chat", "turn[0]", "dummy")
