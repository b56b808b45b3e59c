"""What an agent said and did, as a judge reads it."""

from typing import Any

from outweigh.judging.material import conversation_of_steps, conversation_of_trajectory
from outweigh.model.run_record import Step, StepSource, ToolCall
from outweigh.model.usage import NO_USAGE
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifObservation, AtifResult, AtifStep, AtifToolCall
from outweigh.transcript.trajectory_file import trajectory_json

STEPS = (
    AtifStep(step_id=1, source="system", message="You have the skill pdf-forms."),
    AtifStep(step_id=2, source="user", message="Mend it. Think hard, says the arm."),
    AtifStep(
        step_id=3,
        source="agent",
        message="I will look.",
        tool_calls=(AtifToolCall(tool_call_id="1", function_name="Bash", arguments={"command": "cat x.py"}),),
        observation=AtifObservation(results=(AtifResult(source_call_id="1", content="x = 1" * 1000),)),
    ),
    AtifStep(step_id=4, source="agent", message="Done."),
)


def a_trajectory(steps: tuple[AtifStep, ...] = STEPS) -> bytes:
    blank: dict[str, Any] = dict.fromkeys(AgentReport.__slots__)
    report = AgentReport(**(blank | {"usage": NO_USAGE, "steps": steps, "warnings": ()}))
    return trajectory_json(report, "agent")


def test_the_agents_own_steps_are_there_and_its_set_up_is_not() -> None:
    text = conversation_of_trajectory(a_trajectory()) or ""

    assert text.startswith('I will look.\n→ Bash {"command":"cat x.py"}\n← x = 1')
    assert text.endswith("Done.")
    assert "pdf-forms" not in text
    assert "says the arm" not in text


def test_a_long_result_of_a_tool_is_shortened() -> None:
    text = conversation_of_trajectory(a_trajectory()) or ""

    assert "[… 3,000 characters left out …]" in text


def test_an_unreadable_trajectory_has_no_conversation() -> None:
    assert conversation_of_trajectory(b"{") is None


def test_the_steps_of_a_record_are_used_where_no_trajectory_was_stored() -> None:
    def step(index: int, source: StepSource, message: str | None, *tools: str) -> Step:
        calls = tuple(ToolCall(name=tool, succeeded=None) for tool in tools)
        return Step(
            index=index,
            source=source,
            message=message,
            tool_calls=calls,
            usage=None,
            cost_usd=None,
            duration_seconds=None,
        )

    steps = [
        step(0, StepSource.USER, "Mend it."),
        step(1, StepSource.AGENT, "Looking.", "Read"),
        step(2, StepSource.AGENT, None, "Edit"),
    ]

    assert conversation_of_steps(steps) == "Looking.\n→ Read\n\n→ Edit"
