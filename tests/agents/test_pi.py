"""How pi is asked, and what it then does, with the real program; and how its events are read."""

from typing import Any

import msgspec
import pytest
from tests.agents.live_agent import LiveAgent
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.agents.pi import PiAgent, PiReader
from outweigh.model.arm import McpServer
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt

END = b'{"type": "agent_end", "messages": []}\n'


def answer(stop_reason: str, rest: str) -> bytes:
    message = f'{{"role": "assistant", "content": [], "stopReason": "{stop_reason}", {rest}}}'
    return f'{{"type": "message_end", "message": {message}}}\n'.encode()


COUNTED = '"usage": {"input": 5, "output": 2, "cacheRead": 1, "cacheWrite": 0, "cost": {"total": 0.5}}'
UNCOUNTED = '"usage": {"input": 0, "output": 0, "cacheRead": 0, "cacheWrite": 0, "cost": {"total": 0}}'


def test_every_answer_counts_once_although_it_is_told_many_times() -> None:
    report = read(PiReader(), sample("pi/run.txt"))
    usage = Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=0)
    assert report.usage == usage
    assert report.usage_by_model == {"fake-model": usage}
    assert report.cost_usd == pytest.approx(0.00145)
    assert (report.step_count, report.tool_call_count, report.request_count) == (2, 1, 2)
    assert calls(report) == [("write", False)]
    assert [step.source for step in report.steps] == ["user", "agent", "agent"]
    assert (report.model, report.version, report.duration_seconds) == ("fake-model", None, None)
    assert report.session_id == "01a1de21-7ca5-728b-a4c1-4ecd1f66c2eb"
    assert report.final_text == "Done: wrote hello.txt"
    assert report.finished
    assert report.failure is None
    assert report.warnings == ()


def test_its_own_prompt_is_no_message_of_the_user() -> None:
    report = read(PiReader(), b'{"type": "message_end", "message": {"role": "system", "content": ""}}\n' + END)
    assert report.steps == ()


def test_a_request_that_failed_is_the_failure_and_not_an_answer() -> None:
    failed = answer("error", f'"errorMessage": "401 Unauthorized", {UNCOUNTED}')
    report = read(PiReader(), answer("toolUse", COUNTED) + failed + END)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.UNAUTHORIZED
    assert report.usage == Usage(input_tokens=5, output_tokens=2, cache_read_tokens=1, cache_write_tokens=0)
    assert (report.request_count, report.cost_usd) == (1, 0.5)


def test_a_failure_before_another_answer_was_overcome() -> None:
    failed = answer("error", f'"errorMessage": "overloaded", {UNCOUNTED}')
    assert read(PiReader(), failed + answer("stop", COUNTED) + END).failure is None


@pytest.mark.parametrize(
    ("stop_reason", "kind"),
    [("aborted", FailureKind.NO_RESULT), ("length", FailureKind.CONTEXT_OVERFLOW)],
)
def test_an_answer_that_was_cut_off_is_a_failure(stop_reason: str, kind: FailureKind) -> None:
    report = read(PiReader(), answer(stop_reason, COUNTED) + END)
    assert report.failure is not None
    assert report.failure.kind is kind


def test_an_answer_without_count_or_price_leaves_the_sums_unknown() -> None:
    report = read(PiReader(), answer("toolUse", COUNTED) + answer("stop", UNCOUNTED) + END)
    assert report.usage == NO_USAGE
    assert read(PiReader(), answer("toolUse", COUNTED) + answer("stop", '"usage": {}') + END).cost_usd is None


def launched(model: str, **asked: Any) -> Launch:
    return PiAgent().launch(an_attempt(an_agent_arm("pi", model=model), **asked), "/home/agent")


@pytest.mark.parametrize(
    ("model", "settings"),
    [
        ("anthropic/claude-sonnet-4-5", {"baseUrl": MODEL_ACCESS.base_url}),
        ("openai/gpt-5", {"baseUrl": f"{MODEL_ACCESS.base_url}/v1"}),
        ("google/gemini-2.5-pro", {"baseUrl": f"{MODEL_ACCESS.base_url}/v1beta"}),
        (
            "openrouter/qwen/qwen3",
            {"baseUrl": f"{MODEL_ACCESS.base_url}/v1", "api": "openai-completions", "models": [{"id": "qwen/qwen3"}]},
        ),
    ],
)
def test_the_provider_before_the_name_tells_how_the_gateway_is_spoken_to(model: str, settings: dict[str, Any]) -> None:
    provider = model.partition("/")[0]

    written = msgspec.json.decode(launched(model).files[".pi/agent/models.json"])

    assert written == {"providers": {provider: {**settings, "apiKey": MODEL_ACCESS.key}}}
    assert launched(model, model_access=None).files == {}


def test_the_prompt_comes_on_standard_input_and_is_never_taken_for_an_option() -> None:
    launch = launched("openai/gpt-5", instruction="--help")

    assert launch.stdin == b"--help"
    assert "--help" not in launch.arguments


def test_an_arm_with_tool_servers_is_refused() -> None:
    arm = an_agent_arm("pi", model="openai/gpt-5", mcp_servers={"zoo": McpServer(command=["zoo"])})

    assert PiAgent().missing(arm) == "arms.plain.mcp_servers: pi starts no tool servers; leave them out."


class TestPi(LiveAgent):
    model = "anthropic/claude-sonnet-4-5"

    def agent(self) -> CommandLineAgent:
        return PiAgent()
