"""What a store has kept of a run, as a judge sees it."""

from collections.abc import Callable

from outweigh.judge.brief import Material
from outweigh.judge.conversation import conversation_of_steps, conversation_of_trajectory
from outweigh.record.kept_diff import DIFF, changed_nothing
from outweigh.record.run_record import RunRecord

TRAJECTORY = "trajectory.json"
_OUTPUTS = ("transcript.txt", "stdout.txt")
"""What agents print, where nothing better was kept."""

Artifact = Callable[[str], bytes]
"""A kept content by its hash; EvidenceError where it is gone or damaged."""


def material_of(run: RunRecord, artifact: Artifact) -> Material:
    """Its end, its diff, its checks, and what the agent said and did, from the best that was kept."""
    return Material(
        status=run.status,
        diff=_diff(run, artifact),
        checks=run.checks,
        conversation=_conversation(run, artifact),
    )


def _diff(run: RunRecord, artifact: Artifact) -> str | None:
    if DIFF in run.artifacts:
        return _text(artifact(run.artifacts[DIFF]))
    return "" if changed_nothing(run) else None


def _conversation(run: RunRecord, artifact: Artifact) -> str | None:
    if TRAJECTORY in run.artifacts and (words := conversation_of_trajectory(artifact(run.artifacts[TRAJECTORY]))):
        return words
    for name in _OUTPUTS:
        if name in run.artifacts:
            return _text(artifact(run.artifacts[name]))
    return conversation_of_steps(run.steps) if run.steps else None


def _text(content: bytes) -> str:
    return content.decode(errors="backslashreplace")
