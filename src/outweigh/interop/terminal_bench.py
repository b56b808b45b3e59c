"""Importer of terminal-bench's `results.json`, with the `run_metadata.json` beside it: one job, or the jobs of many
arms.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from hashlib import sha256
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from outweigh.errors import EvidenceError
from outweigh.interop.arm_settings import name_configurations
from outweigh.interop.field_values import known_sum, parse_time, seconds_between
from outweigh.interop.imported_run import (
    decode_file_name,
    extra_fields,
    field_origins,
    fingerprint,
    imported_run,
    outcome_check,
    real_agent,
    stable_id,
)
from outweigh.interop.result_files import (
    decode_json_document,
    read_bytes,
    read_head,
    read_json_object,
    walk_files,
)
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_list, as_name, as_str
from outweigh.model.usage import NO_USAGE, Usage
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

RESULTS_FILE = "results.json"
METADATA_FILE = "run_metadata.json"
_RESULTS_ENDINGS = ("_results.json", "-results.json", ".results.json")
_SAMPLED_FILES = 50
_NO_ARM = re.compile(
    r"^\d{8}(?=[_-])|^((run|job|attempt|trial|rep|repeat|seed|r)?[-_ ]?\d{1,3})?([-_ ]?\d{4}-\d\d-\d\d(__|T)[\d-]+)?$"
    r"|[-_. ](run|job|attempt|trial|rep|repeat|seed|r)[-_ ]?\d{1,3}$|^(runs|jobs|results)$",
    re.IGNORECASE,
)
"""Parts of a path that date or number a job."""

_ATTEMPT = re.compile(r"\.(?P<number>\d{1,6})-of-\d{1,6}\.")
_STATUS_BY_FAILURE = {
    "agent_timeout": Status.TIMEOUT,
    "unknown_agent_error": Status.AGENT_ERROR,
    "fatal_llm_parse_error": Status.AGENT_ERROR,
    "context_length_exceeded": Status.AGENT_ERROR,
    "output_length_exceeded": Status.AGENT_ERROR,
    "test_timeout": Status.INFRA_ERROR,
    "parse_error": Status.INFRA_ERROR,
    "agent_installation_failed": Status.INFRA_ERROR,
    "unknown": Status.INFRA_ERROR,
}


class TerminalBenchImporter:
    """Reads one run for each trial. The jobs of one arm are repeats, and so are the attempts within a job."""

    name = "terminal-bench"
    reads_also = frozenset({"atif", "claude-code", "codex", "mini-swe-agent"})

    @property
    def fields(self) -> Mapping[str, FieldOrigin]:
        """It counts cached tokens as input, so input without the cache is unknown; it states no cost."""
        return field_origins(
            reported="agent checks started_at status_detail extra",
            derived="arm_fingerprint duration_seconds checks_seconds usage",
        )

    def recognises(self, path: Path) -> bool:
        """Whether a path is a results file, or a folder holds one."""
        try:
            if path.is_dir():
                return any(map(_is_results_file, islice(_results_files(path), _SAMPLED_FILES)))
            return _is_results_file(path)
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read the results of one job, or of every job below a folder."""
        path = request.path
        files = [path] if path.is_file() and _is_job_file(path) else list(filter(_is_job_file, _results_files(path)))
        jobs = [*_jobs(files, path, notes), *_jobs_of_trials(path, files, notes)]
        if not jobs:
            raise EvidenceError(f"{path} holds no {RESULTS_FILE} of terminal-bench.")
        arms = _arm_names(jobs, request)
        first_repeat: Counter[str] = Counter()
        for name in dict.fromkeys(arms.values()):
            own = [job for job in jobs if arms[job.file] == name]
            tally = _ArmTally(name)
            for job in sorted(own, key=lambda each: (each.started, each.label)):
                highest = 0
                for run in _job_runs(job, name, first_repeat[name], notes, is_one_of_several=len(own) > 1):
                    highest = max(highest, run.trial.repeat - first_repeat[name])
                    tally.count(run)
                    yield run
                first_repeat[name] += highest
                _state_facts(job, name, notes)
            tally.report(own, notes)


