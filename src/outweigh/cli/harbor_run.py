"""`outweigh run --executor harbor`: the same suite, store and words; Harbor makes the runs, in its own environments."""

import argparse
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Event

import msgspec

from outweigh.adapters.harbor.agent_entry import agent_entry
from outweigh.adapters.harbor.job import FOLDER
from outweigh.adapters.harbor.job_file import job_text
from outweigh.adapters.harbor.jobs import HarborJobs, HarborSetting, described
from outweigh.adapters.harbor.program import HarborProgram, environment_for, find_program
from outweigh.adapters.harbor.suite_fit import refuse_unheld
from outweigh.adapters.harbor.task_fit import common_timeout, fitting_tasks
from outweigh.adapters.importers.harbor import Harbor
from outweigh.adapters.stores.bound_rules import rules_of_store
from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.cli.event_file import told_to_file
from outweigh.cli.exit_codes import ExitCode
from outweigh.cli.interruptible import interruptible
from outweigh.cli.progress import ProgressLine, tell
from outweigh.cli.reusing import note_drift
from outweigh.cli.run_ending import say_how_it_ended
from outweigh.errors import EvidenceError, UsageError
from outweigh.ports.importers import ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.record.secrecy import without_secrets
from outweigh.record.trial import Trial
from outweigh.run.adoption import adopted
from outweigh.run.batch import Stop
from outweigh.run.budget import Budget
from outweigh.run.experiment import progress_of
from outweigh.run.loading import LoadedSuite
from outweigh.run.outside import Outside
from outweigh.run.plan import PlannedRun
from outweigh.run.task_folder import scored_by_script


@dataclass(frozen=True, slots=True, kw_only=True)
class HarborWork:
    """A suite that Harbor is to run: found fit for it, with the program and what that program may know."""

    suite: LoadedSuite
    setting: HarborSetting
    program: HarborProgram
    environments: Mapping[str, Mapping[str, str]]
    secrets: Sequence[str]

    def run(self, options: argparse.Namespace, plan: Sequence[PlannedRun], store: FolderRunStore) -> Stop:
        """Everything that is left to do of a plan in a store that was begun, and how it ended."""
        for repair in store.repairs:
            tell(f"outweigh: {repair}\n", sys.stderr)
        drain, cancel = Event(), Event()
        with (
            ProgressLine(plan, sys.stderr) as line,
            told_to_file(options.events, line) as listen,
            interruptible(drain, cancel),
            closing(self._jobs(store)) as jobs,
        ):
            line.resume(progress_of(plan, store))
            adopt = partial(self._adopted, rules_sha256=rules_of_store(store.folder))
            outside = Outside(jobs, store, adopt, drain=drain, cancel=cancel, listen=listen)
            outside.take_in_earlier()
            stop = outside.run(plan, retries=self.suite.spec.limits.retries)
        note_drift(store, self.suite)
        say_how_it_ended(stop, plan, progress_of(plan, store), Budget(None, None), store.folder)
        return stop

    def _jobs(self, store: FolderRunStore) -> HarborJobs:
        read = partial(_read, keep=lambda content: store.keep(without_secrets(content, self.secrets)))
        return HarborJobs(store.folder, self.setting, self.program, self.environments, read)

    def _adopted(
        self, record: RunRecord, trial: Trial, attempt: int, job: str, *, rules_sha256: str | None
    ) -> RunRecord:
        task = next(task for task in self.suite.tasks if task.id == trial.task_id)
        arm = self.suite.arms[trial.arm]
        return adopted(
            record, trial, attempt, arm=arm, task=task, job=job, rules_sha256=rules_sha256, secrets=self.secrets
        )


def harbor_work(suite: LoadedSuite, options: argparse.Namespace) -> HarborWork:
    """Find everything; what is missing or could not be kept to is refused before anything is written or paid for."""
    _refuse_options(options)
    setting, spec = harbor_setting(suite, options.jobs), suite.spec.harbor
    for arm in suite.arms.values():
        agent_entry(arm)
    environments = {
        name: environment_for((*spec.pass_environment, *arm.secrets), os.environ) for name, arm in suite.arms.items()
    }
    secrets = _secrets(suite, os.environ)
    return HarborWork(
        suite=suite,
        setting=setting,
        program=HarborProgram(find_program(spec.program, suite.folder), agrees=options.yes, secrets=secrets),
        environments=environments,
        secrets=secrets,
    )


def harbor_setting(suite: LoadedSuite, jobs: int) -> HarborSetting:
    """The suite in Harbor's terms; what Harbor could not keep to is refused here, before anything is written."""
    refuse_unheld(suite.spec)
    tasks = fitting_tasks(
        suite.tasks,
        scored=[task.id for task in suite.tasks if scored_by_script(task)],
        force_build=bool(suite.spec.harbor.environment.get("force_build")),
    )
    return HarborSetting(
        spec=suite.spec.harbor,
        arms=suite.arms,
        tasks={task.id: task for task in tasks},
        overlays=suite.overlays,
        at_once=max(1, jobs // len(suite.arms)),
        timeout_seconds=common_timeout(tasks, suite.spec.limits.timeout_seconds),
    )


def describe_jobs(
    suite: LoadedSuite, options: argparse.Namespace, plan: Sequence[PlannedRun], folder: Path
) -> ExitCode:
    """What `--dry-run` shows: the job file of every arm."""
    _refuse_options(options)
    setting = harbor_setting(suite, options.jobs)
    shape = f"{len(suite.tasks)} tasks × {len(suite.arms)} arms"
    print(f"{suite.spec.name}: {shape}, {len(plan)} runs through Harbor, to be kept in {folder}")
    print("cost: unknown; Harbor holds no budget")
    place = folder.resolve() / FOLDER
    for number, name in enumerate(dict.fromkeys(run.trial.arm for run in plan), start=1):
        trials = [run.trial for run in plan if run.trial.arm == name]
        print(f"{name}:\n{job_text(described(setting, place, number, trials)).decode()}", end="")
    return ExitCode.SATISFIED


def _refuse_options(options: argparse.Namespace) -> None:
    if options.budget is not None:
        raise UsageError("--budget: Harbor runs a job to its end and cannot be stopped at an amount; leave it out.")
    if options.until_decided:
        raise UsageError("--until-decided: Harbor runs whole jobs, so nobody looks between two trials; leave it out.")


def _secrets(suite: LoadedSuite, host: Mapping[str, str]) -> list[str]:
    named = {name for arm in suite.arms.values() for name in arm.secrets} | set(suite.spec.harbor.pass_environment)
    return [host[name] for name in sorted(named)]


def _read(file: Path, *, keep: Callable[[bytes], str]) -> RunRecord:
    """One trial's result, by the importer that reads whole jobs; its task by the name that we have for it."""
    notes = ImportNotes()
    request = ImportRequest(path=file, arm=None, tasks=None, columns={}, keep=keep)
    found = list(Harbor().read(request, notes))
    if len(found) != 1:
        raise EvidenceError(f"{file} holds no result: {'; '.join(map(str, notes.unreadable))}.")
    trial, warnings = found[0].trial, found[0].warnings
    short = msgspec.structs.replace(trial, task_id=trial.task_id.rpartition("/")[2])
    return msgspec.structs.replace(found[0], trial=short, warnings=(*warnings, *notes.warnings))
