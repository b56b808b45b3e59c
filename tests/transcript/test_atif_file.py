"""Trajectories as files: complete when written, checked when read."""

from dataclasses import replace
from typing import Any

import msgspec
import pytest

from outweigh.errors import EvidenceError
from outweigh.model.failure import FailureKind, make_failure
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import (
    AtifMetrics,
    AtifObservation,
    AtifResult,
    AtifStep,
    AtifToolCall,
    metrics_from_usage,
    usage_from_metrics,
)
from outweigh.transcript.trajectory_file import read_trajectory, trajectory_json

USAGE = Usage(input_tokens=10, output_tokens=5, cache_read_tokens=200, cache_write_tokens=30)
CALLED = AtifStep(
    step_id=1,
    source="agent",
    message="I look.",
    timestamp="2026-01-01T00:00:00.000Z",
    model_name="m",
    tool_calls=(AtifToolCall(tool_call_id="c1", function_name="Bash", arguments={"command": "ls"}),),
    observation=AtifObservation(results=(AtifResult(source_call_id="c1", content="a"),)),
    metrics=metrics_from_usage(USAGE),
)


def report(**fields: Any) -> AgentReport:
    blank = AgentReport(
        version="1.2",
        model="m",
        session_id="s",
        usage=USAGE,
        usage_by_model={},
        cost_usd=0.25,
        duration_seconds=None,
        step_count=None,
        tool_call_count=None,
        request_count=None,
        finished=True,
        failure=None,
        final_text=None,
        steps=(CALLED,),
        loaded=None,
        warnings=(),
    )
    return replace(blank, **fields)


def document(**fields: Any) -> dict[str, Any]:
    written: dict[str, Any] = msgspec.json.decode(trajectory_json(report(**fields), "some-agent"))
    return written


def test_a_trajectory_names_its_agent_and_its_version_of_the_format() -> None:
    written = document()

    assert written["schema_version"] == "ATIF-v1.8"
    assert written["agent"] == {"name": "some-agent", "version": "1.2", "model_name": "m"}
    assert written["session_id"] == "s"
    assert document(version=None)["agent"]["version"] == "unknown"


def test_the_prompt_includes_the_cache() -> None:
    written = document()

    assert written["steps"][0]["metrics"] == {
        "prompt_tokens": 240,
        "completion_tokens": 5,
        "cached_tokens": 200,
        "extra": {"cache_creation_input_tokens": 30},
    }
    assert written["final_metrics"] == {
        "total_prompt_tokens": 240,
        "total_completion_tokens": 5,
        "total_cached_tokens": 200,
        "total_cost_usd": 0.25,
        "total_steps": 1,
        "extra": {
            "total_cache_creation_input_tokens": 30,
            "total_cache_read_input_tokens": 200,
            "cost_source": "reported",
        },
    }


def test_what_is_unknown_is_left_out_not_zero() -> None:
    assert document(usage=NO_USAGE, cost_usd=None)["final_metrics"] == {"total_steps": 1}
    partly = msgspec.structs.replace(USAGE, cache_write_tokens=None)
    assert "total_prompt_tokens" not in document(usage=partly)["final_metrics"]


def test_steps_are_numbered_from_one_and_warnings_are_its_notes() -> None:
    written = document(steps=(CALLED, msgspec.structs.replace(CALLED, step_id=7)), warnings=("Careful.", "Really."))

    assert [step["step_id"] for step in written["steps"]] == [1, 2]
    assert written["notes"] == "Careful.\nReally."


def test_a_clock_that_writes_nonsense_does_not_make_the_file_invalid() -> None:
    (step,) = document(steps=(msgspec.structs.replace(CALLED, timestamp="noon"),))["steps"]

    assert "timestamp" not in step


