"""Steps, tool calls and a trajectory of agents that report none, from the requests that passed through the gateway."""

from dataclasses import replace

from outweigh.engine.run_draft import RunDraft
from outweigh.model.run_record import TRAJECTORY_ARTIFACT
from outweigh.model.task import Task
from outweigh.ports.agents import AttemptOutcome
from outweigh.ports.gateways import MeteredSteps
from outweigh.transcript.atif import ATIF_VERSION, AtifAgent, AtifTrajectory
from outweigh.transcript.goal_progress import aligned_actions, reached_steps
from outweigh.transcript.record_steps import record_steps
from outweigh.transcript.trajectory_file import UNKNOWN_VERSION, encode_trajectory

NOTE = "The agent reports no steps; these are its model's responses as they passed through the gateway."


def fill_steps(outcome: AttemptOutcome, seen: MeteredSteps | None, task: Task) -> AttemptOutcome:
    """The outcome with what requests show wherever the agent itself reports nothing."""
    if seen is None:
        return outcome
    calls = seen.tool_calls
    shown = None if calls is None else seen.steps
    reached, actions = outcome.reached_steps, outcome.actions
    if outcome.steps is None:
        reached = reached_steps(task.expected_steps, shown) if reached is None else reached
        actions = aligned_actions(task.goal_actions, task.expected_steps, shown) if actions is None else actions
    return replace(
        outcome,
        step_count=seen.count if outcome.step_count is None else outcome.step_count,
        tool_call_count=calls if outcome.tool_call_count is None else outcome.tool_call_count,
        steps=record_steps(seen.steps) if outcome.steps is None else outcome.steps,
        reached_steps=reached,
        actions=actions,
    )


def metered_trajectory(draft: RunDraft) -> dict[str, bytes]:
    """The trajectory as an artifact; empty where the agent has its own, or no response was complete."""
    seen = None if draft.account is None else draft.account.conversation
    if seen is None or not seen.steps or draft.artifacts.get(TRAJECTORY_ARTIFACT) or draft.outcome is None:
        return {}
    agent = draft.outcome.agent
    trajectory = AtifTrajectory(
        schema_version=ATIF_VERSION,
        session_id=draft.run_id,
        agent=AtifAgent(name=agent.name or "", version=agent.version or UNKNOWN_VERSION, model_name=agent.model),
        steps=seen.steps,
        notes=NOTE,
    )
    return {TRAJECTORY_ARTIFACT: encode_trajectory(trajectory)}
