"""An agent that repeats recorded runs: their numbers, and their changes to the workspace where the diff was kept.

Options: `runs` is a `.jsonl` file of records; `arm` names the recorded arm, if it is not called like this one;
`artifacts` is the folder with what was kept beside the records (`artifacts` beside `runs` unless stated).
"""

from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path, PurePosixPath
from threading import Lock

import msgspec

from outweigh.agents.noop import OfflineAgent
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.arm import Arm
from outweigh.model.base import Spec
from outweigh.model.codec import decode_lines, refuse_invalid
from outweigh.model.failure import Status
from outweigh.model.run_record import DIFF_ARTIFACT, AgentIdentity, AgentKind, RunRecord
from outweigh.model.source_document import convert_options
from outweigh.ports.agents import AttemptOutcome, AttemptRequest, build_outcome
from outweigh.ports.sandboxes import CommandEnding, Sandbox

RecordedRuns = Mapping[tuple[str, str, int], RunRecord]


class ReplayOptions(Spec, frozen=True, kw_only=True):
    """Where the recorded runs are."""

    runs: str
    arm: str | None = None
    artifacts: str | None = None


class ReplayAgent(OfflineAgent):
    """Replays recorded runs. One object serves all trials; a file of records is read once."""

    name = "replay"

    def __init__(self) -> None:
        self._recorded: dict[str, RecordedRuns] = {}
        self._lock = Lock()

    def missing(self, arm: Arm) -> str | None:
        """Why the recorded runs cannot be read; None when they can."""
        try:
            self._read(_options(arm).runs)
        except (UsageError, EvidenceError) as error:
            return str(error)
        return None

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Find the run of the same task, arm and repeat, and repeat its changes."""
        try:
            options = _options(request.arm)
            recorded = self._read(options.runs)
        except (UsageError, EvidenceError) as error:
            return build_outcome(_unknown_identity(request), Status.INFRA_ERROR, str(error))
        trial = request.trial
        run = recorded.get((trial.task_id, options.arm or trial.arm, trial.repeat))
        if run is None:
            where = f"{trial.task_id}/{options.arm or trial.arm}/{trial.repeat}"
            return build_outcome(
                _unknown_identity(request), Status.NOT_RUN, f"{options.runs} has no run {where} to replay"
            )
        return _as_recorded(run, _redo(run, options, sandbox, request.timeout_seconds))

    def _read(self, path: str) -> RecordedRuns:
        with self._lock:
            if path not in self._recorded:
                self._recorded[path] = _records(path)
            return self._recorded[path]


def _options(arm: Arm) -> ReplayOptions:
    return convert_options(arm.options, ReplayOptions, ("arms", arm.name, "options"))


def _records(path: str) -> RecordedRuns:
    """The last attempt at every trial, which is the one that counts."""
    found: dict[tuple[str, str, int], RunRecord] = {}
    try:
        with Path(path).open("rb") as lines:
            for record, _, _ in decode_lines(lines, path, refuse_invalid):
                if isinstance(record, RunRecord):
                    place = (record.trial.task_id, record.trial.arm, record.trial.repeat)
                    if place not in found or found[place].attempt < record.attempt:
                        found[place] = record
    except OSError as fault:
        raise UsageError(f"the runs {path} cannot be read: {fault.strerror}. Name them with options.runs.") from None
    return found


def _redo(run: RunRecord, options: ReplayOptions, sandbox: Sandbox, timeout_seconds: float) -> str | None:
    """Apply the recorded changes; returns why only the numbers are replayed, None when the changes were."""
    if DIFF_ARTIFACT not in run.artifacts:
        return f"only its numbers are replayed: the recorded run kept no {DIFF_ARTIFACT}"
    patch = _artifact(options, run.artifacts[DIFF_ARTIFACT])
    if patch is None:
        digest = run.artifacts[DIFF_ARTIFACT][:12]
        return f"only its numbers are replayed: {DIFF_ARTIFACT} ({digest}) is not among the artifacts"
    done = sandbox.exec(
        ["git", "apply", "--whitespace=nowarn", "-"],
        # Without the ceiling, git would look for a repository around the workspace and apply to that.
        environment={"GIT_CEILING_DIRECTORIES": str(PurePosixPath(sandbox.workspace).parent)},
        timeout_seconds=timeout_seconds,
        stdin=patch,
    )
    if done.ending is CommandEnding.EXITED and done.exit_code == 0:
        return None
    error = done.stderr.decode(errors="replace").strip()
    return f"only its numbers are replayed: {DIFF_ARTIFACT} does not apply ({error})"


def _artifact(options: ReplayOptions, digest: str) -> bytes | None:
    """A stored file by its hash; None where it is missing or does not match."""
    folder = Path(options.artifacts) if options.artifacts else Path(options.runs).parent / "artifacts"
    try:
        content = (folder / digest[:2] / digest).read_bytes()
    except OSError:
        return None
    return content if sha256(content).hexdigest() == digest else None


def _as_recorded(run: RunRecord, note: str | None) -> AttemptOutcome:
    detail = "; ".join(part for part in (run.status_detail, note) if part) or None
    return build_outcome(
        msgspec.structs.replace(run.agent, kind=AgentKind.REPLAYED),
        run.status,
        detail,
        duration_seconds=run.duration_seconds,
        usage=run.usage,
        cost=run.cost,
        step_count=run.step_count,
        tool_call_count=run.tool_call_count,
        steps=run.steps,
        components=run.components,
        actions=run.actions,
        reached_steps=frozenset(item.name for item in run.milestones or () if item.achieved),
    )


def _unknown_identity(request: AttemptRequest) -> AgentIdentity:
    return AgentIdentity(kind=AgentKind.REPLAYED, name=ReplayAgent.name, version=None, model=request.arm.model)
