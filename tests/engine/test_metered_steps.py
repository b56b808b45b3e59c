"""What requests show of a run fills in what its agent does not report, and nothing else."""

from dataclasses import replace
from typing import Any

import msgspec
from tests.engine.model_calls import a_call, an_account, tokens

from outweigh.engine.finish import finish_attempt
from outweigh.engine.metered_steps import fill_steps, metered_trajectory
from outweigh.engine.run_draft import RunDraft
from outweigh.engine.setup_check import ExpectedSetup, expected_setup
from outweigh.engine.trial_plan import PlannedRun
from outweigh.model.actions import ActionPattern
from outweigh.model.arm import bare_arm
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentIdentity, AgentKind, Trial
from outweigh.model.task import ExpectedStep, task_of_instruction
from outweigh.ports.agents import AttemptOutcome, build_outcome
from outweigh.ports.gateways import MeteredSteps
from outweigh.transcript.atif import AtifStep, AtifToolCall

WHO = AgentIdentity(kind=AgentKind.REAL, name="shell", version=None, model="model-1")
CALL = AtifToolCall(tool_call_id="1", function_name="bash", arguments={"command": "pytest -q"})
SEEN = MeteredSteps(
    count=1, tool_calls=1, steps=(AtifStep(step_id=1, source="agent", message="I test.", tool_calls=(CALL,)),)
)


def said(**known: Any) -> AttemptOutcome:
    return build_outcome(WHO, Status.COMPLETED, None, **known)


def a_draft(outcome: AttemptOutcome, **artifacts: bytes) -> RunDraft:
    trial = Trial(task_id="task-1", arm="arm", repeat=1, seed=0)
    return RunDraft(
        planned=PlannedRun(trial=trial, block=1, position=1),
        number=1,
        task=task_of_instruction("task-1", "Do it."),
        arm=bare_arm("arm", "shell", "model-1"),
        started_at=None,
        outcome=outcome,
        account=replace(an_account(a_call()), conversation=SEEN),
        artifacts={f"{name}.json": content for name, content in artifacts.items()},
    )


def nothing_expected() -> ExpectedSetup:
    return expected_setup({}, {})


def test_an_agent_that_reports_nothing_gets_all_of_it() -> None:
    filled = fill_steps(said(), SEEN, task_of_instruction("task-1", "Do it."))

    assert (filled.step_count, filled.tool_call_count) == (1, 1)
    assert [step.message for step in filled.steps or ()] == ["I test."]


def test_what_an_agent_reports_stays() -> None:
    filled = fill_steps(said(step_count=7, tool_call_count=5, steps=()), SEEN, task_of_instruction("task-1", "Do it."))

    assert (filled.step_count, filled.tool_call_count, filled.steps) == (7, 5, ())


def test_an_expected_step_is_reached_by_a_call_that_only_the_gateway_saw() -> None:
    tested = ExpectedStep(name="tested", weight=1.0, reached_by=[ActionPattern(command="pytest*")])
    task = msgspec.structs.replace(task_of_instruction("task-1", "Do it."), expected_steps=(tested,))

    assert fill_steps(said(), SEEN, task).reached_steps == frozenset({"tested"})
    assert fill_steps(said(reached_steps=frozenset()), SEEN, task).reached_steps == frozenset()


def test_without_a_complete_response_steps_stay_unknown() -> None:
    assert fill_steps(said(), None, task_of_instruction("task-1", "Do it.")) == said()


def test_a_run_that_used_a_model_around_the_gateway_has_unknown_steps() -> None:
    draft = a_draft(said(usage=tokens(100_000, 10_000)))

    finish_attempt(draft, nothing_expected())

    assert draft.outcome is not None
    assert draft.outcome.step_count is None


def test_a_trajectory_is_added_only_where_the_agent_has_none() -> None:
    assert metered_trajectory(a_draft(said(), trajectory=b"{}")) == {}
    assert list(metered_trajectory(a_draft(said()))) == ["trajectory.json"]
