"""Any agent that speaks the Agent Client Protocol, by way of a small client beside it."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.agents.live_agent import TOOL_SERVER, LiveAgent
from tests.agents.programs import PROGRAMS, a_room

from outweigh.agents.acp import AcpAgent
from outweigh.agents.command_line import CommandLineAgent
from outweigh.agents.installed_program import current_python
from outweigh.model.arm import Arm, McpServer
from outweigh.model.failure import FailureKind, Status
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.agents import AttemptOutcome
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt
from outweigh.testing.model_server import Tokens
from outweigh.transcript.trajectory_file import read_trajectory

AGENT = """
import json, os, sys

def send(**message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def hear():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

asked = []
def ask(method, **params):
    asked.append(method)
    send(id=f"own-{len(asked)}", method=method, params=params)
    while True:
        message = hear()
        if message.get("id") == f"own-{len(asked)}":
            return message.get("result") if "result" in message else message["error"]

def say(words):
    update = {"sessionUpdate": "agent_message_chunk", "content": {"type": "text", "text": str(words)}}
    send(method="session/update", params={"sessionId": "s", "update": update})

opened = {"sessionId": "s"}
def on_prompt(params): say("hello"); return {"stopReason": "end_turn"}
PART
seen = []
while True:
    message = hear()
    seen.append(message)
    method, params = message["method"], message["params"]
    if method == "initialize":
        result = {"protocolVersion": 1, "agentInfo": {"name": "fake", "version": "7.1"}}
    elif method == "session/new":
        result = opened
    elif method == "session/prompt":
        result = on_prompt(params)
    else:
        result = {}
    if isinstance(result, str):
        send(id=message["id"], error={"code": 401, "message": result})
    else:
        send(id=message["id"], result=result)
"""


def attempt(folder: Path, part: str, options: dict[str, Any] | None = None, **arm: Any) -> AttemptOutcome:
    """An attempt by an agent of which only a part is stated."""
    program = folder / "agent.py"
    program.write_text(AGENT.replace("PART", part))
    command = [*current_python().command, str(program)]
    with a_room(folder) as room:
        return AcpAgent().attempt(an_attempt(an_agent_arm("acp", {"command": command, **(options or {})}, **arm)), room)


def words(done: AttemptOutcome) -> str:
    assert done.status is Status.COMPLETED, done.artifacts
    return " ".join(str(step.message) for step in read_trajectory(done.artifacts["trajectory.json"]).steps)


def test_a_session_is_opened_and_the_prompt_is_sent(tmp_path: Path) -> None:
    part = (
        'def on_prompt(params): say(params["prompt"][0]["text"]); say(os.getcwd()); return {"stopReason": "end_turn"}'
    )

    done = attempt(tmp_path, part, extra_prompt="Be brief.")

    assert (done.status, done.agent.version) == (Status.COMPLETED, "7.1"), done.artifacts
    assert "Write 42 to answer.txt." in words(done)
    assert "Be brief." in words(done)
    assert str(tmp_path / "workspace") in words(done)


def test_leave_is_given_as_lastingly_as_it_is_offered(tmp_path: Path) -> None:
    part = """
def on_prompt(params):
    offers = [("no", "reject_once"), ("once", "allow_once"), ("ever", "allow_always")]
    options = [{"optionId": name, "kind": kind, "name": name} for name, kind in offers]
    say(ask("session/request_permission", sessionId="s", toolCall={}, options=options)["outcome"]["optionId"])
    say(ask("session/request_permission", sessionId="s", toolCall={}, options=options[:2])["outcome"]["optionId"])
    return {"stopReason": "end_turn"}
"""

    assert words(attempt(tmp_path, part)) == "everonce"


def test_files_are_read_and_written_for_it(tmp_path: Path) -> None:
    part = """
def on_prompt(params):
    path = os.path.join(os.getcwd(), "new", "file.txt")
    ask("fs/write_text_file", sessionId="s", path=path, content="one\\ntwo\\nthree\\n")
    say(ask("fs/read_text_file", sessionId="s", path=path, line=2, limit=1)["content"].strip())
    say(ask("fs/read_text_file", sessionId="s", path="/no/such/file")["message"])
    return {"stopReason": "end_turn"}
"""

    done = attempt(tmp_path, part)

    assert words(done).startswith("twoFileNotFoundError")
    assert (tmp_path / "workspace" / "new" / "file.txt").read_text() == "one\ntwo\nthree\n"


def test_commands_are_run_for_it_as_lines_or_as_words(tmp_path: Path) -> None:
    part = """
def run(**command):
    terminal = ask("terminal/create", sessionId="s", **command)["terminalId"]
    status = ask("terminal/wait_for_exit", sessionId="s", terminalId=terminal)
    output = ask("terminal/output", sessionId="s", terminalId=terminal)
    ask("terminal/release", sessionId="s", terminalId=terminal)
    say(f"[{status['exitCode']} {output['output'].strip()} {output['truncated']}]")

def on_prompt(params):
    run(command="echo $GREETING; exit 3", env=[{"name": "GREETING", "value": "hi"}])
    run(command="printf", args=["%s", "a b"])
    run(command="echo 0123456789", outputByteLimit=4)
    return {"stopReason": "end_turn"}
"""

    assert words(attempt(tmp_path, part)) == "[3 hi False][0 a b False][0 789 True]"


def test_a_command_that_does_not_end_can_be_ended(tmp_path: Path) -> None:
    part = """
def on_prompt(params):
    terminal = ask("terminal/create", sessionId="s", command="sleep", args=["600"])["terminalId"]
    ask("terminal/kill", sessionId="s", terminalId=terminal)
    say(ask("terminal/wait_for_exit", sessionId="s", terminalId=terminal)["signal"])
    return {"stopReason": "end_turn"}
"""

    assert words(attempt(tmp_path, part)) == "9"


def test_what_this_client_does_not_know_is_said_as_such(tmp_path: Path) -> None:
    part = 'def on_prompt(params): say(ask("x/dance")["code"]); return {"stopReason": "end_turn"}'

    assert words(attempt(tmp_path, part)) == "-32601"


SHOW_MODEL = """
def on_prompt(params):
    chosen = [message for message in seen if message["method"].startswith("session/set_")]
    say(json.dumps([[message["method"], message["params"]] for message in chosen]))
    return {"stopReason": "end_turn"}
"""


@pytest.mark.parametrize(
    ("opened", "chosen"),
    [
        (
            {"sessionId": "s", "configOptions": [{"id": "llm", "category": "model"}]},
            ["session/set_config_option", {"sessionId": "s", "configId": "llm", "value": "m-1"}],
        ),
        ({"sessionId": "s"}, ["session/set_model", {"sessionId": "s", "modelId": "m-1"}]),
    ],
)
def test_the_model_is_chosen_in_the_way_that_the_agent_offers(
    tmp_path: Path, opened: dict[str, Any], chosen: list[Any]
) -> None:
    done = attempt(tmp_path, f"opened = {opened!r}\n{SHOW_MODEL}", model="m-1")

    assert msgspec.json.decode(words(done)) == [chosen]


def test_a_model_that_is_named_on_the_command_line_is_not_chosen_again(tmp_path: Path) -> None:
    done = attempt(tmp_path, SHOW_MODEL, {"access": {"AGENT_MODEL": "{model}"}}, model="m-1")

    assert words(done) == "[]"


def test_it_is_led_to_the_gateway_by_variables(tmp_path: Path) -> None:
    part = 'def on_prompt(params): say(os.environ["WAY"]); return {"stopReason": "end_turn"}'

    done = attempt(tmp_path, part, {"access": {"WAY": "{url}/v1 {key} {model}"}}, model="m-1")

    assert words(done) == f"{MODEL_ACCESS.base_url}/v1 {MODEL_ACCESS.key} m-1"


def test_servers_and_the_way_to_sign_in_are_passed_on(tmp_path: Path) -> None:
    part = """
def on_prompt(params):
    say(json.dumps([message["params"] for message in seen if message["method"] in ("authenticate", "session/new")]))
    return {"stopReason": "end_turn"}
"""
    servers = {"far": McpServer(url="http://127.0.0.1:1/mcp")}

    signed_in, opened = msgspec.json.decode(
        words(attempt(tmp_path, part, {"authenticate": "api-key"}, mcp_servers=servers))
    )

    assert signed_in == {"methodId": "api-key"}
    assert opened["mcpServers"] == [{"type": "http", "name": "far", "url": "http://127.0.0.1:1/mcp", "headers": []}]


def test_a_server_that_it_starts_gets_the_arms_secrets_and_its_handshake_is_recorded(tmp_path: Path) -> None:
    part = """
import subprocess
def on_prompt(params):
    (server,) = next(message["params"]["mcpServers"] for message in seen if message["method"] == "session/new")
    variables = {"PATH": os.environ["PATH"], **{each["name"]: each["value"] for each in server["env"]}}
    asked = {"id": 1, "method": "initialize", "params": {"protocolVersion": "1"}}, {"id": 2, "method": "tools/list"}
    sent = "".join(json.dumps(each) + chr(10) for each in asked)
    say(subprocess.run([server["command"], *server["args"]], input=sent, text=True, env=variables, capture_output=True))
    return {"stopReason": "end_turn"}
"""
    (tmp_path / "server.py").write_text(
        "import os\n" + TOOL_SERVER.replace('"feed_the_zebra"', '"feed_" + os.environ["ZOO_TOKEN"]')
    )
    server = McpServer(command=[*current_python().command, str(tmp_path / "server.py")])

    done = attempt(
        tmp_path, part, mcp_servers={"zoo": server}, secrets=("ZOO_TOKEN",), environment={"ZOO_TOKEN": "oats"}
    )

    assert done.servers is not None, done.artifacts
    assert done.servers.starts["zoo"].tools == ("feed_oats",), done.artifacts


@pytest.mark.parametrize(
    ("part", "kind"),
    [
        ('def on_prompt(params): return "no such key"', FailureKind.UNAUTHORIZED),
        ('def on_prompt(params): return {"stopReason": "max_turn_requests"}', FailureKind.TURN_LIMIT),
        ("def on_prompt(params): sys.exit(5)", FailureKind.CRASH),
        ("sys.exit(0)", FailureKind.CRASH),
    ],
)
def test_every_other_end_is_a_failure_of_a_known_kind(tmp_path: Path, part: str, kind: FailureKind) -> None:
    done = attempt(tmp_path, part)

    assert done.failure is not None, done.artifacts
    assert done.failure.kind is kind, done.artifacts


STUBBORN = """
import time
listen = hear
def hear():
    try:
        return listen()
    except SystemExit:
        time.sleep(600)
"""


def test_an_agent_that_does_not_end_with_its_prompt_is_ended(tmp_path: Path) -> None:
    assert attempt(tmp_path, STUBBORN).status is Status.COMPLETED


def test_an_agent_that_is_not_there_is_missing() -> None:
    arm = an_agent_arm("acp", {"command": ["no-such-agent", "--acp"]})

    assert "there is no program 'no-such-agent'" in (AcpAgent().missing(arm) or "")
    assert 'needs the key "command"' in (AcpAgent().missing(an_agent_arm("acp")) or "")


class TestAcp(LiveAgent):
    """By way of goose, which asks its client to run its commands."""

    model = "gpt-4.1"

    def agent(self) -> CommandLineAgent:
        return AcpAgent()

    def arm(self) -> Arm:
        access = {
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "{model}",
            "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1",
            "OPENAI_HOST": "{url}",
            "OPENAI_API_KEY": "{key}",
        }
        command = [str(PROGRAMS / "goose"), "acp", "--with-builtin", "developer"]
        return an_agent_arm("acp", {"command": command, "access": access}, model=self.model)

    def usage_of(self, tokens: Tokens) -> Usage:
        """Its figures are of the last request alone, and are not believed."""
        return NO_USAGE
