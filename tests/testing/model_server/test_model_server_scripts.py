"""Scripts are read strictly, and `run` finds the shell of every agent."""

from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest
from tests.testing.model_server.model_clients import ask, question

from outweigh.errors import UsageError
from outweigh.model.provider import ProviderSpec
from outweigh.model.suite import GatewaySpec
from outweigh.testing.model_server import (
    Conversation,
    CutSpec,
    ErrorSpec,
    ModelServer,
    Script,
    Turn,
    UsageSpec,
    When,
    parse_script,
    read_script,
)
from outweigh.testing.model_server.agent_commands import agent_commands, suite_lines
from outweigh.testing.model_server.model_request import WireProtocol
from outweigh.testing.model_server.model_script import ErrorKind
from outweigh.testing.model_server.provider_errors import ERRORS_BY_PROTOCOL

TOML = """
models = ["claude-*"]

[[turn]]
text = "I will."
run = ["true", "false"]
usage = { input_tokens = 5 }
error = { kind = "overloaded", times = 2 }
cut = { times = 1 }

[[conversation]]
name = "mine"
when = { contains = "42", tools = false }
[[conversation.turn]]
refuse = true
"""
JSON = """
{"models": ["claude-*"],
 "turn": [{"text": "I will.", "run": ["true", "false"], "usage": {"input_tokens": 5},
           "error": {"kind": "overloaded", "times": 2}, "cut": {"times": 1}}],
 "conversation": [{"name": "mine", "when": {"contains": "42", "tools": false}, "turn": [{"refuse": true}]}]}
"""


def test_a_script_is_the_same_in_toml_and_in_json(tmp_path: Path) -> None:
    (tmp_path / "script.toml").write_text(TOML)
    (tmp_path / "script.json").write_text(JSON)

    assert read_script(tmp_path / "script.toml") == read_script(tmp_path / "script.json")
    assert parse_script(TOML) == Script(
        models=["claude-*"],
        turn=[
            Turn(
                text="I will.",
                run=["true", "false"],
                usage=UsageSpec(input_tokens=5),
                error=ErrorSpec(kind="overloaded", times=2),
                cut=CutSpec(times=1),
            )
        ],
        conversation=[
            Conversation(name="mine", when=When(contains="42", tools=False), turn=[Turn(refuse=True)]),
        ],
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[[turn]]\ntxt = "hi"', r"unknown field `txt` - at `\$.turn\[0\]`. Did you mean `text`\?"),
        ("[[turn]]\nrun = 3", r"got `int` - at `\$.turn\[0\].run`"),
        ("[[turn]]\nerror = { times = 2 }", r"needs a `kind` or a `status` - at `\$.turn\[0\].error`"),
        ('[[turn]]\nerror = { kind = "flood" }', r"Invalid enum value 'flood' - at `\$.turn\[0\].error.kind`"),
        ("[[turn]]\nerror = { status = 200 }", r">= 400.*error.status"),
        ("[[turn]]\ncut = { times = 0 }", r">= 1.*cut.times"),
        (
            "[[turn]]\nusage = { reasoning_tokens = 20 }",
            r"turn\[0\]: reasoning_tokens \(20\) are a part of output_tokens",
        ),
        ("[usage]\noutput_tokens = 3\n[side]\nusage = { reasoning_tokens = 4 }\n[[turn]]", r"side: reasoning_tokens"),
        ("[[conversation]]\nturn = []", r"length >= 1.*conversation\[0\].turn"),
        ('[side]\nrun = "true"\n[[turn]]', "`side` answers requests without tools"),
        ("", r"a script needs a \[\[turn\]\] or a \[\[conversation\]\]"),
        ("[[turn]", "is not valid TOML"),
        ("models = []\n[[turn]]", "models"),
    ],
)
def test_a_mistake_in_a_script_is_named_with_its_place(text: str, said: str) -> None:
    with pytest.raises(UsageError, match=said):
        parse_script(text)


def test_a_script_that_is_not_there_is_said_to_be_missing(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"cannot be read: No such file.*--example"):
        read_script(tmp_path / "nowhere.toml")


