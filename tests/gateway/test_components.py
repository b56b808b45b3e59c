"""A run with a skill, a tool and a sub-agent: who took the tokens, seen from the middle."""

from typing import Any

import pytest
from tests.gateway.gateway_fixtures import MODEL, a_way
from tests.gateway.plain_http import post

from outweigh.model.usage import Component
from outweigh.ports.gateways import ArmMarker, MeteredCalls
from outweigh.testing.model_server import CallSpec, Conversation, ModelServer, Script, Turn, UsageSpec, When

TASK = "Count the files of this folder."
SKILL = "Count with care.\nNever guess a number."
USAGE = UsageSpec(input_tokens=500, output_tokens=40, cache_read_tokens=300, cache_write_tokens=200)
SCRIPT = Script(
    conversation=[
        Conversation(when=When(contains=TASK), turn=[Turn(text="There are three.")]),
        Conversation(
            when=When(tools=True), turn=[Turn(tool_calls=[CallSpec(name="Task", arguments={"prompt": TASK})])]
        ),
    ],
    usage=USAGE,
)
MARKERS = [
    ArmMarker(name="skill:counting", component=Component.SKILL_PROMPT, text=SKILL),
    ArmMarker(name="skill:never-loaded", component=Component.SKILL_PROMPT, text="Something else."),
]
TOOLS = [{"name": "Task", "input_schema": {"type": "object", "properties": {"prompt": {"type": "string"}}}}]


def _request(*messages: dict[str, Any], stream: bool) -> dict[str, Any]:
    return {
        "model": MODEL,
        "max_tokens": 99,
        "stream": stream,
        "system": "You are an agent.",
        "tools": TOOLS,
        "messages": list(messages),
    }


@pytest.fixture(params=[False, True])
def account(request: pytest.FixtureRequest) -> MeteredCalls:
    reminder = {"type": "text", "text": f"<system-reminder>{SKILL.replace(chr(10), ' ')}</system-reminder>"}
    main = {"role": "user", "content": [reminder, {"type": "text", "text": "How many files are there?"}]}
    sub = {"role": "user", "content": [reminder, {"type": "text", "text": f" {TASK}\n"}]}
    with ModelServer(SCRIPT) as server, a_way(server.url, markers=MARKERS) as way:
        for first in (main, sub):
            answer = post(f"{way.url}/v1/messages", _request(first, stream=request.param), {"x-api-key": way.key})
            assert answer.status == 200
        return way.account()


def test_what_a_tool_was_called_with_becomes_a_sub_agents_conversation(account: MeteredCalls) -> None:
    assert [call.is_sub_agent for call in account.calls] == [False, True]
    assert [(line.component, line.input_tokens, line.output_tokens) for line in account.calls[1].components] == [
        (Component.SUB_AGENT, 1000, 40)
    ]


def test_every_part_of_the_set_up_has_its_share(account: MeteredCalls) -> None:
    lines = {line.component: line for line in account.calls[0].components}

    assert set(lines) == {
        Component.SYSTEM_PROMPT,
        Component.SKILL_PROMPT,
        Component.TOOL_SCHEMA,
        Component.TOOL_CALL,
        Component.ORCHESTRATOR,
    }
    assert sum(line.input_tokens for line in lines.values()) == 1000
    assert lines[Component.TOOL_CALL].output_tokens == 40
    assert lines[Component.SKILL_PROMPT].input_tokens > lines[Component.SYSTEM_PROMPT].input_tokens


def test_only_what_was_sent_is_seen(account: MeteredCalls) -> None:
    assert account.seen == {"skill:counting"}
    assert account.calls[0].tools == ("Task",)
