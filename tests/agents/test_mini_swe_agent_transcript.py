import json
from typing import Any

import pytest
from tests.agents.transcript_samples import calls, read, sample

from outweigh.agents.mini_swe_agent.trajectory import MiniSweAgentReader
from outweigh.model.failure import FailureKind
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport


def trajectory(name: str) -> AgentReport:
    return read(MiniSweAgentReader(), sample(f"mini-swe-agent/{name}.json"))


def test_the_answers_of_a_chat_model_are_summed_without_cache() -> None:
    report = trajectory("chat")
    usage = Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=0)
    assert report.usage == usage
    assert report.usage_by_model == {"openai/fake-model": usage}
    assert (report.version, report.model) == ("2.4.6", "openai/fake-model")
    assert (report.request_count, report.step_count, report.tool_call_count) == (2, 2, 2)
    assert report.finished
    assert report.failure is None
    assert [step.source for step in report.steps] == ["system", "user", "agent", "agent"]


def test_a_cost_of_zero_is_unknown_because_it_means_that_no_price_is_known() -> None:
    assert trajectory("chat").cost_usd is None


def test_what_is_written_to_the_cache_is_no_ordinary_input() -> None:
    report = trajectory("anthropic")
    assert report.usage == Usage(input_tokens=201, output_tokens=80, cache_read_tokens=5000, cache_write_tokens=5300)
    assert report.cost_usd == pytest.approx(0.023178)
    assert report.model == "anthropic/claude-sonnet-4-5-20250929"
    assert report.final_text == "I will write the file."
    assert report.steps[2].metrics is not None
    assert (report.steps[2].metrics.prompt_tokens, report.steps[2].metrics.cost_usd) == (5100, 0.019950000000000002)


def test_a_cost_that_may_miss_requests_carries_a_warning() -> None:
    document = json.loads(sample("mini-swe-agent/anthropic.json"))
    document["info"]["config"]["model"]["cost_tracking"] = "ignore_errors"
    report = read(MiniSweAgentReader(), json.dumps(document).encode())
    assert report.warnings == ("mini-swe-agent ignores requests that it cannot price, so its cost may be too low",)


def test_the_command_that_submits_is_a_call_of_unknown_outcome() -> None:
    assert calls(trajectory("chat")) == [("bash", False), ("bash", None)]


def test_a_command_that_failed_is_told_by_its_return_code() -> None:
    report = trajectory("tool-failed")
    assert calls(report) == [("bash", True), ("bash", None)]
    assert report.failure is None


def test_the_answers_of_a_responses_model_are_read_too() -> None:
    report = trajectory("responses-api")
    assert report.usage == Usage(input_tokens=1200, output_tokens=80, cache_read_tokens=900, cache_write_tokens=0)
    assert calls(report) == [("bash", False), ("bash", None)]
    assert report.steps[2].reasoning_content == "I should write it"
    assert report.finished


def test_answers_that_could_not_be_used_were_paid_for() -> None:
    report = trajectory("format-errors")
    assert report.usage == Usage(input_tokens=3000, output_tokens=180, cache_read_tokens=0, cache_write_tokens=0)
    assert (report.request_count, report.step_count, report.tool_call_count) == (3, 3, 0)
    assert report.failure is not None
    assert report.failure.kind is FailureKind.NO_RESULT
    assert report.finished


@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("fail400", FailureKind.CONTEXT_OVERFLOW),
        ("fail401", FailureKind.UNAUTHORIZED),
        ("fail404", FailureKind.UNKNOWN_MODEL),
        ("fail429", FailureKind.RATE_LIMITED),
        ("fail500", FailureKind.SERVER_ERROR),
        ("refused", FailureKind.CONNECTION_REFUSED),
        ("no-price", FailureKind.UNKNOWN_MODEL),
    ],
)
def test_an_exception_that_ended_the_run_is_its_failure(name: str, kind: FailureKind) -> None:
    report = trajectory(name)
    assert report.failure is not None
    assert report.failure.kind is kind
    assert report.finished
    assert report.usage == NO_USAGE
    assert report.step_count == 0


