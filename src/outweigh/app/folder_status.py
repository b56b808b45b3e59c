"""Find out where the current folder stands: its suite, its last store, and what the records decide.

What is wrong with a suite or a store is part of the answer, so errors about them do not end the command.
"""

import shlex
from collections.abc import Mapping
from itertools import count
from pathlib import Path

from msgspec.structs import replace

from outweigh.app.decide import CandidateResult, DecideRequest, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.show_store import show_store
from outweigh.app.this_folder import RUNS_FOLDER, has_suite, stores_of_folder, suites_below
from outweigh.errors import OutweighError
from outweigh.model.suite import DEFAULT_REPEATS, LADDER_REPEATS, SUITE_FILE, SuiteSpec
from outweigh.report.next_step import NextStep
from outweigh.report.status_page import FolderStatus, StoreStatus, SuiteChange, SuiteStatus
from outweigh.report.verdict_sentence import effect_sentence, join_words
from outweigh.store.arm_versions import versions_of
from outweigh.store.experiment_changes import changed_rules, check_experiment
from outweigh.store.experiment_file import ExperimentFile
from outweigh.store.store import Store
from outweigh.store.store_files import record_files
from outweigh.store.store_set import StoreSet

MOST_RECORD_BYTES = 30_000_000
"""Records that are read for a status; of a larger store only the place is said, so that the answer comes at once."""


def folder_status() -> FolderStatus:
    """Everything that is said about the current folder."""
    stores = stores_of_folder()
    status = FolderStatus(
        suite=_suite_status(Path(SUITE_FILE)) if has_suite() else None,
        suites_below=tuple(str(folder) for folder in suites_below()),
        store=_store_status(stores[0]) if stores else None,
        other_stores=max(0, len(stores) - 1),
    )
    return replace(status, change=_find_change(stores[0])) if status.is_of_suite else status


def _suite_status(file: Path) -> SuiteStatus:
    """What the file says; the files of its tasks and arms are left to `doctor` and `run`."""
    from outweigh.engine.expand_designs import expand_designs  # noqa: PLC0415 - only where there is a suite
    from outweigh.engine.load_task import task_folders  # noqa: PLC0415
    from outweigh.model.parse import parse_suite  # noqa: PLC0415

    try:
        expanded = expand_designs(parse_suite(file.read_bytes(), str(file)), str(file))
        spec = expanded.spec
        tasks = task_folders(spec.tasks, file.parent, str(file))
    except OutweighError as fault:
        return SuiteStatus(file=str(file), fault=_first_line(fault))
    except OSError as fault:
        return SuiteStatus(file=str(file), fault=f"{file} cannot be read: {fault.strerror}.")
    return SuiteStatus(
        file=str(file),
        name=spec.name,
        tasks=len(tasks) + sum(len(each.should_fire) + len(each.should_not_fire) for each in spec.triggers),
        arms=tuple(spec.arms),
        repeats=_repeats(spec),
        own_repeats=(*expanded.repeats.values(), *(tier.repeats for tier in spec.tiers.values() if tier.repeats)),
    )


def _repeats(spec: SuiteSpec) -> int:
    tiered = any(arm.tier is not None for arm in spec.arms.values())
    return spec.repeats or (LADDER_REPEATS if tiered else DEFAULT_REPEATS)


def _store_status(path: Path) -> StoreStatus:
    store = Store.open(path)
    try:
        if sum(file.stat().st_size for file in record_files(path)) > MOST_RECORD_BYTES:
            return StoreStatus(path=str(path))
        overview = show_store(store)
    except OutweighError as fault:
        return StoreStatus(path=str(path), fault=_first_line(fault))
    status = StoreStatus(path=str(path), overview=overview)
    if not status.trials[0]:
        return status
    try:
        decided = decide(DecideRequest(evidence=EvidenceRequest(stores=StoreSet([store]), skip_invalid=True)))
    except OutweighError as fault:
        return StoreStatus(path=str(path), overview=overview, undecided=f"none: {_first_line(fault)}")
    return StoreStatus(path=str(path), overview=overview, decisions=tuple(map(_describe_decision, decided)))


