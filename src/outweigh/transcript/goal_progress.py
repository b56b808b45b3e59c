"""Which expected steps of a task a trajectory reached, and how much of it served the goal.

Where a task does not say what to look for, or an agent does not show its actions, the answer is None, not 0 or 1.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from fnmatch import fnmatchcase

from outweigh.model.actions import Action, ActionPattern, Globs
from outweigh.model.run_record import AlignedAction
from outweigh.model.task import ExpectedStep
from outweigh.model.untrusted_json import as_name
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import AtifStep
from outweigh.transcript.tool_calls import NormalizedCall, normalized_calls

_TEXT_LIMIT = 10_000
"""How many characters of a command or path are matched."""

_SEPARATORS = re.compile(r"&&|\|\||[;|\n]")


def _matches_pattern(call: NormalizedCall, pattern: ActionPattern) -> bool:
    """Whether a call matches everything that the pattern states."""
    return (
        (pattern.action is None or call.action is pattern.action)
        and _matches_glob(pattern.tool, (call.tool,))
        and _matches_glob(pattern.command, (part for command in call.commands for part in _command_parts(command)))
        and _matches_glob(pattern.path, (end for path in call.paths for end in _path_ends(path)))
    )


def _matches_glob(globs: Globs | None, texts: Iterable[str]) -> bool:
    if globs is None:
        return True
    patterns = [globs] if isinstance(globs, str) else globs
    return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)


def _command_parts(command: str) -> Iterator[str]:
    """The whole line, and each command in it."""
    text = command[:_TEXT_LIMIT].strip()
    yield text
    yield from (part.strip() for part in _SEPARATORS.split(text))


def _path_ends(path: str) -> Iterator[str]:
    """The path and all its tails, because agents name the same file from different folders."""
    text = path[:_TEXT_LIMIT].removeprefix("./")
    yield text
    names = text.split("/")
    yield from ("/".join(names[first:]) for first in range(1, len(names)))


def shown_steps(report: AgentReport) -> tuple[AtifStep, ...] | None:
    """The trajectory of an agent that shows its tool calls; None where it does not."""
    return None if report.tool_call_count is None else report.steps


def reached_steps(expected: Sequence[ExpectedStep], steps: Sequence[AtifStep] | None) -> frozenset[str] | None:
    """The names of the expected steps that the actions reached; None where that cannot be known.

    A failed call reaches nothing, except one that ran a command: a failing test has been run nevertheless.
    """
    if steps is None or not any(step.reached_by for step in expected):
        return None
    counted = [call for call in normalized_calls(steps) if call.succeeded is not False or call.action is Action.RUN]
    return frozenset(step.name for step in expected if any(_matches_any(call, step.reached_by) for call in counted))


def aligned_actions(
    goal_actions: Sequence[ActionPattern], expected: Sequence[ExpectedStep], steps: Sequence[AtifStep] | None
) -> tuple[AlignedAction, ...] | None:
    """The actions with their alignment, which is 1 for those that serve the goal or reach a step, and 0 for others.

    Equal actions are one entry whose weight is their number, so that the weighted mean is the share of all actions.
    None where the task does not describe actions that serve its goal, and where no action was seen.
    """
    if steps is None or not goal_actions:
        return None
    serving = [*goal_actions, *(pattern for step in expected for pattern in step.reached_by)]
    counted = Counter(
        (as_name(call.tool) or "unnamed", _matches_any(call, serving)) for call in normalized_calls(steps)
    )
    if not counted:
        return None
    return tuple(
        AlignedAction(name=tool, alignment=1.0 if serves else 0.0, weight=float(times))
        for (tool, serves), times in sorted(counted.items())
    )


def _matches_any(call: NormalizedCall, patterns: Sequence[ActionPattern]) -> bool:
    return any(_matches_pattern(call, pattern) for pattern in patterns)
