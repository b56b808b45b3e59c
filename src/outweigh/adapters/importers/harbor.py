"""Harbor's job folders, folders of jobs, and single results: every finished trial is a run."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import takewhile
from pathlib import Path
from typing import Any

import msgspec

from outweigh.adapters.importers.folders import files_below
from outweigh.adapters.importers.harbor_trial import HarborTrial
from outweigh.adapters.importers.identity import fingerprint
from outweigh.adapters.importers.imported_run import imported_run, origins
from outweigh.adapters.importers.repeats import Numbered, Sighting, number_repeats
from outweigh.adapters.importers.source_text import head, read_bytes, read_json
from outweigh.adapters.importers.trajectory_facts import TRAJECTORY, trajectory_facts
from outweigh.errors import EvidenceError, UsageError, name_some
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.transcript.atif import AtifTrajectory
from outweigh.transcript.atif_file import read_trajectory
from outweigh.transcript.foreign import count, mapping, sequence, text

RESULT = "result.json"
_CHILDREN_LOOKED_AT = 50
_MOST_PARTS = 1000
_OF_THE_TRIAL = frozenset({"agent", "user-agent", "artifacts", "verifier", "steps"})
_MARKS = (b'"trial_name"', b'"n_total_trials"', b'"task_checksum"')


@dataclass(frozen=True, slots=True, kw_only=True)
class _Place:
    """Where a trial is: a file of its own, or the number of its entry in the job's file."""

    file: Path
    entry: int | None
    sighting: Sighting


class Harbor:
    """Reads each trial twice, first who and when, then everything, so that a large job is never held whole."""

    name = "harbor"
    reads_also = frozenset({"atif", "claude-code", "codex", "mini-swe-agent"})

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """What Harbor says itself, and what follows from it."""
        return origins(
            reported="agent status_detail task_checksum started_at cost checks steps artifacts extra",
            derived="arm_fingerprint status duration_seconds setup_seconds checks_seconds usage step_count "
            "tool_call_count warnings",
        )

    def recognises(self, path: Path) -> bool:
        """A job, a folder of jobs, or a result of either kind."""
        try:
            if path.is_file():
                return path.name == RESULT and _is_result(path)
            children = (
                child / RESULT for child, _ in zip(sorted(path.iterdir()), range(_CHILDREN_LOOKED_AT), strict=False)
            )
            return _is_result(path / RESULT) or any(_is_result(child) for child in children)
        except OSError:
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Every trial with a result; the same trial in two places counts once."""
        survey = _Survey(request.arm, notes)
        for file in _results(request.path):
            survey.look_at(file)
        survey.conclude(request.path)
        numbers = number_repeats(place.sighting for place in survey.places)
        for place in survey.places:
            yield _run(place, numbers[place.sighting.run_id], request, notes, survey.retries > 0)


class _Survey:
    """The first look: which trials there are, and what the jobs say about themselves."""

    def __init__(self, arm: str | None, notes: ImportNotes) -> None:
        self.places: list[_Place] = []
        self.retries = 0
        self._arm = arm
        self._notes = notes
        self._contents: dict[str, list[str]] = {}
        self._fingerprints: dict[str, set[str | None]] = {}
        self._checksums: dict[str, set[str | None]] = {}
        self._unclassified: Counter[str] = Counter()
        self._doubled = 0
        self._unfinished = 0

    def look_at(self, file: Path) -> None:
        try:
            raw = mapping(read_json(file, self._notes))
        except EvidenceError as fault:
            self._notes.unread(file, 0, str(fault))
            return
        if "trial_name" in raw or "task_name" in raw:
            self._trial(file, None, raw)
        elif "stats" in raw or "n_total_trials" in raw:
            self._job(file, raw)

    def conclude(self, path: Path) -> None:
        notes = self._notes
        if self._arm is not None and any(len(found) > 1 for found in self._fingerprints.values()):
            raise UsageError(f"{path} holds several agents, so --arm cannot name them all; leave it out.")
        if not self.places and not notes.unreadable:
            running = " Its trials have not finished." if self._unfinished else ""
            raise EvidenceError(f"{path} holds no result of a trial.{running} Import it when there is one.")
        if self._doubled:
            notes.warn(f"{self._doubled:,} results are there twice, in copied folders; each counts once.")
        if self.retries:
            notes.warn(
                f"Harbor tried again {self.retries:,} times and keeps nothing of the attempts before, so the real cost "
                "is higher than what is recorded."
            )
        if self._unfinished:
            notes.warn(
                f"the job is still running, or was ended: {self._unfinished:,} trials have no result. Import it again, "
                "into a new folder, when it has finished."
            )
        changed = sorted(task for task, found in self._checksums.items() if len(found) > 1)
        if changed:
            notes.warn(f"the task changed between trials of {name_some(changed)}: those runs cannot be compared.")
        for kind, times in sorted(self._unclassified.items()):
            notes.warn(
                f"{times:,} trials ended by {kind}, and Harbor does not say whose fault that is; like there, their "
                "reward does not count."
            )

    def _job(self, file: Path, raw: Mapping[str, Any]) -> None:
        stats = mapping(raw.get("stats"))
        self.retries += count(stats.get("n_retries")) or 0
        waiting = (count(stats.get("n_running_trials")) or 0) + (count(stats.get("n_pending_trials")) or 0)
        self._unfinished += waiting
        for entry, trial in enumerate(sequence(raw.get("trial_results"))):
            self._trial(file, entry, mapping(trial))

    def _trial(self, file: Path, entry: int | None, raw: Mapping[str, Any]) -> None:
        trial = HarborTrial(raw)
        where = 0 if entry is None else entry + 1
        if trial.trial_id is None or trial.task is None:
            self._notes.unread(file, where, "the trial has no id or no task_name")
            return
        if self._is_copy(trial, raw):
            return
        arm = self._arm or trial.arm_name()
        self._fingerprints.setdefault(arm, set()).add(trial.arm_fingerprint())
        self._checksums.setdefault(trial.task, set()).add(text(raw.get("task_checksum")))
        self._unclassified.update(trial.unclassified())
        run_id = f"harbor/{trial.trial_id}"
        sighting = Sighting(run_id, trial.task, arm, trial.started_at)
        self.places.append(_Place(file=file, entry=entry, sighting=sighting))

    def _is_copy(self, trial: HarborTrial, raw: Mapping[str, Any]) -> bool:
        """Whether this very result was seen before: in a copied folder, or in the job's file as well as its own."""
        told = fingerprint([trial.task, raw.get("verifier_result"), raw.get("exception_info"), raw.get("finished_at")])
        known = self._contents.setdefault(trial.trial_id or "", [])
        if told in known:
            self._doubled += 1
            return True
        known.append(told)
        return False


