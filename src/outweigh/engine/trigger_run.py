"""Runs of trigger cases: they end at an answer of the model, which is no failure, and say which skills it asked for."""

from dataclasses import replace
from glob import has_magic
from threading import Event

from outweigh.model.actions import ACTION_OF_TOOL, Action, only_edits
from outweigh.model.failure import Status
from outweigh.model.run_record import TRAJECTORY_ARTIFACT
from outweigh.model.task import Task
from outweigh.model.usage import NO_USAGE, UNKNOWN_COST
from outweigh.ports.agents import AttemptOutcome
from outweigh.ports.gateways import AnswerLimit, MeteredCalls
from outweigh.transcript.tool_calls import used_skills

_NEVER_READ = (Action.SEARCH, Action.DELEGATE)
"""What tools do that name a SKILL.md without reading it."""


class EarlyStop(Event):
    """A signal that ends one agent, and is also set when everything is to end.

    `stop` ends the agent alone. `set` passes the signal on to `everything`, as it would without this one.
    """

    def __init__(self, everything: Event) -> None:
        super().__init__()
        self._everything = everything

    def stop(self) -> None:
        """End the agent: its run is decided."""
        super().set()

    def set(self) -> None:
        """End everything."""
        self._everything.set()

    def is_set(self) -> bool:
        """Whether the agent is to end, for either reason."""
        return super().is_set() or self._everything.is_set()

    @property
    def was_stopped(self) -> bool:
        """Whether the agent was to end because its run is decided."""
        return super().is_set()


def answer_limit(task: Task, stop: EarlyStop | None) -> AnswerLimit | None:
    """After how many answers a run of the task is over; None for an ordinary task."""
    return None if task.trigger is None or stop is None else AnswerLimit(answers=task.trigger.answers, stop=stop)


def ended_early(outcome: AttemptOutcome) -> AttemptOutcome:
    """The outcome of an agent that was stopped because its run is decided: a completed run, with no failure.

    What a stopped program reports is a part of what it did, so requests alone say what that was.
    """
    return replace(
        outcome,
        status=Status.COMPLETED,
        status_detail="stopped at an answer of the model, which decides a trigger case",
        failure=None,
        retry_after_seconds=None,
        usage=NO_USAGE,
        cost=UNKNOWN_COST,
        request_count=None,
        steps=None,
        step_count=None,
        tool_call_count=None,
        artifacts={name: content for name, content in outcome.artifacts.items() if name != TRAJECTORY_ARTIFACT},
    )


def asked_skills(account: MeteredCalls | None) -> tuple[str, ...] | None:
    """The skills that the model asked for, in the order of its calls; None where its requests do not show that."""
    if account is None or account.conversation is None or account.conversation.tool_calls is None:
        return None
    steps = account.conversation.steps
    tools = {call.function_name for step in steps for call in step.tool_calls or ()}
    reading = frozenset(tool for tool in tools if not only_edits(tool) and ACTION_OF_TOOL.get(tool) not in _NEVER_READ)
    # A pattern such as `skills/*/SKILL.md` names none of them.
    return tuple(name for name in used_skills(steps, reading) if not has_magic(name))
