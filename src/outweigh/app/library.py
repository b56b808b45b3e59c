"""The functions of the Python library. Each makes the request that a command would make, and takes the same way.

`import outweigh` exports them; nothing here decides anything.
"""

import os
from collections.abc import Iterator, Mapping, Sequence
from typing import Literal, TypeVar

from msgspec.structs import replace

from outweigh.app.choose_arms import ArmChoice
from outweigh.app.choose_policy import PolicyRequest
from outweigh.app.compare import CompareRequest, ComparisonResult, compare
from outweigh.app.decide import DecideRequest, DecisionResult, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.app.frames import FRAME_NAME, ArrowFrame, FrameRecords
from outweigh.app.open_runs import open_stores
from outweigh.app.report import ReportRequest, ReportResult
from outweigh.app.report import report as make_report
from outweigh.compare.inference import IntervalMethod, Population
from outweigh.errors import UsageError, quote_names
from outweigh.model.codec import LocatedRecord, OnInvalid, Record
from outweigh.model.judgment import Judgment, Preference
from outweigh.model.run_record import RunRecord
from outweigh.store.store import Store
from outweigh.store.store_set import StoreSet
from outweigh.verdict.policy import POLICIES

PathName = str | os.PathLike[str]
Source = Store | PathName | ArrowFrame | Sequence[Store | PathName] | Sequence[Record]
"""What records come from: a store, a path or several of either, a data frame, or records."""

_Choice = TypeVar("_Choice")
MEMORY_NAME = "<records>"


def open_store(path: PathName) -> Store:
    """The store at a path: a folder that `outweigh run` or `import` wrote, or a file of records."""
    return Store.open(path).require()


def verdict(  # noqa: PLR0913 - one keyword for every option of the command
    source: Source,
    *,
    baseline: str | None = None,
    candidate: str | Sequence[str] | None = None,
    policy: str | None = None,
    gates: Sequence[str] | None = None,
    margins: Mapping[str, float] | None = None,
    tolerances: Mapping[str, float] | None = None,
    value_usd: float | None = None,
    policy_version: int | None = None,
    sequential: bool = False,
    planned_tasks: int | None = None,
    infer: Literal["tasks", "runs"] = "tasks",
    seed: int = 0,
    profile: str | None = None,
    skip_invalid: bool = False,
    prices: PathName | None = None,
    columns: Mapping[str, str] | None = None,
) -> DecisionResult:
    """Did the candidate improve, and may it be promoted? The same answer as `outweigh verdict` with these options.

    What is not named comes from the store: its arms, its policy, its profile. `columns` maps fields of a run to columns
    of a data frame. What cannot be read raises an EvidenceError, or with `skip_invalid` blocks every promotion.
    """
    request = DecideRequest(
        evidence=_evidence(source, columns, skip_invalid=skip_invalid, prices=prices),
        arms=_arms(baseline, candidate, profile),
        policy=replace(
            _policy(policy, gates, margins, planned_tasks, infer, seed, sequential=sequential),
            tolerances=dict(tolerances or {}),
            value_usd=value_usd,
            version=policy_version,
        ),
    )
    return decide(request)


def compare_arms(  # noqa: PLR0913 - one keyword for every option of the command
    source: Source,
    *,
    baseline: str | None = None,
    candidate: str | None = None,
    infer: Literal["tasks", "runs"] = "tasks",
    interval: Literal["t", "bootstrap"] = "t",
    seed: int = 0,
    profile: str | None = None,
    skip_invalid: bool = False,
    prices: PathName | None = None,
    changes: PathName | None = None,
    columns: Mapping[str, str] | None = None,
) -> ComparisonResult:
    """Two arms side by side, as `outweigh compare` has them: summaries, pairs, deltas, intervals. Decides nothing."""
    _check_seed(seed)
    request = CompareRequest(
        evidence=_evidence(source, columns, skip_invalid=skip_invalid, prices=prices, changes=changes),
        arms=_arms(baseline, candidate, profile),
        population=Population(_one_of("infer", infer, [each.value for each in Population])),
        interval=IntervalMethod(_one_of("interval", interval, [each.value for each in IntervalMethod])),
        seed=seed,
    )
    return compare(request)