class _Job(NamedTuple):
    """A results file. `label` tells it from the arm's other jobs; `folder_arm` is the arm as far as paths say it."""

    file: Path
    document: Mapping[str, Any]
    metadata: Mapping[str, Any]
    label: str
    folder_arm: str

    @property
    def started(self) -> str:
        """When the first trial began, as text that can be sorted."""
        stamps = (as_str(as_dict(each).get("trial_started_at")) for each in as_list(self.document.get("results")))
        return min(filter(None, stamps), default="")

    @property
    def settings(self) -> dict[str, Any]:
        """What makes the arm, as far as the job states it."""
        kwargs = as_dict(self.metadata.get("agent_kwargs"))
        known = {key: self.metadata.get(key) for key in ("agent_name", "model_name")}
        return {key: value for key, value in (known | kwargs).items() if value is not None}


def _results_files(path: Path) -> Iterator[Path]:
    return walk_files(path, lambda name: name == RESULTS_FILE or name.endswith(_RESULTS_ENDINGS))


def _is_results_file(file: Path) -> bool:
    start = read_head(file)
    return b'"is_resolved"' in start and b'"trial_name"' in start


def _is_job_file(file: Path) -> bool:
    """Whether a file has the results of a job; trials have files of the same name two levels further down."""
    return b'"results"' in read_head(file)


def _jobs(files: Iterable[Path], root: Path, notes: ImportNotes) -> Iterator[_Job]:
    seen: dict[str, Path] = {}
    for file in files:
        content = read_bytes(file)
        first = seen.setdefault(sha256(content).hexdigest(), file)
        if first != file:
            notes.warn(f"{file} is a copy of {first} and was not counted again.")
            continue
        document = as_dict(decode_json_document(content, file, notes))
        if not isinstance(document.get("results"), list):
            raise EvidenceError(f"{file} has no 'results'; is it terminal-bench's?")
        metadata = read_json_object(file.parent / METADATA_FILE, notes) if file.name == RESULTS_FILE else {}
        label, arm = _path_labels(file, root)
        yield _Job(file, document, metadata, label, arm)


def _jobs_of_trials(root: Path, job_files: Sequence[Path], notes: ImportNotes) -> Iterator[_Job]:
    """The jobs of which only the files of trials are there: `<job>/<task>/<trial>/results.json`."""
    known = {file.parent for file in job_files}
    trials: dict[Path, list[Mapping[str, Any]]] = {}
    for file in [root] if root.is_file() else walk_files(root, lambda name: name == RESULTS_FILE):
        folder = file.resolve().parents[2] if root.is_file() else file.parent.parent.parent
        if file not in job_files and known.isdisjoint(file.parents) and _is_results_file(file):
            trials.setdefault(folder, []).append(read_json_object(file, notes))
    for folder, documents in trials.items():
        metadata = read_json_object(folder / METADATA_FILE, notes)
        label, arm = _path_labels(folder / RESULTS_FILE, root)
        yield _Job(folder / RESULTS_FILE, {"results": documents}, metadata, label, arm)
    if trials:
        count = sum(map(len, trials.values()))
        notes.warn(f"{count:,} trials were read from files of their own, since their jobs have no {RESULTS_FILE}.")


def _path_labels(file: Path, root: Path) -> tuple[str, str]:
    """A job's label and arm: folders and file names that only number or date a job name no arm."""
    named = [decode_file_name(part) for part in file.resolve().parts[:-1]]
    if file.name != RESULTS_FILE:
        named.append(decode_file_name(re.split(r"[_.-]*results\.json$", file.name)[0]))
    inside = named[len((root if root.is_dir() else root.parent).resolve().parts) :]
    label = "/".join(inside) or named[-1]
    arm = next((kept for part in reversed(named) if (kept := _NO_ARM.sub("", part).strip("_-. "))), label)
    return label, arm[:200]


def _arm_names(jobs: Sequence[_Job], request: ImportRequest) -> dict[Path, str]:
    """The arm of each job; jobs of one agent and model with different arguments are arms of their own."""
    if request.arm is not None:
        return {job.file: request.arm for job in jobs}
    sharing: dict[str, dict[str, dict[str, Any]]] = {}
    for job in jobs:
        sharing.setdefault(_arm_name(job), {})[fingerprint(job.settings)] = job.settings
    names = {
        (arm, print_): shown
        for arm, settings in sharing.items()
        for print_, shown in zip(settings, name_configurations(arm, list(settings.values())), strict=True)
    }
    return {job.file: names[_arm_name(job), fingerprint(job.settings)] for job in jobs}


def _arm_name(job: _Job) -> str:
    known = [found for key in ("agent_name", "model_name") if (found := as_name(job.metadata.get(key))) is not None]
    return " ".join(known)[:200] if known else job.folder_arm


