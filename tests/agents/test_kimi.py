"""How Kimi Code CLI is asked, and what it then does, with the real program; and how its messages are read."""

import tomllib
from typing import Any

import msgspec
import pytest
from tests.agents.live_agent import LiveAgent
from tests.agents.transcript_samples import calls, read

from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.agents.kimi import KimiAgent, KimiReader
from outweigh.model.arm import McpServer
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt

VERSION = b'{"role":"meta","type":"system.version","version":"2.1.0"}\n'
CALL = (
    b'{"role":"assistant","content":"I will write it down.","tool_calls":[{"type":"function","id":"call_1",'
    b'"function":{"name":"Bash","arguments":"{\\"command\\":\\"echo 42 >answer.txt\\"}"}}]}\n'
    b'{"role":"tool","tool_call_id":"call_1","content":"Command executed successfully."}\n'
)
ANSWER = b'{"role":"assistant","content":"The answer is in answer.txt."}\n'
END = b'{"role":"meta","type":"session.resume_hint","session_id":"session_7","command":"kimi -r session_7"}\n'
RETRY = (
    b'{"role":"meta","type":"turn.step.retrying","failed_attempt":1,"max_attempts":10,'
    b'"error_message":"429 Rate limit reached for gpt-5","status_code":429}\n'
)
LOGS = (
    b'{"type":"metadata","protocol_version":"1.5"}\n'
    b'{"type":"usage.record","agentId":"main","model":"arm","usage":{"inputOther":5200,"output":60,'
    b'"inputCacheRead":0,"inputCacheCreation":0},"usageScope":"turn"}\n'
    b'{"type":"usage.record","agentId":"main","model":"arm","usage":{"inputOther":80,"output":20,'
    b'"inputCacheRead":4000,"inputCacheCreation":0},"usageScope":"turn"}\n'
)


def test_messages_tell_the_steps_and_the_logs_tell_the_tokens() -> None:
    reader = KimiReader()
    reader.take_logs(LOGS)

    report = read(reader, VERSION + CALL + ANSWER + END)

    assert report.usage == Usage(input_tokens=5280, output_tokens=80, cache_read_tokens=4000, cache_write_tokens=0)
    assert (report.version, report.session_id, report.cost_usd) == ("2.1.0", "session_7", None)
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert calls(report) == [("Bash", None)]
    assert report.final_text == "The answer is in answer.txt."
    assert report.finished
    assert report.failure is None


def test_without_logs_the_tokens_are_unknown() -> None:
    report = read(KimiReader(), VERSION + CALL + ANSWER + END)

    assert (report.usage, report.request_count) == (NO_USAGE, None)


@pytest.mark.parametrize(("output", "kind"), [(RETRY, FailureKind.RATE_LIMITED), (CALL, FailureKind.NO_RESULT)])
def test_a_session_without_its_last_line_has_failed(output: bytes, kind: FailureKind) -> None:
    report = read(KimiReader(), VERSION + output)

    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is kind


def test_the_error_that_ended_a_session_is_in_its_logs() -> None:
    reader = KimiReader()
    reader.take_logs(
        b'{"type":"turn.ended","agentId":"main","reason":"failed","error":{"code":"provider.auth_error",'
        b'"message":"401 Incorrect API key provided."}}\n'
    )

    report = read(reader, VERSION)

    assert report.failure is not None
    assert report.failure.kind is FailureKind.UNAUTHORIZED


def test_a_request_that_succeeded_when_tried_again_is_no_failure() -> None:
    assert read(KimiReader(), VERSION + RETRY + ANSWER + END).failure is None


def launched(model: str, *, asked: dict[str, Any] | None = None, **arm: Any) -> Launch:
    return KimiAgent().launch(an_attempt(an_agent_arm("kimi", model=model, **arm), **(asked or {})), "/home/agent")


@pytest.mark.parametrize(
    ("model", "api", "path"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic", ""),
        ("openai/gpt-5", "openai", "/v1"),
        ("google/gemini-2.5-pro", "google-genai", ""),
        ("moonshot/kimi-k2", "openai", "/v1"),
    ],
)
def test_the_provider_before_the_name_tells_how_the_gateway_is_spoken_to(model: str, api: str, path: str) -> None:
    written = tomllib.loads(launched(model).files[".kimi-code/config.toml"].decode())

    (provider,) = written["providers"].values()
    assert provider == {"type": api, "base_url": f"{MODEL_ACCESS.base_url}{path}", "api_key": MODEL_ACCESS.key}
    assert written["models"][written["default_model"]]["model"] == model.partition("/")[2]


@pytest.mark.parametrize(
    ("model", "api"),
    [("moonshot/kimi-k2", "kimi"), ("anthropic/claude-sonnet-4-5", "anthropic"), ("openai/gpt-5", "openai")],
)
def test_without_a_gateway_the_model_is_named_by_variables(model: str, api: str) -> None:
    launch = launched(model, asked={"model_access": None})

    assert ".kimi-code/config.toml" not in launch.files
    assert launch.defaults["KIMI_MODEL_NAME"] == model.partition("/")[2]
    assert launch.defaults["KIMI_MODEL_PROVIDER_TYPE"] == api


def test_a_prompt_is_never_taken_for_an_option() -> None:
    agent, request = KimiAgent(), an_attempt(an_agent_arm("kimi", model="openai/gpt-5"), instruction="--help")

    assert agent.launch(request, "/home/agent").arguments[-1] == "--prompt=--help"
    assert agent.resume(request, "/home/agent", "session_7", "--yolo").arguments[-3:] == (
        "--session",
        "session_7",
        "--prompt=--yolo",
    )


def test_tool_servers_are_part_of_its_settings() -> None:
    servers = {"files": McpServer(command=["python3", "server.py"]), "far": McpServer(url="http://127.0.0.1:1/mcp")}

    written = msgspec.json.decode(launched("openai/gpt-5", mcp_servers=servers).files[".kimi-code/mcp.json"])

    limit = written["mcpServers"]["far"].pop("startupTimeoutMs")
    assert limit == written["mcpServers"]["files"].pop("startupTimeoutMs") > 0
    assert written == {
        "mcpServers": {
            "files": {"command": "python3", "args": ["server.py"], "env": {}},
            "far": {"url": "http://127.0.0.1:1/mcp"},
        }
    }


def test_headers_of_a_server_are_refused_because_it_takes_none_from_variables() -> None:
    far = McpServer(url="https://zoo.example.org/mcp", headers={"Authorization": "Bearer ${TOKEN}"})

    missing = KimiAgent().missing(an_agent_arm("kimi", model="openai/gpt-5", mcp_servers={"zoo": far}))

    assert missing is not None
    assert "arms.plain.mcp_servers: kimi cannot take the headers of a server from variables" in missing


class TestKimi(LiveAgent):
    model = "openai/gpt-5"

    def agent(self) -> CommandLineAgent:
        return KimiAgent()