def report(  # noqa: PLR0913 - one keyword for every option of the command
    source: Source,
    *,
    baseline: str | None = None,
    candidate: str | Sequence[str] | None = None,
    policy: str | None = None,
    gates: Sequence[str] | None = None,
    margins: Mapping[str, float] | None = None,
    tolerances: Mapping[str, float] | None = None,
    value_usd: float | None = None,
    policy_version: int | None = None,
    sequential: bool = False,
    planned_tasks: int | None = None,
    infer: Literal["tasks", "runs"] = "tasks",
    seed: int = 0,
    profile: str | None = None,
    skip_invalid: bool = False,
    prices: PathName | None = None,
    changes: PathName | None = None,
    columns: Mapping[str, str] | None = None,
) -> ReportResult:
    """Everything about a baseline and its candidates on one page, as `outweigh report` has it; `save` writes it."""
    evidence = _evidence(source, columns, skip_invalid=skip_invalid, prices=prices, changes=changes)
    request = DecideRequest(
        evidence=evidence,
        arms=_arms(baseline, candidate, profile),
        policy=replace(
            _policy(policy, gates, margins, planned_tasks, infer, seed, sequential=sequential),
            tolerances=dict(tolerances or {}),
            value_usd=value_usd,
            version=policy_version,
        ),
    )
    names = ", ".join(repr(store.name) for store in evidence.stores.stores)
    return make_report(ReportRequest(decide=request, command=f"outweigh.report({names})"))


def _evidence(
    source: Source,
    columns: Mapping[str, str] | None,
    *,
    skip_invalid: bool,
    prices: PathName | None,
    changes: PathName | None = None,
) -> EvidenceRequest:
    return EvidenceRequest(
        stores=_stores(source, columns),
        skip_invalid=skip_invalid,
        prices=None if prices is None else os.fspath(prices),
        changes=None if changes is None else os.fspath(changes),
    )


def _stores(source: Source, columns: Mapping[str, str] | None) -> StoreSet:
    """Stores that have read nothing yet, so that an answer rests on what is there now."""
    if columns is not None and (isinstance(source, Store | str | os.PathLike) or not isinstance(source, ArrowFrame)):
        raise UsageError("columns= is about the columns of a data frame; records have none.")
    if isinstance(source, Store):
        return StoreSet([source.reopened()])
    if isinstance(source, str | os.PathLike):
        return open_stores([source])
    if isinstance(source, ArrowFrame):
        return StoreSet([Store(FRAME_NAME, FrameRecords(source, columns or {}), None)])
    return _several(list(source))


def _several(sources: Sequence[object]) -> StoreSet:
    records = [each for each in sources if isinstance(each, RunRecord | Judgment | Preference)]
    if records and len(records) == len(sources):
        return StoreSet([Store(MEMORY_NAME, _MemoryRecords(records), None)])
    opened: dict[str, Store] = {}
    stores = []
    for each in sources:
        store = each.reopened() if isinstance(each, Store) else None
        if isinstance(each, str | os.PathLike):
            store = Store.open(each)
        if store is None:
            raise UsageError(
                f"records cannot be read from {type(each).__name__}; give a store, a path, a data frame or records."
            )
        stores.append(opened.setdefault(store.name, store))
    return StoreSet(stores)


class _MemoryRecords:
    """Records that somebody made; the number of a record, from 1, is its line."""

    def __init__(self, records: Sequence[Record]) -> None:
        self._records = records

    def records(self, on_invalid: OnInvalid) -> Iterator[LocatedRecord]:  # noqa: ARG002 - they are read already
        return (LocatedRecord(record, MEMORY_NAME, number) for number, record in enumerate(self._records, 1))


def _arms(baseline: str | None, candidate: str | Sequence[str] | None, profile: str | None) -> ArmChoice:
    candidates = () if candidate is None else (candidate,) if isinstance(candidate, str) else tuple(candidate)
    return ArmChoice(baseline=baseline, candidates=candidates, profile=profile)


def _policy(
    policy: str | None,
    gates: Sequence[str] | None,
    margins: Mapping[str, float] | None,
    planned_tasks: int | None,
    infer: str,
    seed: int,
    *,
    sequential: bool,
) -> PolicyRequest:
    """Checked as the command line checks it, before anything is read."""
    if policy is not None:
        _one_of("policy", policy, tuple(POLICIES))
    if planned_tasks is not None and planned_tasks < 2:
        raise UsageError(f"planned_tasks={planned_tasks!r} is not a number of tasks (2 or more).")
    _check_seed(seed)
    return PolicyRequest(
        policy=policy,
        gates=None if gates is None else tuple(gates),
        margins=dict(margins or {}),
        sequential=sequential,
        planned_tasks=planned_tasks,
        fixed_suite=_one_of("infer", infer, ("tasks", "runs")) == "runs",
        seed=seed,
    )


def _check_seed(seed: int) -> None:
    if seed < 0:
        raise UsageError(f"seed={seed!r} is not a whole number of at least 0.")


def _one_of(name: str, value: _Choice, choices: Sequence[_Choice]) -> _Choice:
    if value not in choices:
        raise UsageError(f"{name}={value!r}: there is {quote_names([str(choice) for choice in choices])}.")
    return value