def _job_runs(
    job: _Job, arm: str, repeats_before: int, notes: ImportNotes, *, is_one_of_several: bool
) -> Iterator[RunRecord]:
    attempts: Counter[str] = Counter()
    for number, each in enumerate(as_list(job.document.get("results")), start=1):
        raw = as_dict(each)
        task, trial = as_name(raw.get("task_id")), as_name(raw.get("trial_name"))
        if task is None or trial is None:
            notes.unread(job.file, number, "the trial has no task_id or no trial_name")
            continue
        attempts[task] += 1
        stated = _ATTEMPT.search(trial)
        repeat = repeats_before + (int(stated["number"]) if stated else attempts[task])
        run_id = stable_id("terminal-bench", arm, job.label, trial, attempts[task])
        yield _run(raw, run_id, task, arm, repeat, job, labelled=stated is not None and not is_one_of_several)


class _ArmTally:
    """Counts of an arm's trials, to say why they differ from terminal-bench's own."""

    def __init__(self, arm: str) -> None:
        self._arm = arm
        self._trials = self._passes = 0
        self._excluded: Counter[str] = Counter()

    def count(self, run: RunRecord) -> None:
        self._trials += 1
        self._passes += any(check.passed is True for check in run.checks or ())
        if run.status in EXCLUDED_STATUSES:
            self._excluded[run.status_detail or "unknown"] += 1

    def report(self, jobs: Sequence[_Job], notes: ImportNotes) -> None:
        """Say which trials do not count here, beside what terminal-bench counts."""
        excluded = self._excluded.total()
        if not excluded:
            return
        reasons = ", ".join(f"{times:,} {mode}" for mode, times in self._excluded.most_common())
        resolved = known_sum(as_count(job.document.get("n_resolved")) for job in jobs)
        stated = "" if resolved is None else f"terminal-bench counts {resolved:,} of {self._trials:,} as resolved; "
        counted = self._trials - excluded
        notes.warn(
            f"{self._arm}: {stated}{excluded:,} of these trials say nothing about the agent ({reasons}) and are left "
            f"out, so {self._passes:,} of {counted:,} passed here."
        )


def _state_facts(job: _Job, arm: str, notes: ImportNotes) -> None:
    for fact, name in (("accuracy", "accuracy"), ("n_resolved", "resolved")):
        if (figure := as_amount(job.document.get(fact))) is not None:
            notes.state(arm, name, figure if name == "accuracy" else int(figure))


def _run(
    raw: Mapping[str, Any], run_id: str, task: str, arm: str, repeat: int, job: _Job, *, labelled: bool
) -> RunRecord:
    metadata = job.metadata
    resolved = raw.get("is_resolved") if isinstance(raw.get("is_resolved"), bool) else None
    mode = as_name(raw.get("failure_mode")) or "unset"
    extra = {
        "trial_name": raw.get("trial_name"),
        "job": job.label,
        "failure_mode": mode,
        "parser_results": raw.get("parser_results"),
        "total_input_tokens": raw.get("total_input_tokens"),
        "dataset": metadata.get("dataset_name"),
        "dataset_version": metadata.get("dataset_version"),
        "repeat_label": None if labelled else "arbitrary",
    }
    return imported_run(
        run_id=run_id,
        task_id=task,
        arm=arm,
        repeat=repeat,
        # A tested trial counts by its result even if the agent ran out of time, as in terminal-bench.
        status=Status.COMPLETED if resolved is not None else _STATUS_BY_FAILURE.get(mode, Status.COMPLETED),
        status_detail=None if mode in ("unset", "none") else mode,
        agent=real_agent(as_name(metadata.get("agent_name")), None, as_name(metadata.get("model_name"))),
        arm_fingerprint=fingerprint(job.settings) if job.settings else None,
        started_at=parse_time(raw.get("agent_started_at")) or parse_time(raw.get("trial_started_at")),
        duration_seconds=seconds_between(raw.get("agent_started_at"), raw.get("agent_ended_at")),
        checks_seconds=seconds_between(raw.get("test_started_at"), raw.get("test_ended_at")),
        usage=_usage(raw),
        checks=(outcome_check("is_resolved", resolved),),
        extra=extra_fields(extra),
    )


def _usage(raw: Mapping[str, Any]) -> Usage:
    """The tokens; zeros mean that nobody counted."""
    output = as_count(raw.get("total_output_tokens"))
    if not output:
        return NO_USAGE
    return Usage(input_tokens=None, output_tokens=output, cache_read_tokens=None, cache_write_tokens=None)
