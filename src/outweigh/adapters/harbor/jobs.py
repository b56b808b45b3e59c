"""The jobs that Harbor runs for a store: one for each arm that has trials to make, kept beside the records.

harbor/0001-NAME.json     the job file, as `harbor run -c` takes it
harbor/0001-NAME.ticket   which trials of ours it stands for; only a job that was started has one
harbor/0001-NAME.log      what Harbor said
harbor/jobs/0001-NAME/    what Harbor left behind
harbor/tasks/             tasks with the files of an arm laid over them
"""

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from outweigh.adapters.harbor.job import FOLDER, TICKET, HarborJob, ReadResult, Ticket, may_mend, read_ticket
from outweigh.adapters.harbor.job_file import job_file, job_text
from outweigh.adapters.harbor.laid_task import laid_folder, lay
from outweigh.adapters.harbor.program import HarborProgram
from outweigh.adapters.harbor.task_fit import HarborTask
from outweigh.errors import UsageError
from outweigh.record.run_record import RunRecord
from outweigh.record.trial import Trial
from outweigh.task.arm import Arm
from outweigh.task.harbor import HarborSpec

_JOB_NAME = re.compile(r"(\d{4,})-.*\.json")
_UNSAFE = re.compile(r"[^A-Za-z0-9._]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class HarborSetting:
    """What all jobs of a suite share."""

    spec: HarborSpec
    arms: Mapping[str, Arm]
    tasks: Mapping[str, HarborTask]
    overlays: Mapping[str, bytes]
    at_once: int
    timeout_seconds: float | None


class HarborJobs:
    """Makes jobs of trials, in a folder of the store."""

    def __init__(
        self,
        store: Path,
        setting: HarborSetting,
        program: HarborProgram,
        environments: Mapping[str, Mapping[str, str]],
        read: ReadResult,
    ) -> None:
        self._folder = store.resolve() / FOLDER
        self._setting = setting
        self._program = program
        self._environments = environments
        self._read = read
        self._processes: list[subprocess.Popen[bytes]] = []

    def earlier(self) -> Sequence[HarborJob]:
        """Every job that has a ticket, oldest first."""
        return [
            HarborJob(path.with_suffix(".json"), read_ticket(path), read=self._read, secrets=self._program.secrets)
            for path in sorted(self._folder.glob(f"*{TICKET}"))
        ]

    def prepare(self, trials: Sequence[Trial]) -> HarborJob:
        """Write the job file and what it names, and let Harbor look at it."""
        arm = self._setting.arms[trials[0].arm]
        try:
            (self._folder / "jobs").mkdir(parents=True, exist_ok=True)
            for task_id in dict.fromkeys(trial.task_id for trial in trials):
                task = self._setting.tasks[task_id]
                lay(laid_folder(self._folder / "tasks", arm, task), arm, task, self._setting.overlays)
            number = self._next_number()
            file = self._folder / f"{_job_name(number, arm)}.json"
            file.write_bytes(job_text(described(self._setting, self._folder, number, trials)))
        except OSError as fault:
            place, why = fault.filename or self._folder, fault.strerror or fault
            raise UsageError(f"{place} cannot be written: {why}. Name a store by -o.") from fault
        environment = self._environments[arm.name]
        self._program.refuse_impossible(file, environment)
        ticket = Ticket(trials=tuple(trials))
        start = partial(self._start, file, environment)
        return HarborJob(file, ticket, start=start, read=self._read, secrets=self._program.secrets)

    def may_mend(self, record: RunRecord) -> bool:
        """Not where Harbor itself would not try again."""
        return may_mend(record)

    def close(self) -> None:
        """Reap what has ended. What has not ends by itself, and the next engine finds its results."""
        for process in self._processes:
            process.poll()

    def _start(self, file: Path, environment: Mapping[str, str]) -> None:
        process = self._program.start(file, environment)
        for stream in (process.stdout, process.stderr):
            if stream is not None:  # what it says goes to its log
                stream.close()
        self._processes.append(process)

    def _next_number(self) -> int:
        taken = (_JOB_NAME.fullmatch(path.name) for path in self._folder.glob("*.json"))
        return max((int(match[1]) for match in taken if match), default=0) + 1


def described(setting: HarborSetting, folder: Path, number: int, trials: Sequence[Trial]) -> dict[str, object]:
    """The job file for some trials of one arm, as it will stand in `folder`."""
    arm = setting.arms[trials[0].arm]
    return job_file(
        name=_job_name(number, arm),
        jobs_folder=folder / "jobs",
        arm=arm,
        task_folders=[laid_folder(folder / "tasks", arm, setting.tasks[trial.task_id]) for trial in trials],
        at_once=setting.at_once,
        timeout_seconds=setting.timeout_seconds,
        spec=setting.spec,
    )


def _job_name(number: int, arm: Arm) -> str:
    return f"{number:04}-{_UNSAFE.sub('-', arm.name)[:60]}"