def test_tokens_come_from_the_turn_then_from_the_script_then_from_nowhere() -> None:
    turn = Turn(text="Hi.", usage=UsageSpec(input_tokens=5))
    with ModelServer(Script(turn=[turn], usage=UsageSpec(input_tokens=9, cache_read_tokens=70))) as server:
        ask(server, "anthropic", question("anthropic", "Hi."))

    tokens = server.totals().tokens
    assert (tokens.input_tokens, tokens.cache_read_tokens, tokens.output_tokens) == (5, 70, 10)


def string(**properties: Any) -> dict[str, Any]:
    """A schema of which everything is required."""
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}


@pytest.mark.parametrize(
    ("name", "schema", "arguments"),
    [
        ("Bash", string(command=TEXT, description=TEXT), {"command": "ls", "description": "Run a command"}),
        ("bash", string(command=TEXT), {"command": "ls"}),
        ("shell", string(command={"type": "array", "items": TEXT}), {"command": ["bash", "-lc", "ls"]}),
        ("run_commands", string(commands={"type": "array", "items": TEXT}), {"commands": ["ls"]}),
        ("exec_command", {"type": "object", "properties": {"cmd": TEXT, "yield_time_ms": {}}}, {"cmd": "ls"}),
        ("run_shell_command", string(command=TEXT, is_background={"type": "boolean"}), {"is_background": False}),
        ("developer__shell", string(command=TEXT, timeout_secs={"type": ["integer", "null"]}), {"timeout_secs": None}),
    ],
)
def test_run_uses_the_shell_of_any_agent(name: str, schema: dict[str, Any], arguments: dict[str, Any]) -> None:
    other = {"name": "Read", "input_schema": string(file_path=TEXT)}
    watcher = {"name": "monitor", "input_schema": string(command=TEXT)}
    tools = [other, watcher, {"name": name, "input_schema": schema}]
    with ModelServer(Script(turn=[Turn(run="ls")])) as server:
        answer = ask(server, "anthropic", question("anthropic", "List.", tools=False) | {"tools": tools}).json()

    (call,) = answer["content"]
    assert call["name"] == name
    assert call["input"].items() >= arguments.items()
    assert set(schema.get("required", ())) <= call["input"].keys()


def test_where_no_shell_is_offered_the_model_says_so_and_the_ledger_too() -> None:
    tools = [{"name": "Read", "input_schema": string(file_path=TEXT)}]
    with ModelServer(Script(turn=[Turn(run="ls"), Turn(text="Next.")])) as server:
        answer = ask(server, "anthropic", question("anthropic", "List.", tools=False) | {"tools": tools}).json()

    assert answer["stop_reason"] == "end_turn"
    assert "no shell is among the tools" in answer["content"][0]["text"]
    assert [entry.problem for entry in server.ledger] == [
        "the script says `run`, but no shell is among the tools: Read"
    ]


def test_an_agent_that_ends_only_by_a_command_gets_it_with_the_last_words() -> None:
    prompt = "To submit, run `echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT`."
    with ModelServer(Script(turn=[Turn(text="That was all.")])) as server:
        content = ask(server, "anthropic", question("anthropic", prompt)).json()["content"]
        others = ask(server, "anthropic", question("anthropic", "Go.")).json()["content"]

    assert [block["type"] for block in others] == ["text"]
    assert content[-1]["input"]["command"] == "echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT"


def test_every_provider_has_words_for_every_kind_of_trouble() -> None:
    assert [set(table) for table in ERRORS_BY_PROTOCOL.values()] == [set(get_args(ErrorKind))] * len(WireProtocol)


def test_every_known_agent_is_led_to_the_server() -> None:
    commands = agent_commands("http://127.0.0.1:12345")

    assert len({command.agent for command in commands}) == len(commands) >= 8
    for command in commands:
        assert "http://127.0.0.1:12345" in command.line + (command.note or "")


def test_the_lines_for_a_suite_point_every_provider_at_the_server() -> None:
    lines = "\n".join(suite_lines("http://127.0.0.1:12345"))

    gateway = msgspec.toml.decode(lines)["gateway"]

    assert msgspec.convert(gateway, GatewaySpec) == GatewaySpec(
        anthropic=ProviderSpec(url="http://127.0.0.1:12345", key="ANTHROPIC_API_KEY"),
        openai=ProviderSpec(url="http://127.0.0.1:12345", key="OPENAI_API_KEY"),
        gemini=ProviderSpec(url="http://127.0.0.1:12345", key="GEMINI_API_KEY"),
    )
