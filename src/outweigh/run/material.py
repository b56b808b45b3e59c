"""What a store has kept of a run, as a judge sees it."""

from collections.abc import Callable

from outweigh.judge.brief import Material
from outweigh.judge.conversation import conversation_of_steps, conversation_of_trajectory
from outweigh.record.run_record import RunRecord

DIFF, TRAJECTORY = "diff.patch", "trajectory.json"
_OUTPUTS = ("transcript.txt", "stdout.txt")
"""What agents print, where nothing better was kept."""

Artifact = Callable[[str], bytes]
"""A kept content by its hash; EvidenceError where it is gone or damaged."""


def material_of(run: RunRecord, artifact: Artifact) -> Material:
    """Its end, its diff, its checks, and what the agent said and did, from the best that was kept."""
    diff = run.artifacts.get(DIFF)
    return Material(
        status=run.status,
        diff=_text(artifact(diff)) if diff is not None else _empty_diff(run),
        checks=run.checks,
        conversation=_conversation(run, artifact),
    )


def _empty_diff(run: RunRecord) -> str | None:
    """The engine keeps no empty artifacts: of a run that it made itself, a missing diff means that nothing changed.

    Only the engine counts the commands of checks. What another harness ran may have changed anything.
    """
    return "" if run.check_command_count is not None and run.setup_seconds is not None else None


def _conversation(run: RunRecord, artifact: Artifact) -> str | None:
    if TRAJECTORY in run.artifacts and (words := conversation_of_trajectory(artifact(run.artifacts[TRAJECTORY]))):
        return words
    for name in _OUTPUTS:
        if name in run.artifacts:
            return _text(artifact(run.artifacts[name]))
    return conversation_of_steps(run.steps) if run.steps else None


def _text(content: bytes) -> str:
    return content.decode(errors="backslashreplace")
