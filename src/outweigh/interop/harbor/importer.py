"""Importer of Harbor's job folders, folders of jobs, and single results: every finished trial is a run."""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice, takewhile
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.interop.arm_settings import task_settings, varying_settings
from outweigh.interop.harbor.trial_result import HarborTrial
from outweigh.interop.imported_run import (
    RepeatNumber,
    UnnumberedRun,
    field_origins,
    fingerprint,
    imported_run,
    number_repeats,
)
from outweigh.interop.result_files import read_bytes, read_head, read_json, walk_files
from outweigh.interop.transcripts import trajectory_fields
from outweigh.model.run_record import TRAJECTORY_ARTIFACT, RunRecord
from outweigh.model.untrusted_json import as_count, as_dict, as_list, as_str
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.transcript.atif import AtifTrajectory
from outweigh.transcript.trajectory_file import read_trajectory

RESULT_FILE = "result.json"
_SAMPLED_FILES = 50
_MOST_PARTS = 1000
_TRIAL_SUBFOLDERS = frozenset({"agent", "user-agent", "artifacts", "verifier", "steps"})
_MARKS = (b'"trial_name"', b'"n_total_trials"', b'"task_checksum"')


@dataclass(frozen=True, slots=True, kw_only=True)
class _TrialLocation:
    """Where a trial is: in a file of its own, or at a position in the job's file."""

    file: Path
    entry: int | None
    run: UnnumberedRun
    configuration: str | None


class _FoundTrial(NamedTuple):
    """What the first pass keeps of a trial; trials with the same settings share them."""

    file: Path
    entry: int | None
    trial: HarborTrial
    settings: Mapping[str, Any]


class HarborImporter:
    """Reads each trial twice, first to number the repeats, then in full, so that a large job is never held in
    memory.
    """

    name = "harbor"
    reads_also = frozenset({"atif", "claude-code", "codex", "mini-swe-agent"})

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """What Harbor states, and what is derived from it."""
        return field_origins(
            reported="agent status_detail task_checksum started_at cost checks steps artifacts extra",
            derived="arm_fingerprint status duration_seconds setup_seconds checks_seconds usage step_count "
            "tool_call_count warnings",
        )

    def recognises(self, path: Path) -> bool:
        """Whether a path is a job, a folder of jobs, or the result of a job or trial."""
        try:
            if path.is_file():
                return path.name == RESULT_FILE and _is_result(path)
            if not path.is_dir():
                return False
            return any(_is_result(file) for file in islice(_result_files(path), _SAMPLED_FILES))
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read every trial that has a result; a trial found in two places counts once."""
        survey = _TrialSurvey(request.arm, notes)
        for file in _result_files(request.path):
            survey.add(file)
        survey.finish(request.path)
        numbers = number_repeats(location.run for location in survey.locations)
        for location in survey.locations:
            run = _run(location, numbers[location.run.run_id], request, notes, survey.retries > 0)
            yield msgspec.structs.replace(run, arm_fingerprint=location.configuration)


class _TrialSurvey:
    """The first pass: which trials there are, and what the jobs state about themselves."""

    def __init__(self, arm: str | None, notes: ImportNotes) -> None:
        self.locations: list[_TrialLocation] = []
        self.retries = 0
        self._arm = arm
        self._notes = notes
        self._found: list[_FoundTrial] = []
        self._settings: dict[str, Mapping[str, Any]] = {}
        self._contents: dict[str, list[str]] = {}
        self._checksums: dict[str, set[str | None]] = {}
        self._unclassified: Counter[str] = Counter()
        self._doubled = 0
        self._unfinished = 0

    def add(self, file: Path) -> None:
        try:
            raw = as_dict(read_json(file, self._notes))
        except EvidenceError as fault:
            self._notes.unread(file, 0, str(fault))
            return
        if "trial_name" in raw or "task_name" in raw:
            self._trial(file, None, raw)
        elif "stats" in raw or "n_total_trials" in raw:
            self._job(file, raw)

    def finish(self, path: Path) -> None:
        notes = self._notes
        self._locate()
        if self._arm is not None and len({location.configuration for location in self.locations}) > 1:
            raise UsageError(f"{path} holds several agents, so --arm cannot name them all; leave it out.")
        if not self.locations and not notes.unreadable:
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
            notes.warn(f"the task changed between trials of {quote_names(changed)}: those runs cannot be compared.")
        for kind, times in sorted(self._unclassified.items()):
            notes.warn(
                f"{times:,} trials ended by {kind}, and Harbor does not say whose fault that is; like there, their "
                "reward does not count."
            )

    def _locate(self) -> None:
        """Give every trial its arm: its settings, without those that only differ from task to task."""
        groups: dict[str, list[_FoundTrial]] = defaultdict(list)
        for each in self._found:
            groups[fingerprint({key: each.settings.get(key) for key in _AGENT_SETTINGS})].append(each)
        for group in groups.values():
            dropped = task_settings((each.trial.task, each.settings) for each in group)
            varying = varying_settings((each.trial.task, each.settings) for each in group)
            if shown := sorted(key for key in dropped if key != _PLACE):
                self._notes.warn(
                    f"{', '.join(shown)} of {group[0].trial.identity().name or 'the agent'} differ from task to task, "
                    "never for the same task, and are taken for settings of the tasks."
                )
            for each in group:
                kept = {key: value for key, value in each.settings.items() if key not in dropped}
                if _PLACE not in varying:
                    kept.pop(_PLACE, None)
                configuration = fingerprint(_nested(kept)) if kept else None
                arm = self._arm or each.trial.arm_name(configuration)
                run = UnnumberedRun(f"harbor/{each.trial.trial_id}", each.trial.task or "", arm, each.trial.started_at)
                self.locations.append(
                    _TrialLocation(file=each.file, entry=each.entry, run=run, configuration=configuration)
                )
        order = {(each.file, each.entry): place for place, each in enumerate(self._found)}
        self.locations.sort(key=lambda location: order[location.file, location.entry])

    def _job(self, file: Path, raw: Mapping[str, Any]) -> None:
        stats = as_dict(raw.get("stats"))
        self.retries += as_count(stats.get("n_retries")) or 0
        waiting = (as_count(stats.get("n_running_trials")) or 0) + (as_count(stats.get("n_pending_trials")) or 0)
        self._unfinished += waiting
        for entry, trial in enumerate(as_list(raw.get("trial_results"))):
            self._trial(file, entry, as_dict(trial))

    def _trial(self, file: Path, entry: int | None, raw: Mapping[str, Any]) -> None:
        trial = HarborTrial(raw)
        where = 0 if entry is None else entry + 1
        if trial.trial_id is None or trial.task is None:
            self._notes.unread(file, where, "the trial has no id or no task_name")
            return
        if self._is_copy(trial, raw):
            return
        self._checksums.setdefault(trial.task, set()).add(as_str(raw.get("task_checksum")))
        self._unclassified.update(trial.unclassified())
        settings = trial.flat_settings()
        shared = self._settings.setdefault(fingerprint(settings), settings)
        self._found.append(_FoundTrial(file, entry, HarborTrial(_outline(raw)), shared))

    def _is_copy(self, trial: HarborTrial, raw: Mapping[str, Any]) -> bool:
        """Whether this result was seen before: in a copied folder, or in the job's file as well as in its own."""
        trajectory = fingerprint(
            [trial.task, raw.get("verifier_result"), raw.get("exception_info"), raw.get("finished_at")]
        )
        known = self._contents.setdefault(trial.trial_id or "", [])
        if trajectory in known:
            self._doubled += 1
            return True
        known.append(trajectory)
        return False


