"""Find out where the current folder stands: its suite, its last store, and what the records decide.

What is wrong with a suite or a store is part of the answer, so errors about them do not end the command.
"""

from pathlib import Path

from outweigh.app.decide import CandidateResult, DecideRequest, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.show_store import show_store
from outweigh.app.this_folder import has_suite, stores_of_folder, suites_below
from outweigh.errors import OutweighError
from outweigh.model.suite import DEFAULT_REPEATS, LADDER_REPEATS, SUITE_FILE, SuiteSpec
from outweigh.report.status_page import FolderStatus, StoreStatus, SuiteStatus
from outweigh.report.verdict_sentence import effect_sentence
from outweigh.store.store import Store, StoreSet
from outweigh.store.store_files import record_files

MOST_RECORD_BYTES = 30_000_000
"""Records that are read for a status; of a larger store only the place is said, so that the answer comes at once."""


def folder_status() -> FolderStatus:
    """Everything that is said about the current folder."""
    stores = stores_of_folder()
    return FolderStatus(
        suite=_suite_status(Path(SUITE_FILE)) if has_suite() else None,
        suites_below=tuple(str(folder) for folder in suites_below()),
        store=_store_status(stores[0]) if stores else None,
        other_stores=max(0, len(stores) - 1),
    )


def _suite_status(file: Path) -> SuiteStatus:
    """What the file says; the files of its tasks and arms are left to `doctor` and `run`."""
    from outweigh.engine.load_task import task_folders  # noqa: PLC0415 - only where there is a suite
    from outweigh.model.parse import parse_suite  # noqa: PLC0415

    try:
        spec = parse_suite(file.read_bytes(), str(file))
        tasks = task_folders(spec.tasks, file.parent, str(file))
    except OutweighError as fault:
        return SuiteStatus(file=str(file), fault=str(fault).splitlines()[0])
    except OSError as fault:
        return SuiteStatus(file=str(file), fault=f"{file} cannot be read: {fault.strerror}.")
    return SuiteStatus(file=str(file), name=spec.name, tasks=len(tasks), arms=tuple(spec.arms), repeats=_repeats(spec))


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
        return StoreStatus(path=str(path), fault=str(fault).splitlines()[0])
    status = StoreStatus(path=str(path), overview=overview)
    if not status.trials[0]:
        return status
    try:
        decided = decide(DecideRequest(evidence=EvidenceRequest(stores=StoreSet([store]), skip_invalid=True)))
    except OutweighError as fault:
        return StoreStatus(path=str(path), overview=overview, undecided=f"none: {str(fault).splitlines()[0]}")
    return StoreStatus(path=str(path), overview=overview, decisions=tuple(map(_describe_decision, decided)))


def _describe_decision(candidate: CandidateResult) -> str:
    sentence = effect_sentence(candidate.verdict, candidate.comparison)
    return f"{candidate.decision.words}: {sentence or candidate.name}"
