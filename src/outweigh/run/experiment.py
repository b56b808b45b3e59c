"""A whole experiment: what is left to do, in which order, within which budget, until when."""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from threading import Event as Signal

from outweigh.compare.comparison import compare
from outweigh.compare.evidence import Evidence, gather
from outweigh.ports.stores import RunStore
from outweigh.record.attempt import Attempt
from outweigh.record.codec import Located
from outweigh.record.payment import paid_for
from outweigh.record.pricing import FirstKnown
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED
from outweigh.run.attempt import close_abandoned, make_attempt
from outweigh.run.batch import Batch, Decided, Pace, Stop
from outweigh.run.budget import Budget
from outweigh.run.events import Listener, note
from outweigh.run.plan import PlannedRun
from outweigh.run.workshop import Workshop
from outweigh.score.objective import passed
from outweigh.task.suite import SuiteSpec
from outweigh.verdict.by_evidence import weigh
from outweigh.verdict.evidence_settings import MINIMUM_TASKS, evidence_settings
from outweigh.verdict.verdict import Decision

BACKOFF_SECONDS = 1.0
LONGEST_BACKOFF_SECONDS = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    """Where an experiment stands: planned trials that count already, and those that are still to do.

    `left` has the number of each trial's next attempt; `paid` is what every attempt came to, None where nobody knows.
    `lost` counts the arms and reasons of trials that were attempted and have no result.
    """

    done: Mapping[str, int]
    passed: Mapping[str, int]
    left: tuple[tuple[PlannedRun, int], ...]
    paid: tuple[float | None, ...]
    lost: Mapping[tuple[str, str], int]

    @property
    def spent_usd(self) -> float:
        """Dollars of all attempts whose cost is known."""
        return sum(cost for cost in self.paid if cost is not None)


def clear_up(shop: Workshop, plan: Sequence[PlannedRun], abandoned: Sequence[Attempt], listen: Listener) -> None:
    """Close what a killed engine left open, so that every attempt has its record."""
    planned = {_key(run): run for run in plan}
    for attempt in abandoned:
        run = planned.get((attempt.trial.task_id, attempt.trial.arm, attempt.trial.repeat))
        if run is not None:
            close_abandoned(shop, run, attempt.attempt)
            listen(note(f"{attempt.run_id} was cut short by the end of an earlier engine"))


def progress_of(plan: Sequence[PlannedRun], store: RunStore) -> Progress:
    """What is there, and what is left: trials without a record that counts."""
    finished = store.finished()
    done, passes = Counter[str](), Counter[str]()
    lost = Counter[tuple[str, str]]()
    left: list[tuple[PlannedRun, int]] = []
    for run in plan:
        attempts = finished.get(_key(run), ())
        counted = next((record for record in attempts if record.status not in EXCLUDED), None)
        if counted is None:
            left.append((run, max((record.attempt for record in attempts), default=0) + 1))
            lost.update((run.trial.arm, _why(record)) for record in attempts[-1:])
        else:
            done[run.trial.arm] += 1
            passes[run.trial.arm] += passed(counted).value == 1
    paid = tuple(paid_for(record) for attempts in finished.values() for record in attempts)
    return Progress(done=done, passed=passes, left=tuple(left), paid=paid, lost=lost)


def _why(record: RunRecord) -> str:
    return record.status.value if record.status_detail is None else f"{record.status.value}, {record.status_detail}"


def conduct(
    shop: Workshop,
    spec: SuiteSpec,
    progress: Progress,
    *,
    jobs: int,
    budget: Budget,
    decided: Decided | None,
    drain: Signal,
    listen: Listener,
) -> Stop:
    """Run what is left."""
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
        decided=decided,
    )
    return batch.run(progress.left)


def decided_by(spec: SuiteSpec, store: RunStore, tasks: Collection[str], prices: FirstKnown) -> Decided:
    """Whether every candidate is decided at the sequential boundary; tasks count whole, and come in random order."""
    settings = evidence_settings(gates=spec.policy.gates, margins=spec.policy.margins, planned_tasks=max(2, len(tasks)))
    candidates = [name for name in spec.arms if name != spec.baseline]

    def decided(still_open: Collection[str]) -> bool:
        whole = set(tasks) - set(still_open)
        if len(whole) < MINIMUM_TASKS:
            return False
        evidence = evidence_in(store, whole, prices)
        if not evidence.arms.keys() >= spec.arms.keys():
            return False
        comparisons = [compare(evidence, spec.baseline, name) for name in candidates]
        return all(weighed.decision is not Decision.INCONCLUSIVE for weighed in weigh(comparisons, settings))

    return decided


def evidence_in(store: RunStore, tasks: Collection[str], prices: FirstKnown) -> Evidence:
    """The store's records of these tasks as evidence, as `outweigh verdict` would read them."""
    records = (record for (task, _, _), attempts in store.finished().items() if task in tasks for record in attempts)
    located = (Located(record, "store", number) for number, record in enumerate(records, start=1))
    return gather(located, prices=prices)


def _key(run: PlannedRun) -> tuple[str, str, int]:
    return run.trial.task_id, run.trial.arm, run.trial.repeat