@pytest.mark.parametrize(
    ("fields", "source", "message"),
    [
        ({"final_text": "All done."}, "agent", "All done."),
        ({"failure": make_failure(FailureKind.CRASH, "It broke.")}, "system", "It broke."),
        ({}, "system", "The agent did not show any step."),
    ],
)
def test_a_run_without_steps_has_one_that_says_what_is_known(fields: dict[str, Any], source: str, message: str) -> None:
    (step,) = document(steps=(), **fields)["steps"]

    assert (step["source"], step["message"]) == (source, message)
    assert read_trajectory(trajectory_json(report(steps=(), **fields), "a")).steps


def test_what_was_written_is_read_again() -> None:
    read = read_trajectory(trajectory_json(report(), "some-agent"))

    assert read.steps == (CALLED,)
    assert trajectory_json(report(), "some-agent") == msgspec.json.encode(read)


def test_the_input_of_a_tool_keeps_the_order_in_which_the_model_wrote_it() -> None:
    call = AtifToolCall(tool_call_id="1", function_name="Write", arguments={"path": "a", "content": "b"})
    step = AtifStep(step_id=1, source="agent", message="", tool_calls=(call,))

    assert b'{"path":"a","content":"b"}' in trajectory_json(report(steps=(step,)), "some-agent")


class TestReading:
    def refused(self, **fields: Any) -> str:
        content = msgspec.json.encode({**document(), **fields})
        with pytest.raises(EvidenceError) as refusal:
            read_trajectory(content, "run/trajectory.json")
        return str(refusal.value)

    def test_refuses_what_is_no_trajectory_and_says_where(self) -> None:
        assert self.refused(steps="many").startswith(
            "run/trajectory.json is not a trajectory in the ATIF format: Expected"
        )
        assert "unknown field `thoughts`" in self.refused(thoughts=1)
        for content in (b"", b"{", b"[]", b"\xff", b"[" * 100_000):
            with pytest.raises(EvidenceError):
                read_trajectory(content)

    def test_takes_every_version_so_far_and_none_beyond(self) -> None:
        for minor in range(9):
            read_trajectory(msgspec.json.encode({**document(), "schema_version": f"ATIF-v1.{minor}"}))
        for version in ("ATIF-v1.9", "ATIF-v2.0", "1.8"):
            assert f"has the version {version!r}" in self.refused(schema_version=version)

    def test_refuses_a_trajectory_without_steps(self) -> None:
        assert "there is no step" in self.refused(steps=[])

    def test_refuses_gaps_in_the_numbers(self) -> None:
        steps = [{**document()["steps"][0], "step_id": 2}]

        assert "step 1 has the id 2" in self.refused(steps=steps)

    def test_refuses_a_result_of_a_call_that_the_step_does_not_make(self) -> None:
        step = {**document()["steps"][0], "observation": {"results": [{"source_call_id": "c9"}]}}

        assert "step 1 has a result of the call 'c9', which it does not make" in self.refused(steps=[step])

    def test_refuses_a_user_with_tools(self) -> None:
        step = {**document()["steps"][0], "source": "user"}

        assert "is a user's and has model_name, tool_calls, metrics" in self.refused(steps=[step])

    def test_refuses_a_moment_that_is_none(self) -> None:
        step = {**document()["steps"][0], "timestamp": "noon"}

        assert "timestamp 'noon', which is not ISO 8601" in self.refused(steps=[step])


class TestTokens:
    def test_survive_the_way_to_a_trajectory_and_back(self) -> None:
        assert usage_from_metrics(metrics_from_usage(USAGE)) == USAGE

    def test_not_read_from_a_cache_are_input_where_nobody_speaks_of_writing(self) -> None:
        usage = usage_from_metrics(AtifMetrics(prompt_tokens=100, completion_tokens=1, cached_tokens=40))

        assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (60, 40, None)

    def test_that_do_not_add_up_are_unknown(self) -> None:
        assert usage_from_metrics(AtifMetrics(prompt_tokens=10, cached_tokens=40)).input_tokens is None
        assert usage_from_metrics(AtifMetrics()) == NO_USAGE