def test_the_limit_of_steps_is_told_from_the_limit_of_dollars() -> None:
    document: dict[str, Any] = json.loads(sample("mini-swe-agent/step-limit.json"))
    by_steps = read(MiniSweAgentReader(), json.dumps(document).encode())
    document["info"]["config"]["agent"]["step_limit"] = 0
    by_dollars = read(MiniSweAgentReader(), json.dumps(document).encode())
    assert by_steps.failure is not None
    assert by_steps.failure.kind is FailureKind.TURN_LIMIT
    assert by_steps.usage == Usage(input_tokens=1000, output_tokens=60, cache_read_tokens=0, cache_write_tokens=0)
    assert by_dollars.failure is not None
    assert by_dollars.failure.kind is FailureKind.BUDGET_REACHED


@pytest.mark.parametrize(
    ("status", "words", "kind"),
    [
        ("TimeExceeded", "TimeExceeded", FailureKind.TIMEOUT),
        ("RuntimeError", "Global cost/call limit exceeded: $5.0000 / 7", FailureKind.BUDGET_REACHED),
        ("ValueError", "something unforeseen", FailureKind.CRASH),
    ],
)
def test_other_ways_to_end(status: str, words: str, kind: FailureKind) -> None:
    document = {"info": {"exit_status": status}, "messages": [{"role": "exit", "content": words}]}
    report = read(MiniSweAgentReader(), json.dumps(document).encode())
    assert report.failure is not None
    assert report.failure.kind is kind


def test_a_file_written_in_the_middle_of_a_run_is_no_finished_run() -> None:
    document = json.loads(sample("mini-swe-agent/chat.json"))
    document["info"]["exit_status"] = ""
    document["messages"] = document["messages"][:4]
    report = read(MiniSweAgentReader(), json.dumps(document).encode())
    assert not report.finished
    assert report.failure is not None
    assert report.failure.kind is FailureKind.NO_RESULT
    assert report.usage == Usage(input_tokens=1000, output_tokens=60, cache_read_tokens=0, cache_write_tokens=0)


def test_an_answer_without_usage_makes_the_sum_unknown() -> None:
    document = json.loads(sample("mini-swe-agent/chat.json"))
    del document["messages"][2]["extra"]["response"]["usage"]
    report = read(MiniSweAgentReader(), json.dumps(document).encode())
    assert report.usage == NO_USAGE
    assert report.request_count == 2


def test_the_older_format_with_commands_in_its_text_is_read() -> None:
    document = {
        "info": {
            "exit_status": "Submitted",
            "submission": "diff",
            "model_stats": {"instance_cost": 0.5, "api_calls": 1},
            "mini_version": "1.17.0",
        },
        "messages": [
            {"role": "system", "content": "You are helpful"},
            {"role": "user", "content": "Solve it"},
            {
                "role": "assistant",
                "content": "Look first.\n\n```bash\nls -la\n```",
                "extra": {"response": {"model": "m", "usage": {"prompt_tokens": 50, "completion_tokens": 5}}},
            },
            {"role": "user", "content": "<returncode>2</returncode>\n<output>\nnothing</output>"},
        ],
        "trajectory_format": "mini-swe-agent-1",
    }
    report = read(MiniSweAgentReader(), json.dumps(document).encode())
    assert calls(report) == [("bash", True)]
    assert report.steps[2].tool_calls is not None
    assert report.steps[2].tool_calls[0].arguments == {"command": "ls -la"}
    assert report.usage == Usage(input_tokens=50, output_tokens=5, cache_read_tokens=0, cache_write_tokens=0)
    assert (report.cost_usd, report.version, report.final_text) == (0.5, "1.17.0", "diff")
