"""When a run that ends at a decision may end: the sequential boundary of the evidence policy, task by task.

Not in the engine, which attempts trials and knows no verdict.
"""

from collections.abc import Collection

from outweigh.compare.comparison import compare_arms
from outweigh.compare.evidence import Evidence, gather
from outweigh.compare.stale_runs import set_stale_aside
from outweigh.engine.batch import IsDecided
from outweigh.model.codec import LocatedRecord
from outweigh.model.pricing import PriceTables
from outweigh.model.suite import SuiteSpec, age_in_days
from outweigh.ports.stores import RunStore
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_policy import weigh_evidence
from outweigh.verdict.evidence_settings import MINIMUM_TASKS, evidence_settings


def sequential_decision(spec: SuiteSpec, store: RunStore, tasks: Collection[str], prices: PriceTables) -> IsDecided:
    """Whether every candidate is decided at the sequential boundary. Only tasks with all trials count."""
    settings = evidence_settings(
        gates=spec.policy.gates,
        margins=spec.policy.margins,
        tolerances=spec.policy.tolerances,
        value_usd=spec.policy.value_usd,
        version=spec.policy.version,
        planned_tasks=max(2, len(tasks)),
    )
    max_age_days = age_in_days(spec.reuse_max_age)
    candidates = [name for name in spec.arms if name != spec.baseline]

    def decided(still_open: Collection[str]) -> bool:
        whole = set(tasks) - set(still_open)
        if len(whole) < MINIMUM_TASKS:
            return False
        evidence = set_stale_aside(evidence_of_tasks(store, whole, prices), spec.baseline, max_age_days)
        if not evidence.arms.keys() >= spec.arms.keys():
            return False
        comparisons = [compare_arms(evidence, spec.baseline, name) for name in candidates]
        return all(weighed.decision is not Decision.INCONCLUSIVE for weighed in weigh_evidence(comparisons, settings))

    return decided


def evidence_of_tasks(store: RunStore, tasks: Collection[str], prices: PriceTables) -> Evidence:
    """The store's records of these tasks as evidence, as `outweigh verdict` would read them."""
    records = (record for (task, _, _), attempts in store.finished().items() if task in tasks for record in attempts)
    located = (LocatedRecord(record, "store", number) for number, record in enumerate(records, start=1))
    return gather(located, prices=prices)
