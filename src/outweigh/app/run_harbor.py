"""Run a suite through Harbor: the same suite and store, with Harbor making the runs in its own environments."""

import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from outweigh.app.observer import RunWatch, StopSignals
from outweigh.engine.batch import EndReason
from outweigh.engine.experiment import experiment_progress
from outweigh.engine.external_jobs import ExternalExperiment, adopt_record
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.load_task import scored_by_script
from outweigh.engine.trial_plan import PlannedRun
from outweigh.errors import EvidenceError, UsageError
from outweigh.interop.harbor.harbor_command import HarborProgram, find_harbor, select_environment
from outweigh.interop.harbor.importer import HarborImporter
from outweigh.interop.harbor.job_spec import (
    agent_entry,
    common_timeout,
    format_job_file,
    refuse_unsupported_suite,
    supported_tasks,
)
from outweigh.interop.harbor.jobs import HARBOR_FOLDER, HarborJobs, HarborJobSettings, describe_job
from outweigh.model.redact import redact_secrets
from outweigh.model.run_record import RunRecord, Trial
from outweigh.ports.importers import ImportNotes, ImportRequest
from outweigh.store.experiment_file import read_rule_labels
from outweigh.store.run_store import FolderRunStore


@dataclass(frozen=True, slots=True, kw_only=True)
class HarborRun:
    """A suite that Harbor is to run: found fit for it, with the program and what that program may know."""

    suite: LoadedSuite
    setting: HarborJobSettings
    program: HarborProgram
    environments: Mapping[str, Mapping[str, str]]
    secrets: Sequence[str]

    def run(
        self, plan: Sequence[PlannedRun], store: FolderRunStore, signals: StopSignals, watch: RunWatch
    ) -> EndReason:
        """Everything that is left to do of a plan in a store that was begun, and how it ended."""
        with closing(self._jobs(store)) as jobs:
            watch.resume(experiment_progress(plan, store))
            adopt = partial(self._adopted, rule_labels=read_rule_labels(store.folder))
            outside = ExternalExperiment(
                jobs, store, adopt, drain=signals.drain, cancel=signals.cancel, listen=watch.listen
            )
            outside.take_in_earlier()
            return outside.run(plan, retries=self.suite.spec.limits.retries)

    def _jobs(self, store: FolderRunStore) -> HarborJobs:
        read = partial(_read_trial, keep=lambda content: store.keep(redact_secrets(content, self.secrets)))
        return HarborJobs(store.folder, self.setting, self.program, self.environments, read)

    def _adopted(
        self, record: RunRecord, trial: Trial, attempt: int, job: str, *, rule_labels: Mapping[str, str | int]
    ) -> RunRecord:
        task = next(task for task in self.suite.tasks if task.id == trial.task_id)
        arm = self.suite.arms[trial.arm]
        return adopt_record(
            record, trial, attempt, arm=arm, task=task, job=job, rule_labels=rule_labels, secrets=self.secrets
        )


def refuse_unsupported_limits(*, budget_usd: float | None, until_decided: bool) -> None:
    """Harbor runs whole jobs: it can be stopped neither at an amount nor at a decision."""
    if budget_usd is not None:
        raise UsageError("--budget: Harbor runs a job to its end and cannot be stopped at an amount; leave it out.")
    if until_decided:
        raise UsageError("--until-decided: Harbor runs whole jobs, so there are no looks between trials; leave it out.")


def prepare_harbor_run(suite: LoadedSuite, *, jobs: int, assume_yes: bool) -> HarborRun:
    """Find everything; what is missing or could not be kept to is refused before anything is written or paid for."""
    setting, spec = harbor_settings(suite, jobs), suite.spec.harbor
    for arm in suite.arms.values():
        agent_entry(arm)
    environments = {
        name: select_environment((*spec.pass_environment, *arm.secrets), os.environ) for name, arm in suite.arms.items()
    }
    secrets = _secret_values(suite, os.environ)
    return HarborRun(
        suite=suite,
        setting=setting,
        program=HarborProgram(find_harbor(spec.program, suite.folder), assume_yes=assume_yes, secrets=secrets),
        environments=environments,
        secrets=secrets,
    )


def harbor_settings(suite: LoadedSuite, jobs: int) -> HarborJobSettings:
    """The suite in Harbor's terms; what Harbor could not keep to is refused here, before anything is written."""
    refuse_unsupported_suite(suite.spec)
    tasks = supported_tasks(
        suite.tasks,
        scored=[task.id for task in suite.tasks if scored_by_script(task)],
        force_build=bool(suite.spec.harbor.environment.get("force_build")),
    )
    return HarborJobSettings(
        spec=suite.spec.harbor,
        arms=suite.arms,
        tasks={task.id: task for task in tasks},
        overlays=suite.overlays,
        at_once=max(1, jobs // len(suite.arms)),
        timeout_seconds=common_timeout(tasks, suite.spec.limits.timeout_seconds),
    )


def preview_jobs(suite: LoadedSuite, jobs: int, plan: Sequence[PlannedRun], folder: Path) -> dict[str, str]:
    """The job file of every arm, as a run would write it."""
    setting, place = harbor_settings(suite, jobs), folder.resolve() / HARBOR_FOLDER
    arms = dict.fromkeys(run.trial.arm for run in plan)
    return {
        name: format_job_file(
            describe_job(setting, place, number, [run.trial for run in plan if run.trial.arm == name])
        ).decode()
        for number, name in enumerate(arms, start=1)
    }


def _secret_values(suite: LoadedSuite, host: Mapping[str, str]) -> list[str]:
    named = {name for arm in suite.arms.values() for name in arm.secrets} | set(suite.spec.harbor.pass_environment)
    return [host[name] for name in sorted(named)]


def _read_trial(file: Path, *, keep: Callable[[bytes], str]) -> RunRecord:
    """One trial's result, by the importer that reads whole jobs; its task by the name that we have for it."""
    notes = ImportNotes()
    request = ImportRequest(path=file, arm=None, tasks=None, columns={}, keep=keep)
    found = list(HarborImporter().read(request, notes))
    if len(found) != 1:
        raise EvidenceError(f"{file} holds no result: {'; '.join(map(str, notes.unreadable))}.")
    trial, warnings = found[0].trial, found[0].warnings
    short = msgspec.structs.replace(trial, task_id=trial.task_id.rpartition("/")[2])
    return msgspec.structs.replace(found[0], trial=short, warnings=(*warnings, *notes.warnings))
