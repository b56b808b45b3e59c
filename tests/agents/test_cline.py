"""How Cline is asked, and what it then does, with the real program; and how its events are read."""

from typing import Any

import msgspec
import pytest
from tests.agents.live_agent import LiveAgent
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.cline import ClineAgent, ClineReader
from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.model.arm import McpServer
from outweigh.model.failure import FailureKind
from outweigh.model.usage import Usage
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt


def test_totals_are_cumulative_and_the_cache_is_taken_out_of_input() -> None:
    report = read(ClineReader(), sample("cline/run.txt"))
    assert report.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=0)
    assert report.cost_usd is None
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert calls(report) == [("run_commands", False)]
    assert (report.model, report.version, report.duration_seconds) == ("fake-model", None, 0.343)
    assert report.session_id == "conv_1794728155334_beuit6c"
    assert report.final_text == "Done: wrote hello.txt"
    assert report.finished
    assert report.failure is None
    assert report.warnings == ("3 lines of the agent's output could not be read as a JSON object",)


def test_a_run_that_breaks_off_tells_its_totals_so_far() -> None:
    lines = sample("cline/run.txt").splitlines(keepends=True)
    report = read(ClineReader(), b"".join(lines[:-2]))
    assert report.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=None)
    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is FailureKind.NO_RESULT


def test_a_price_that_is_known_is_reported() -> None:
    line = b'{"type": "run_result", "finishReason": "completed", "usage": {"totalCost": 0.25}}\n'
    assert read(ClineReader(), line).cost_usd == 0.25


@pytest.mark.parametrize(
    ("reason", "words", "kind"),
    [
        ("max_iterations", "", FailureKind.TURN_LIMIT),
        ("aborted", "", FailureKind.NO_RESULT),
        ("error", "429 Too Many Requests", FailureKind.RATE_LIMITED),
        ("error", "", FailureKind.CRASH),
    ],
)
def test_any_other_reason_to_finish_is_a_failure(reason: str, words: str, kind: FailureKind) -> None:
    error = f'{{"type": "agent_event", "event": {{"type": "error", "message": "{words}"}}}}\n' if words else ""
    result = f'{{"type": "run_result", "finishReason": "{reason}"}}\n'
    report = read(ClineReader(), (error + result).encode())
    assert report.failure is not None
    assert report.failure.kind is kind


def test_a_command_of_several_that_failed_fails_the_call() -> None:
    lines = (
        b'{"type": "agent_event", "event": {"type": "content_start", "contentType": "tool", "toolName": "run_commands",'
        b' "toolCallId": "a", "input": {}}}\n'
        b'{"type": "agent_event", "event": {"type": "content_end", "contentType": "tool", "toolCallId": "a",'
        b' "output": [{"success": true}, {"success": false}]}}\n'
        b'{"type": "agent_event", "event": {"type": "content_start", "contentType": "tool", "toolName": "read_file",'
        b' "toolCallId": "b", "input": {}}}\n'
        b'{"type": "agent_event", "event": {"type": "content_end", "contentType": "tool", "toolCallId": "b",'
        b' "error": "no such file"}}\n'
    )
    assert calls(read(ClineReader(), lines)) == [("run_commands", True), ("read_file", True)]


def launched(model: str, *, asked: dict[str, Any] | None = None, **arm: Any) -> Launch:
    return ClineAgent().launch(an_attempt(an_agent_arm("cline", model=model, **arm), **(asked or {})), "/home/agent")


@pytest.mark.parametrize(
    ("model", "provider"),
    [
        ("anthropic/claude-sonnet-4-5", "anthropic"),
        ("openai/gpt-5", "openai-compatible"),
        ("openrouter/qwen/qwen3", "openai-compatible"),
    ],
)
def test_the_provider_before_the_name_tells_how_the_gateway_is_spoken_to(model: str, provider: str) -> None:
    written = msgspec.json.decode(launched(model).files[".cline/data/settings/providers.json"])

    assert written["lastUsedProvider"] == provider
    assert written["providers"][provider]["settings"] == {
        "provider": provider,
        "apiKey": MODEL_ACCESS.key,
        "model": model.partition("/")[2],
        "baseUrl": f"{MODEL_ACCESS.base_url}/v1",
    }
    assert ".cline/data/settings/providers.json" not in launched(model, asked={"model_access": None}).files


@pytest.mark.parametrize("instruction", ["--help", "config"])
def test_a_prompt_is_never_taken_for_an_option_or_a_command(instruction: str) -> None:
    assert launched("openai/gpt-5", asked={"instruction": instruction}).arguments[-1] == f"\n{instruction}"


def test_tool_servers_are_part_of_its_settings() -> None:
    servers = {"files": McpServer(command=["python3", "server.py"]), "far": McpServer(url="http://127.0.0.1:1/mcp")}

    files = launched("openai/gpt-5", mcp_servers=servers).files

    assert msgspec.json.decode(files[".cline/data/settings/cline_mcp_settings.json"]) == {
        "mcpServers": {
            "files": {"type": "stdio", "command": "python3", "args": ["server.py"], "env": {}},
            "far": {"type": "streamableHttp", "url": "http://127.0.0.1:1/mcp"},
        }
    }


def test_what_it_would_do_wrong_without_a_word_is_refused() -> None:
    far = McpServer(url="https://zoo.example.org/mcp", headers={"Authorization": "Bearer ${TOKEN}"})
    headers = ClineAgent().missing(an_agent_arm("cline", model="openai/gpt-5", mcp_servers={"zoo": far}))
    gemini = ClineAgent().missing(an_agent_arm("cline", model="google/gemini-2.5-pro"))

    assert headers is not None
    assert "arms.plain.mcp_servers: cline cannot take the headers of a server from variables" in headers
    assert gemini == "arms.plain.model: cline offers Gemini models no tools; use a model of another provider."


class TestCline(LiveAgent):
    model = "openai/gpt-5"

    def agent(self) -> CommandLineAgent:
        return ClineAgent()
