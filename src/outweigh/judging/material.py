"""What a judge is told about a task (`TaskMaterial`) and about a run (`RunMaterial`).

The material of a run is read from what a store has kept of it: diff, checks, trajectory or output.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.failure import Status
from outweigh.model.rubric import Rubric
from outweigh.model.run_record import (
    DIFF_ARTIFACT,
    STDOUT_ARTIFACT,
    TRAJECTORY_ARTIFACT,
    TRANSCRIPT_ARTIFACT,
    ArtifactReader,
    CheckResult,
    RunRecord,
    Step,
    StepSource,
    changed_nothing,
)
from outweigh.transcript.atif import AtifResult, AtifStep, AtifToolCall, content_text
from outweigh.transcript.trajectory_file import read_trajectory


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskMaterial:
    """The task: instruction, rubric, check results before any work, and a solution if judges may see it.

    `identifying_names` would tell a judge which arm it sees; they are withheld.
    """

    instruction: str
    rubric: Rubric
    checks_before: tuple[CheckResult, ...] | None
    solution: str | None
    identifying_names: tuple[str, ...]

    @property
    def rubric_sha256(self) -> str:
        """The rubric's hash, together with the solution where judges see one: it changes the question."""
        if self.solution is None:
            return self.rubric.sha256
        return sha256(f"{self.rubric.sha256}\n{self.solution}".encode(errors="backslashreplace")).hexdigest()


@dataclass(frozen=True, slots=True, kw_only=True)
class RunMaterial:
    """The run: its status, diff, check results and conversation. None where something was not stored."""

    status: Status
    diff: str | None
    checks: tuple[CheckResult, ...] | None
    conversation: str | None


_RESULT_LIMIT = 2_000
_CALL_LIMIT = 2_000


def conversation_of_trajectory(content: bytes) -> str | None:
    """The agent's steps of a stored trajectory; None where it cannot be read.

    System and user steps are left out: they hold the arm's own instructions and would identify it.
    """
    try:
        steps = read_trajectory(content).steps
    except EvidenceError:
        return None
    return "\n\n".join("\n".join(_step(step)) for step in steps if step.source == "agent")


def conversation_of_steps(steps: Iterable[Step]) -> str:
    """The agent's steps of a record, where no trajectory or output was stored."""
    own = (step for step in steps if step.source is StepSource.AGENT)
    return "\n\n".join("\n".join(filter(None, (step.message, *_names(step)))) for step in own)


def _step(step: AtifStep) -> Iterator[str]:
    if message := content_text(step.message).strip():
        yield message
    for call in step.tool_calls or ():
        yield f"→ {call.function_name} {_shortened(_arguments(call), _CALL_LIMIT)}"
    for result in () if step.observation is None else step.observation.results:
        yield f"← {_shortened(_result(result), _RESULT_LIMIT)}"


def _arguments(call: AtifToolCall) -> str:
    return msgspec.json.encode(call.arguments, order="sorted").decode()


def _result(result: AtifResult) -> str:
    return "" if result.content is None else content_text(result.content).strip()


def _names(step: Step) -> Iterator[str]:
    yield from (f"→ {call.name}" for call in step.tool_calls)


def _shortened(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} [… {len(text) - limit:,} characters left out …]"


_OUTPUT_ARTIFACTS = (TRANSCRIPT_ARTIFACT, STDOUT_ARTIFACT)
"""The agent's output, where no trajectory was stored."""


def load_run_material(run: RunRecord, artifact: ArtifactReader) -> RunMaterial:
    """Read status, diff, checks and conversation, the latter from the best artifact there is."""
    return RunMaterial(
        status=run.status,
        diff=_diff(run, artifact),
        checks=run.checks,
        conversation=_conversation(run, artifact),
    )


def _diff(run: RunRecord, artifact: ArtifactReader) -> str | None:
    if DIFF_ARTIFACT in run.artifacts:
        return _text(artifact(run.artifacts[DIFF_ARTIFACT]))
    return "" if changed_nothing(run) else None


def _conversation(run: RunRecord, artifact: ArtifactReader) -> str | None:
    if TRAJECTORY_ARTIFACT in run.artifacts and (
        words := conversation_of_trajectory(artifact(run.artifacts[TRAJECTORY_ARTIFACT]))
    ):
        return words
    for name in _OUTPUT_ARTIFACTS:
        if name in run.artifacts:
            return _text(artifact(run.artifacts[name]))
    return conversation_of_steps(run.steps) if run.steps else None


def _text(content: bytes) -> str:
    return content.decode(errors="backslashreplace")
