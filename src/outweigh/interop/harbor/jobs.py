"""The jobs that Harbor runs for a store: one for each arm that has trials to run, kept beside the records.

harbor/0001-NAME.json     the job file, as `harbor run -c` takes it
harbor/0001-NAME.ticket   the trials that the job runs; only a job that was started has one
harbor/0001-NAME.log      Harbor's output
harbor/jobs/0001-NAME/    what Harbor left behind
harbor/tasks/             tasks with the files of an arm added
"""

import os
import re
import subprocess
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from outweigh.errors import EvidenceError, UsageError
from outweigh.interop.harbor.harbor_command import HarborProgram, is_job_running, log_file, log_tail, stop_job
from outweigh.interop.harbor.job_spec import (
    HarborTask,
    format_job_file,
    make_job_file,
    overlay_task_folder,
    write_overlay_task,
)
from outweigh.model.arm import Arm
from outweigh.model.run_record import RunRecord, Trial
from outweigh.model.suite import HarborSpec

HARBOR_FOLDER = "harbor"
"""The folder of a store that holds its jobs."""

TRIALS_SUFFIX = ".ticket"
_LOG_TAIL_BYTES = 20_000
_FINAL_ERRORS = frozenset(
    {
        "AgentAuthenticationError",
        "ApiUsageLimitError",
        "ModelNotFoundError",
        "RewardFileEmptyError",
        "RewardFileNotFoundError",
        "SandboxBuildFailedError",
        "VerifierOutputParseError",
        "VerifierTimeoutError",
    }
)
"""Errors that Harbor does not retry, except those that are results; and failed builds, which it calls final."""

ResultReader = Callable[[Path], RunRecord]
"""Reads a trial's `result.json` as a record; EvidenceError if it cannot be read."""


