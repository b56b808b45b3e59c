"""Importer of trajectories in the Agent Trajectory Interchange Format (ATIF), whichever program wrote them."""

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import NamedTuple

from outweigh.errors import EvidenceError
from outweigh.interop.imported_run import extra_fields, field_origins, imported_run, real_agent, with_repeat_numbers
from outweigh.interop.result_files import read_bytes, read_head
from outweigh.interop.transcript_labels import label_transcript
from outweigh.interop.transcripts import (
    DuplicateFilter,
    all_match,
    trajectory_fields,
    transcript_files,
    warn_no_outcome,
)
from outweigh.model.run_record import TRAJECTORY_ARTIFACT, RunRecord
from outweigh.model.untrusted_json import as_dict, as_name
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.atif import AtifTrajectory
from outweigh.transcript.trajectory_file import UNKNOWN_VERSION, read_trajectory

ATIF_SUFFIXES = (".json",)
_MARK = b'"ATIF-v'
_OWN_NAME = "trajectory.json"
_OWN_KEY = "outweigh"
"""The key under which our own exports name their run, because a folder name cannot hold every arm and task name."""


class TrajectoryFile(NamedTuple):
    """The links of one file: what continues it, and which sub-agents it started."""

    run_id: str
    continued_by: Path | None
    started: frozenset[Path]
    started_sessions: frozenset[str]
    session: str | None


class AtifImporter:
    """Reads one run from each trajectory with its continuations.

    Trajectories of sub-agents are not runs of their own: their totals are included in those of the agent that started
    them.
    """

    name = "atif"

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """Everything but the outcome."""
        return field_origins(
            reported="agent cost steps",
            derived="started_at duration_seconds usage step_count tool_call_count artifacts extra",
        )

    def recognises(self, path: Path) -> bool:
        """Whether the files name the format's version, as every trajectory does at its start."""
        return all_match(path, ATIF_SUFFIXES, lambda file: _MARK in read_head(file))

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read how the files belong together first, then run by run."""
        parts: dict[Path, TrajectoryFile] = {}
        originals = DuplicateFilter(notes)
        for file in transcript_files(request.path, ATIF_SUFFIXES):
            try:
                content = read_bytes(file)
                if (run_id := originals.run_id("atif", file, content)) is not None:
                    parts[file] = _read_links(file, run_id, read_trajectory(content, str(file)))
            except EvidenceError as fault:
                notes.unread(file, 0, str(fault))
        return warn_no_outcome(with_repeat_numbers(_runs(parts, request)), notes)


def _runs(parts: Mapping[Path, TrajectoryFile], request: ImportRequest) -> Iterator[RunRecord]:
    sessions = frozenset[str]().union(*(part.started_sessions for part in parts.values()))
    belongs = {part.continued_by for part in parts.values()}.union(*(part.started for part in parts.values()))
    for file, part in parts.items():
        if file not in belongs and part.session not in sessions:
            yield _run(part.run_id, _continuation_chain(file, parts), request)


def _continuation_chain(file: Path, parts: Mapping[Path, TrajectoryFile]) -> list[Path]:
    """A file and its continuations in order; a circular reference ends the chain."""
    chain = [file]
    while (following := parts[chain[-1]].continued_by) in parts and following is not None and following not in chain:
        chain.append(following)
    return chain


def _run(run_id: str, files: list[Path], request: ImportRequest) -> RunRecord:
    chain = [read_trajectory(read_bytes(file), str(file)) for file in files]
    place, who = label_transcript(files[0], request.path), chain[0].agent
    version = as_name(who.version)
    ours = as_dict(as_dict(chain[0].extra).get(_OWN_KEY))
    arm = (
        request.arm
        or as_name(ours.get("arm"))
        or place.arm
        or " ".join(part for part in (who.name, who.model_name) if part)
    )
    return imported_run(
        run_id=run_id,
        task_id=as_name(ours.get("task_id")) or place.task,
        arm=arm[:200] or "agent",
        repeat=1,
        agent=real_agent(as_name(who.name), None if version == UNKNOWN_VERSION else version, as_name(who.model_name)),
        artifacts={TRAJECTORY_ARTIFACT: request.keep(read_bytes(files[0]))},
        extra=extra_fields(
            {
                "file": place.name,
                "session_id": chain[0].session_id,
                "final_metrics": as_dict(chain[-1].final_metrics and chain[-1].final_metrics.extra) or None,
            }
        ),
        **trajectory_fields(chain),
    )


def _read_links(file: Path, run_id: str, trajectory: AtifTrajectory) -> TrajectoryFile:
    refs = [
        ref
        for step in trajectory.steps
        for result in (step.observation.results if step.observation else ())
        for ref in result.subagent_trajectory_ref or ()
    ]
    return TrajectoryFile(
        run_id=run_id,
        continued_by=_referenced_file(file, trajectory.continued_trajectory_ref),
        started=frozenset(
            found for ref in refs if (found := _referenced_file(file, ref.get("trajectory_path"))) is not None
        ),
        started_sessions=frozenset(session for ref in refs if (session := as_name(ref.get("session_id"))) is not None),
        session=trajectory.session_id,
    )


def _referenced_file(file: Path, ref: object) -> Path | None:
    """The file that a reference names: in the same folder, with the same prefix if files were renamed."""
    if not isinstance(ref, str) or not ref:
        return None
    prefix = file.name.removesuffix(_OWN_NAME) if file.name.endswith(_OWN_NAME) else ""
    return file.parent / (prefix + Path(ref).name)