def _run(place: _Place, number: Numbered, request: ImportRequest, notes: ImportNotes, retried: bool) -> RunRecord:
    raw = mapping(read_json(place.file, notes))
    if place.entry is not None:
        raw = mapping(sequence(raw.get("trial_results"))[place.entry])
    told, artifacts = ({}, {}) if place.entry is not None else _trajectory(place.file.parent, request, notes)
    usage = told.get("usage")
    fields = HarborTrial(raw).fields(None if usage is None else usage.cache_write_tokens)
    if usage is not None and fields["usage"].output_tokens is None:
        fields["usage"] = usage
    if "unreadable" in told:
        # It would have said what was written to the cache, which Harbor counts as input.
        fields["usage"] = msgspec.structs.replace(fields["usage"], input_tokens=None)
    if "cost" in told and fields["cost"].usd is None:
        fields["cost"] = told["cost"]
    fields["extra"] |= number.extra()
    warnings = ("attempts that Harbor made before and gave up are not in the cost",) if retried else ()
    return imported_run(
        run_id=place.sighting.run_id,
        task_id=place.sighting.task_id,
        arm=place.sighting.arm,
        repeat=number.repeat,
        **fields,
        **{name: told[name] for name in ("steps", "step_count", "tool_call_count") if name in told},
        warnings=warnings,
        artifacts=artifacts,
    )


def _trajectory(trial: Path, request: ImportRequest, notes: ImportNotes) -> tuple[Mapping[str, Any], dict[str, str]]:
    """What the agent's trajectory adds, where it left one that can be read."""
    file = trial / "agent" / TRAJECTORY
    if not file.is_file():
        return {}, {}
    try:
        content = read_bytes(file)
        chain = [read_trajectory(content, str(file)), *_continuations(file.parent)]
    except EvidenceError as fault:
        notes.warn(str(fault))
        return {"unreadable": True}, {}
    return trajectory_facts(chain), {TRAJECTORY: request.keep(content)}


def _continuations(folder: Path) -> list[AtifTrajectory]:
    """The parts that follow, `trajectory.cont-1.json` and on."""
    files = (folder / f"trajectory.cont-{number}.json" for number in range(1, _MOST_PARTS))
    return [read_trajectory(read_bytes(file), str(file)) for file in takewhile(Path.is_file, files)]


def _results(path: Path) -> Iterator[Path]:
    if path.is_file():
        return iter([path])
    return files_below(path, lambda name: name == RESULT, passed_by=_OF_THE_TRIAL)


def _is_result(path: Path) -> bool:
    return any(mark in head(path) for mark in _MARKS)