class JobTrials(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The trials of a job, as written to its `.ticket` file."""

    trials: tuple[Trial, ...]


def has_started_jobs(store: Path) -> bool:
    """Whether a job was ever started for a store; it may still run, and results may be missing."""
    return any((store / HARBOR_FOLDER).glob(f"*{TRIALS_SUFFIX}"))


class HarborJob:
    """One job: started now, or found as an earlier engine left it."""

    def __init__(
        self,
        file: Path,
        job_trials: JobTrials,
        *,
        start: Callable[[], None] = lambda: None,
        read: ResultReader,
        secrets: Sequence[str] = (),
    ) -> None:
        self.name = file.stem
        self.trials = job_trials.trials
        self._file = file
        self._job_trials = job_trials
        self._start_process = start
        self._read = read
        self._secrets = secrets
        self._seen: set[Path] = set()
        self._unread: list[str] = []

    def start(self) -> None:
        """Start the job; the file with its trials is written first, so that a later engine finds the job again."""
        unfinished = self._file.with_suffix(".unfinished")
        try:
            # Written whole or not at all, even after a power cut: every later engine would fail on half a file.
            with unfinished.open("wb") as stream:
                stream.write(msgspec.json.encode(self._job_trials) + b"\n")
                stream.flush()
                os.fsync(stream.fileno())
            unfinished.replace(self._file.with_suffix(TRIALS_SUFFIX))
            self._start_process()
        except OSError as fault:
            raise UsageError(f"job {self._file} cannot be started: {fault.strerror}. Run again when it can.") from fault

    @property
    def is_running(self) -> bool:
        """Whether its process is alive."""
        return is_job_running(self._file)

    def new_results(self) -> Sequence[RunRecord]:
        """New results in the order in which they were written; one that is still being written is left for the next
        call.
        """
        final = not self.is_running  # asked first: what cannot be read after the end never will be
        found = []
        for file in self._result_files():
            try:
                found.append(self._read(file))
            except EvidenceError as fault:
                if not final:
                    continue
                self._unread.append(str(fault))
            self._seen.add(file)
        return found

    def stop(self, *, at_once: bool) -> bool:
        """Stop the job."""
        return stop_job(self._file, at_once=at_once)

    def last_output(self) -> str:
        """The results that could not be read, and the end of the log."""
        try:
            with log_file(self._file).open("rb") as stream:
                stream.seek(-min(_LOG_TAIL_BYTES, stream.seek(0, os.SEEK_END)), os.SEEK_END)
                log = stream.read(_LOG_TAIL_BYTES)
        except OSError:
            log = b""
        words = (*self._unread, log_tail(log, self._secrets), f"(All of it is in {log_file(self._file)}.)")
        return " ".join(filter(None, words))

    def _result_files(self) -> list[Path]:
        left = self._file.parent / "jobs" / self.name
        found = [file for file in left.glob("*/result.json") if file not in self._seen]
        return sorted(found, key=lambda file: (file.stat().st_mtime_ns, file))


def may_retry(record: RunRecord) -> bool:
    """Whether another attempt could have another outcome; not for errors that Harbor itself does not retry."""
    return (record.status_detail or "").partition(":")[0] not in _FINAL_ERRORS


def read_job_trials(path: Path) -> JobTrials:
    """The trials of a job that was started."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=JobTrials)
    except (OSError, msgspec.MsgspecError) as fault:
        raise EvidenceError(
            f"{path} cannot be read: {fault}. Remove it, and import Harbor's results with `outweigh import`."
        ) from fault


_JOB_NAME = re.compile(r"(\d{4,})-.*\.json")
_UNSAFE_CHARACTERS = re.compile(r"[^A-Za-z0-9._]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarborJobSettings:
    """What all jobs of a suite share."""

    spec: HarborSpec
    arms: Mapping[str, Arm]
    tasks: Mapping[str, HarborTask]
    overlays: Mapping[str, bytes]
    at_once: int
    timeout_seconds: float | None


class HarborJobs:
    """Makes jobs from trials, in a folder of the store."""

    def __init__(
        self,
        store: Path,
        settings: HarborJobSettings,
        program: HarborProgram,
        environments: Mapping[str, Mapping[str, str]],
        read: ResultReader,
    ) -> None:
        self._folder = store.resolve() / HARBOR_FOLDER
        self._settings = settings
        self._program = program
        self._environments = environments
        self._read = read
        self._processes: list[subprocess.Popen[bytes]] = []

    def earlier(self) -> Sequence[HarborJob]:
        """Every job that was started before, oldest first."""
        return [
            HarborJob(path.with_suffix(".json"), read_job_trials(path), read=self._read, secrets=self._program.secrets)
            for path in sorted(self._folder.glob(f"*{TRIALS_SUFFIX}"))
        ]

    def prepare(self, trials: Sequence[Trial]) -> HarborJob:
        """Write the job file and the tasks it names, and have Harbor check it."""
        arm = self._settings.arms[trials[0].arm]
        try:
            (self._folder / "jobs").mkdir(parents=True, exist_ok=True)
            for task_id in dict.fromkeys(trial.task_id for trial in trials):
                task = self._settings.tasks[task_id]
                write_overlay_task(
                    overlay_task_folder(self._folder / "tasks", arm, task), arm, task, self._settings.overlays
                )
            number = self._next_number()
            file = self._folder / f"{_job_name(number, arm)}.json"
            file.write_bytes(format_job_file(describe_job(self._settings, self._folder, number, trials)))
        except OSError as fault:
            place, why = fault.filename or self._folder, fault.strerror or fault
            raise UsageError(f"{place} cannot be written: {why}. Name a store with -o.") from fault
        environment = self._environments[arm.name]
        self._program.check_job(file, environment)
        job_trials = JobTrials(trials=tuple(trials))
        start = partial(self._start, file, environment)
        return HarborJob(file, job_trials, start=start, read=self._read, secrets=self._program.secrets)

    def may_retry(self, record: RunRecord) -> bool:
        """Whether another attempt could have another outcome."""
        return may_retry(record)

    def close(self) -> None:
        """Reap processes that have ended. Others end by themselves, and the next engine finds their results."""
        for process in self._processes:
            process.poll()

    def _start(self, file: Path, environment: Mapping[str, str]) -> None:
        process = self._program.start(file, environment)
        for stream in (process.stdout, process.stderr):
            if stream is not None:  # its output goes to its log
                stream.close()
        self._processes.append(process)

    def _next_number(self) -> int:
        taken = (_JOB_NAME.fullmatch(path.name) for path in self._folder.glob("*.json"))
        return max((int(match[1]) for match in taken if match), default=0) + 1


def describe_job(settings: HarborJobSettings, folder: Path, number: int, trials: Sequence[Trial]) -> dict[str, object]:
    """The job file for some trials of one arm, as it will be in `folder`."""
    arm = settings.arms[trials[0].arm]
    return make_job_file(
        name=_job_name(number, arm),
        jobs_folder=folder / "jobs",
        arm=arm,
        task_folders=[overlay_task_folder(folder / "tasks", arm, settings.tasks[trial.task_id]) for trial in trials],
        at_once=settings.at_once,
        timeout_seconds=settings.timeout_seconds,
        spec=settings.spec,
    )


def _job_name(number: int, arm: Arm) -> str:
    return f"{number:04}-{_UNSAFE_CHARACTERS.sub('-', arm.name)[:60]}"
