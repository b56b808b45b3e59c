"""A whole experiment: what is left to do, in which order, within which budget, until when."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from threading import Event as Signal

from outweigh.compare.comparison import compare
from outweigh.compare.evidence import Evidence, gather
from outweigh.ports import RunStore
from outweigh.record.attempt import Attempt
from outweigh.record.codec import Located
from outweigh.record.pricing import FirstKnown
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED
from outweigh.run.attempt import Workshop, close_abandoned, make_attempt
from outweigh.run.batch import Batch, Pace, Stop
from outweigh.run.budget import Budget
from outweigh.run.events import Listener, note
from outweigh.run.plan import PlannedRun
from outweigh.task.suite import SuiteSpec
from outweigh.verdict.by_evidence import weigh
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.verdict import Decision

BACKOFF_SECONDS = 1.0
LONGEST_BACKOFF_SECONDS = 300.0

Trials = tuple[str, str, int]


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where an experiment stands: planned trials that count already, and those that are still to do."""

    done: int
    left: tuple[tuple[PlannedRun, int], ...]
    spent_usd: float
    costs_unknown: int


def clear_up(shop: Workshop, plan: Sequence[PlannedRun], abandoned: Sequence[Attempt], listen: Listener) -> None:
    """Close what a killed engine left open, so that every attempt has its record."""
    planned = {_key(run): run for run in plan}
    for attempt in abandoned:
        run = planned.get((attempt.trial.task_id, attempt.trial.arm, attempt.trial.repeat))
        if run is not None:
            close_abandoned(shop, run, attempt.attempt)
            listen(note(f"{attempt.run_id} was cut short by the end of an earlier engine; it is attempted again"))


def progress_of(plan: Sequence[PlannedRun], store: RunStore) -> Progress:
    """What is left: trials without a record that counts, each with the number of its next attempt."""
    finished = store.finished()
    left = [(run, len(finished.get(_key(run), ())) + 1) for run in plan if not _counts(finished.get(_key(run), ()))]
    records = [record for attempts in finished.values() for record in attempts]
    costs = [record.cost.usd for record in records]
    return Progress(
        done=len(plan) - len(left),
        left=tuple(left),
        spent_usd=sum(cost for cost in costs if cost is not None),
        costs_unknown=costs.count(None),
    )


def conduct(
    shop: Workshop,
    spec: SuiteSpec,
    progress: Progress,
    *,
    jobs: int,
    budget_usd: float | None,
    until_decided: bool,
    drain: Signal,
    listen: Listener,
) -> Stop:
    """Run what is left."""
    budget = Budget(budget_usd, spec.limits.budget_usd, progress.spent_usd)
    batch = Batch(
        make=lambda planned, number: make_attempt(shop, planned, number),
        pace=Pace(
            jobs=jobs,
            retries=spec.limits.retries,
            first_backoff_seconds=BACKOFF_SECONDS,
            longest_backoff_seconds=LONGEST_BACKOFF_SECONDS,
        ),
        budget=budget,
        drain=drain,
        listen=listen,
        decided=_decided(spec, shop.store, len(shop.tasks)) if until_decided else None,
    )
    return batch.run(progress.left)


def evidence_in(store: RunStore) -> Evidence:
    """The store's records as evidence, as `outweigh verdict` would read them."""
    records = [record for attempts in store.finished().values() for record in attempts]
    located = (Located(record, "store", number) for number, record in enumerate(records, start=1))
    return gather(located, prices=FirstKnown())


def _decided(spec: SuiteSpec, store: RunStore, tasks: int) -> Callable[[], bool]:
    """Whether every candidate is decided at the sequential boundary; tasks come whole, in random order."""
    settings = evidence_settings(gates=spec.policy.gates, margins=spec.policy.margins, planned_tasks=max(2, tasks))
    candidates = [name for name in spec.arms if name != spec.baseline]

    def decided() -> bool:
        evidence = evidence_in(store)
        if not evidence.arms.keys() >= spec.arms.keys():
            return False
        comparisons = [compare(evidence, spec.baseline, name) for name in candidates]
        return all(weighed.decision is not Decision.INCONCLUSIVE for weighed in weigh(comparisons, settings))

    return decided


def _counts(attempts: Sequence[RunRecord]) -> bool:
    return any(record.status not in EXCLUDED for record in attempts)


def _key(run: PlannedRun) -> Trials:
    return run.trial.task_id, run.trial.arm, run.trial.repeat
