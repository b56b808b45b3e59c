"""Read many stores as the history of their suites: every arm of every store is a point."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from outweigh.app.decide import DecideRequest, decide
from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.app.observer import Notify
from outweigh.app.open_runs import open_runs
from outweigh.errors import EvidenceError, OutweighError, UsageError
from outweigh.score.monthly_spend import SpendTally
from outweigh.score.run_score import Score
from outweigh.store.arm_versions import suite_arm
from outweigh.store.bundled_stores import expand_bundle
from outweigh.store.dataset_manifest import refuse_dataset
from outweigh.store.find_stores import find_marked_stores, find_stores
from outweigh.store.records import RECORDS_SUFFIX
from outweigh.store.store_address import is_address
from outweigh.store.store_set import StoreSet
from outweigh.verdict.suite_history import ArmHistory, HistoryPoint, arm_histories

NO_SUITE = "records without a suite"


@dataclass(frozen=True, slots=True)
class StoresHistory:
    """What many stores say together: the history of every arm, and what all attempts and judges cost."""

    arms: tuple[ArmHistory, ...]
    spend: SpendTally


def read_history(
    paths: Sequence[str], *, suite: str | None, arms: Sequence[str], skip_invalid: bool, notify: Notify
) -> StoresHistory:
    """The history of every arm; `suite` and `arms` keep those alone. An unreadable store is left out and named.

    What was spent is that of all arms in the stores of the suite, also of those whose evidence cannot be read.
    """
    points: list[HistoryPoint] = []
    seen: set[tuple[object, ...]] = set()
    spend = SpendTally()
    for path, shown in _stores(paths, notify):
        try:
            stores = open_runs([path], {}, "outweigh history", notify)
            name = stores.stores[0].name
            _add_spend(spend, stores, suite)
            points += _points(EvidenceRequest(stores=stores, skip_invalid=skip_invalid), name, seen)
        except OutweighError as fault:
            notify(f"{shown} is left out: {str(fault).replace(path, shown)}")
    found = [each for each in points if (suite is None or each.suite == suite) and (not arms or each.arm in arms)]
    if not found:
        raise EvidenceError("there is no run of such a suite and arm. Name stores, or a folder that holds them.")
    return StoresHistory(arm_histories(found), spend)


def _add_spend(spend: SpendTally, stores: StoreSet, suite: str | None) -> None:
    """Count the costs of stores of a suite; lines that cannot be read are complained about where they matter."""
    for store in stores.stores if stores.dataset is None else ():
        if suite is None or (store.experiment is not None and store.experiment.suite == suite):
            for located in store.records(lambda _: None):
                spend.add(located.record, located.digest)


def _stores_at(address: str, notify: Notify) -> Iterator[tuple[str, str]]:
    from outweigh.store.fetched_stores import fetch_stores  # noqa: PLC0415 - only for addresses

    for store in fetch_stores(address, lambda name, fault: notify(f"{name} is left out: {fault}")):
        yield str(store.folder), store.address


def _stores(paths: Sequence[str], notify: Notify) -> Iterator[tuple[str, str]]:
    """The paths of stores, each with the name by which people know it."""
    for path in paths:
        if is_address(path):
            yield from _stores_at(path, notify)
            continue
        expanded = expand_bundle(path)
        if list(expanded) != [path] or not Path(path).is_dir():
            yield from ((str(each), str(each)) for each in expanded)
            continue
        refuse_dataset(Path(path))
        found = find_stores(Path(path))
        if not found:
            raise UsageError(f"{path} holds no store. Name one, or a folder of stores.")
        for store in found:
            yield from ((str(each), str(each)) for each in _files_of_records(store) or [store])


def _files_of_records(folder: Path) -> list[Path]:
    """The files of a plain folder, each of which is a point of its own; none where the folder is one store."""
    if not folder.is_dir() or next(find_marked_stores(folder, 0), None) is not None:
        return []
    files = sorted(folder.glob(f"*{RECORDS_SUFFIX}"))
    return files if not any("judg" in file.name for file in files) else []


def _points(request: EvidenceRequest, path: str, seen: set[tuple[object, ...]]) -> Iterator[HistoryPoint]:
    """A point for every arm that has runs which no earlier store had."""
    evidence, experiment = read_evidence(request), request.stores.experiment
    decisions = _decisions(request.stores, request)
    for arm, scores in evidence.arms.items():
        runs = [run for run in scores if run.counted and (run.started_at is None or _identity(run) not in seen)]
        seen.update(map(_identity, runs))
        if not runs:
            continue
        agents = evidence.setups[arm].agents if arm in evidence.setups else {}
        origin = None if experiment is None else experiment.origins.get(arm)
        prints = {run.arm_fingerprint for run in runs}
        yield HistoryPoint(
            store=path,
            suite=NO_SUITE if experiment is None else experiment.suite,
            arm=arm if experiment is None else suite_arm(arm, experiment.versions),
            version=arm,
            fingerprint=prints.pop() if len(prints) == 1 else None,
            origin=None if origin is None else origin.commit,
            agents=tuple(sorted({f"{agent.name} {agent.version or ''}".strip() for agent in agents})),
            models=tuple(sorted({agent.model for agent in agents if agent.model})),
            decision=decisions.get(arm),
            runs=runs,
        )


def _identity(run: Score) -> tuple[object, ...]:
    """What a run and its copies in other stores share."""
    return run.task_id, run.task_checksum, run.arm_fingerprint, run.started_at


def _decisions(stores: StoreSet, request: EvidenceRequest) -> dict[str, str]:
    """The verdict of the store about each candidate, earlier versions too; none where it cannot decide."""
    if stores.experiment is None:
        return {}
    try:
        found = decide(DecideRequest(evidence=request))
    except OutweighError:
        return {}
    return {each.name: each.decision.value for each in (*found.earlier, *found.candidates)}