_PLACE = "tasks"
_AGENT_SETTINGS = ("name", "import_path", "model_name")
_OUTLINED = ("id", "trial_name", "task_name", "started_at", "agent_execution", "agent_info")


def _outline(raw: Mapping[str, Any]) -> dict[str, Any]:
    """What names a trial and its agent; the rest is read again when it is needed."""
    config = {"agent": as_dict(as_dict(raw.get("config")).get("agent"))}
    return {key: raw.get(key) for key in _OUTLINED} | {"config": config}


def _nested(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Settings with their arguments together again, as Harbor has them."""
    kwargs = {key.removeprefix("kwargs."): value for key, value in settings.items() if key.startswith("kwargs.")}
    others = {key: value for key, value in settings.items() if not key.startswith("kwargs.")}
    return others | ({"kwargs": kwargs} if kwargs else {})


def _run(
    location: _TrialLocation, number: RepeatNumber, request: ImportRequest, notes: ImportNotes, retried: bool
) -> RunRecord:
    raw = as_dict(read_json(location.file, notes))
    if location.entry is not None:
        raw = as_dict(as_list(raw.get("trial_results"))[location.entry])
    trajectory, artifacts = (
        ({}, {}) if location.entry is not None else _trajectory_fields(location.file.parent, request, notes)
    )
    usage = trajectory.get("usage")
    fields = HarborTrial(raw).fields(None if usage is None else usage.cache_write_tokens)
    if usage is not None and fields["usage"].output_tokens is None:
        fields["usage"] = usage
    if "unreadable" in trajectory:
        # The trajectory would have stated cache writes, which Harbor counts as input.
        fields["usage"] = msgspec.structs.replace(fields["usage"], input_tokens=None)
    if "cost" in trajectory and fields["cost"].usd is None:
        fields["cost"] = trajectory["cost"]
    fields["extra"] |= number.extra()
    warnings = ("attempts that Harbor made before and gave up are not in the cost",) if retried else ()
    return imported_run(
        run_id=location.run.run_id,
        task_id=location.run.task_id,
        arm=location.run.arm,
        repeat=number.repeat,
        **fields,
        **{name: trajectory[name] for name in ("steps", "step_count", "tool_call_count") if name in trajectory},
        warnings=warnings,
        artifacts=artifacts,
    )


def _trajectory_fields(
    trial: Path, request: ImportRequest, notes: ImportNotes
) -> tuple[Mapping[str, Any], dict[str, str]]:
    """What the agent's trajectory adds, if there is one and it can be read."""
    file = trial / "agent" / TRAJECTORY_ARTIFACT
    if not file.is_file():
        return {}, {}
    try:
        content = read_bytes(file)
        chain = [read_trajectory(content, str(file)), *_continuations(file.parent)]
    except EvidenceError as fault:
        notes.warn(str(fault))
        return {"unreadable": True}, {}
    return trajectory_fields(chain), {TRAJECTORY_ARTIFACT: request.keep(content)}


def _continuations(folder: Path) -> list[AtifTrajectory]:
    """The trajectory's continuations, from `trajectory.cont-1.json` on."""
    files = (folder / f"trajectory.cont-{number}.json" for number in range(1, _MOST_PARTS))
    return [read_trajectory(read_bytes(file), str(file)) for file in takewhile(Path.is_file, files)]


def _result_files(path: Path) -> Iterator[Path]:
    if path.is_file():
        return iter([path])
    return walk_files(path, lambda name: name == RESULT_FILE, skipped_folders=_TRIAL_SUBFOLDERS)


def _is_result(path: Path) -> bool:
    return any(mark in read_head(path) for mark in _MARKS)
