"""Trajectories in the Agent Trajectory Interchange Format, whoever wrote them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from outweigh.adapters.importers.imported_run import agent, imported_run, kept_fields, origins
from outweigh.adapters.importers.repeats import numbered
from outweigh.adapters.importers.source_text import head, read_bytes
from outweigh.adapters.importers.trajectory_facts import TRAJECTORY, trajectory_facts
from outweigh.adapters.importers.transcript_place import all_look_right, place_of, transcript_files
from outweigh.adapters.importers.transcript_run import Originals, without_outcome
from outweigh.errors import EvidenceError
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.transcript.atif import AtifTrajectory
from outweigh.transcript.atif_file import UNKNOWN_VERSION, read_trajectory
from outweigh.transcript.foreign import mapping, name

ENDINGS = (".json",)
_MARK = b'"ATIF-v'
_OWN_NAME = "trajectory.json"
_OURS = "outweigh"
"""Where a trajectory that was exported says which run it is of; folders cannot have every name."""


class Part(NamedTuple):
    """What is remembered of a file: which others it speaks of."""

    run_id: str
    continued_by: Path | None
    started: frozenset[Path]
    started_sessions: frozenset[str]
    session: str | None


class Atif:
    """One run for each trajectory with its continuations. Those of sub-agents are in the totals of who started them."""

    name = "atif"

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Everything but the outcome."""
        return origins(
            reported="agent cost steps",
            derived="started_at duration_seconds usage step_count tool_call_count artifacts extra",
        )

    def recognises(self, path: Path) -> bool:
        """By the version, which every trajectory starts with."""
        return all_look_right(path, ENDINGS, lambda file: _MARK in head(file))

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """First who belongs to whom, then run by run."""
        parts: dict[Path, Part] = {}
        originals = Originals(notes)
        for file in transcript_files(request.path, ENDINGS):
            try:
                content = read_bytes(file)
                if (run_id := originals.run_id("atif", file, content)) is not None:
                    parts[file] = _part(file, run_id, read_trajectory(content, str(file)))
            except EvidenceError as fault:
                notes.unread(file, 0, str(fault))
        return without_outcome(numbered(_runs(parts, request)), notes)


def _runs(parts: Mapping[Path, Part], request: ImportRequest) -> Iterator[RunRecord]:
    sessions = frozenset[str]().union(*(part.started_sessions for part in parts.values()))
    belongs = {part.continued_by for part in parts.values()}.union(*(part.started for part in parts.values()))
    for file, part in parts.items():
        if file not in belongs and part.session not in sessions:
            yield _run(part.run_id, _chain(file, parts), request)


def _chain(file: Path, parts: Mapping[Path, Part]) -> list[Path]:
    """A file and what continues it; a circle ends where it closes."""
    chain = [file]
    while (following := parts[chain[-1]].continued_by) in parts and following is not None and following not in chain:
        chain.append(following)
    return chain


def _run(run_id: str, files: list[Path], request: ImportRequest) -> RunRecord:
    chain = [read_trajectory(read_bytes(file), str(file)) for file in files]
    place, who = place_of(files[0], request.path), chain[0].agent
    version = name(who.version)
    ours = mapping(mapping(chain[0].extra).get(_OURS))
    arm = (
        request.arm
        or name(ours.get("arm"))
        or place.arm
        or " ".join(part for part in (who.name, who.model_name) if part)
    )
    return imported_run(
        run_id=run_id,
        task_id=name(ours.get("task_id")) or place.task,
        arm=arm[:200] or "agent",
        repeat=1,
        agent=agent(name(who.name), None if version == UNKNOWN_VERSION else version, name(who.model_name)),
        artifacts={TRAJECTORY: request.keep(read_bytes(files[0]))},
        extra=kept_fields(
            {
                "file": place.name,
                "session_id": chain[0].session_id,
                "final_metrics": mapping(chain[-1].final_metrics and chain[-1].final_metrics.extra) or None,
            }
        ),
        **trajectory_facts(chain),
    )


def _part(file: Path, run_id: str, trajectory: AtifTrajectory) -> Part:
    refs = [
        ref
        for step in trajectory.steps
        for result in (step.observation.results if step.observation else ())
        for ref in result.subagent_trajectory_ref or ()
    ]
    return Part(
        run_id=run_id,
        continued_by=_beside(file, trajectory.continued_trajectory_ref),
        started=frozenset(found for ref in refs if (found := _beside(file, ref.get("trajectory_path"))) is not None),
        started_sessions=frozenset(session for ref in refs if (session := name(ref.get("session_id"))) is not None),
        session=trajectory.session_id,
    )


def _beside(file: Path, ref: object) -> Path | None:
    """The file that a reference means: in the same folder, and under the same prefix where files were renamed."""
    if not isinstance(ref, str) or not ref:
        return None
    prefix = file.name.removesuffix(_OWN_NAME) if file.name.endswith(_OWN_NAME) else ""
    return file.parent / (prefix + Path(ref).name)