def _describe_decision(candidate: CandidateResult) -> str:
    sentence = effect_sentence(candidate.verdict, candidate.comparison)
    return f"{candidate.decision.words}: {sentence or candidate.name}"


def _find_change(store: Path) -> SuiteChange | None:
    """How the suite differs from what the store ran, and what to do about it. Reads files only."""
    from outweigh.app.suite_selection import BASE, read_suite  # noqa: PLC0415 - only where a suite has been run
    from outweigh.app.suite_versions import find_versions  # noqa: PLC0415

    try:
        versions = find_versions(read_suite(SUITE_FILE), store)
        suite, experiment = versions.suite, versions.experiment
        if experiment is None or (experiment.baseline == BASE and BASE not in suite.spec.arms):
            return None  # nothing was run, or two revisions were, which say nothing about the files of today
    except OutweighError as fault:
        return SuiteChange(
            words=_first_line(fault), step=NextStep(words="see what is wrong", command="outweigh doctor")
        )
    except OSError as fault:
        words = f"{fault.filename or SUITE_FILE} cannot be read: {fault.strerror}."
        return SuiteChange(words=words, step=NextStep(words="see what is wrong", command="outweigh doctor"))
    try:
        check_experiment(store, suite.spec, suite.tasks, suite.arms, experiment, versions.names)
    except OutweighError as fault:
        return SuiteChange(words=_first_line(fault), step=_run_elsewhere(store))
    if rules := changed_rules(experiment, suite.spec):
        words = f"{join_words(rules)} {'is' if len(rules) == 1 else 'are'} not what the store was begun with."
        return SuiteChange(words=words, step=_run_elsewhere(store))
    tasks = [task.id for task in suite.tasks if task.id not in experiment.tasks]
    return _describe_change(versions.names.names, tasks, experiment, _run_command(store, suite.spec.name))


def _describe_change(
    names: Mapping[str, str], tasks: list[str], experiment: ExperimentFile, command: str
) -> SuiteChange | None:
    """A changed arm first, then a new one, then one that was changed back, then new tasks; None where all is as run."""
    new = [arm for arm, name in names.items() if name not in experiment.arms]
    if changed := [arm for arm in new if versions_of(arm, experiment.arms, experiment.versions)]:
        verb, be, version = ("has", "it was", "version") if len(changed) == 1 else ("have", "they were", "versions")
        words = f"{join_words(changed)} {verb} changed since {be} run."
        step = f"run the new {version} beside the old; the baseline's runs are reused"
    elif new:
        words = f"{join_words(new)} {'has' if len(new) == 1 else 'have'} not been run yet."
        step = "run what is new; the baseline's runs are reused"
    elif back := [name for name in names.values() if name not in (*experiment.candidates, experiment.baseline)]:
        words = f"The suite is back at {join_words(back)}, which has been run."
        step = "decide about that version again; its runs are kept"
    elif tasks:
        words = f"{join_words(tasks)} {'has' if len(tasks) == 1 else 'have'} not been run yet."
        step = "run the new tasks; nothing else is repeated"
    else:
        return None
    return SuiteChange(words=words, step=NextStep(words=step, command=command))


def _run_command(store: Path, suite: str) -> str:
    return "outweigh run" if store == RUNS_FOLDER / suite else shlex.join(["outweigh", "run", "-o", str(store)])


def _run_elsewhere(store: Path) -> NextStep:
    free = next(path for number in count(2) if not (path := store.with_name(f"{store.name}-{number}")).exists())
    return NextStep(
        words="run the changed suite into another store, which takes over the runs that still fit",
        command=shlex.join(["outweigh", "run", "-o", str(free), "--reuse", str(store)]),
    )


def _first_line(fault: OutweighError) -> str:
    return str(fault).splitlines()[0]
