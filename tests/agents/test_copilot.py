"""How Copilot CLI is asked, and what it then does, with the real program; and how its events are read."""

from typing import Any

import pytest
from tests.agents.live_agent import LiveAgent
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.agents.copilot import CopilotAgent, CopilotReader
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt


def test_no_tokens_and_no_dollars_are_reported_and_so_none_are_known() -> None:
    report = read(CopilotReader(), sample("copilot/run.txt"))
    assert report.usage == NO_USAGE
    assert report.usage_by_model == {}
    assert report.cost_usd is None


def test_steps_tools_and_the_end_are_told() -> None:
    report = read(CopilotReader(), sample("copilot/run.txt"))
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert calls(report) == [("bash", False)]
    assert [step.source for step in report.steps] == ["user", "agent", "agent"]
    assert (report.model, report.version, report.duration_seconds) == ("fake-model", None, 0.689)
    assert report.session_id == "1f690555-26a1-4ba4-8110-72d9fe7110d1"
    assert report.final_text == "Done: wrote hello.txt"
    assert report.finished
    assert report.failure is None
    assert report.warnings == ()


def test_the_session_proves_skills_and_servers() -> None:
    loaded = read(CopilotReader(), sample("copilot/run.txt")).loaded
    assert loaded is not None
    assert loaded.skills == ("customize-cloud-agent", "github-pr-media")
    assert loaded.mcp_servers == ()
    assert loaded.skills_used == ()


def test_an_exit_code_is_a_failure_with_the_last_error_as_its_reason() -> None:
    error = b'{"type": "session.error", "data": {"message": "401 Unauthorized"}}\n'
    end = b'{"type": "result", "exitCode": 1}\n'
    told, untold = read(CopilotReader(), error + end).failure, read(CopilotReader(), end).failure
    assert told is not None
    assert told.kind is FailureKind.UNAUTHORIZED
    assert untold is not None
    assert untold.kind is FailureKind.CRASH


def test_a_command_with_another_exit_code_than_0_failed() -> None:
    lines = (
        b'{"type": "assistant.message", "data": {"toolRequests": [{"toolCallId": "a", "name": "bash"}]}}\n'
        b'{"type": "tool.execution_complete", "data": {"toolCallId": "a", "success": true,'
        b' "shellExecution": {"exitCode": 3}}}\n'
    )
    assert calls(read(CopilotReader(), lines)) == [("bash", True)]


def test_input_in_the_usage_file_is_with_the_cache() -> None:
    reader = CopilotReader()
    counts = b'{"inputTokens": 3590, "outputTokens": 300, "cacheReadTokens": 90, "cacheWriteTokens": 500}'
    reader.take_usage(b'{"modelMetrics": {"claude-sonnet-4-5": {"usage": ' + counts + b"}}}")
    usage = Usage(input_tokens=3000, output_tokens=300, cache_read_tokens=90, cache_write_tokens=500)
    assert read(reader, sample("copilot/run.txt")).usage == usage


@pytest.mark.parametrize("content", [b"", b"[]", b'{"modelMetrics": {"gpt-5": {}}}'])
def test_a_usage_file_without_counts_says_nothing(content: bytes) -> None:
    reader = CopilotReader()
    reader.take_usage(content)
    assert read(reader, sample("copilot/run.txt")).usage == NO_USAGE


def launched(model: str, *, asked: dict[str, Any] | None = None, **arm: Any) -> Launch:
    return CopilotAgent().launch(
        an_attempt(an_agent_arm("copilot", model=model, **arm), **(asked or {})), "/home/agent"
    )


@pytest.mark.parametrize(
    ("model", "provider", "path", "wire_api"),
    [
        ("gpt-5", "openai", "/v1", "responses"),
        ("openai/gpt-4.1", "openai", "/v1", "completions"),
        ("openrouter/qwen/qwen3", "openai", "/v1", "completions"),
        ("gemini-2.5-pro", "openai", "/v1", "completions"),
        ("anthropic/claude-sonnet-4-5", "anthropic", "", "completions"),
    ],
)
def test_the_model_tells_how_the_gateway_is_spoken_to(model: str, provider: str, path: str, wire_api: str) -> None:
    launch = launched(model)

    assert launch.gateway_variables == {
        "COPILOT_OFFLINE": "true",
        "COPILOT_PROVIDER_TYPE": provider,
        "COPILOT_PROVIDER_BASE_URL": f"{MODEL_ACCESS.base_url}{path}",
        "COPILOT_PROVIDER_API_KEY": MODEL_ACCESS.key,
    }
    assert launch.defaults["COPILOT_PROVIDER_WIRE_API"] == wire_api
    assert CopilotAgent().provider(an_agent_arm("copilot", model=model)) == provider


def test_without_a_gateway_it_is_led_to_no_other_model_than_that_of_its_plan() -> None:
    launch = launched("claude-sonnet-4.5", asked={"model_access": None})

    assert launch.gateway_variables == {}
    assert launch.defaults == {"COPILOT_ALLOW_ALL": "true", "COPILOT_MODEL": "claude-sonnet-4.5"}
    assert CopilotAgent().hosts(an_agent_arm("copilot")) == ("api.githubcopilot.com", "api.github.com")


class TestCopilot(LiveAgent):
    model = "gpt-5"

    def agent(self) -> CommandLineAgent:
        return CopilotAgent()
