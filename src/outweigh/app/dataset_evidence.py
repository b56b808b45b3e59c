"""The evidence of a dataset: the sums of its parts merged, and runs that are read from columns when they are needed."""

from collections.abc import Sequence

from outweigh.compare.arm_ledger import ArmLedger
from outweigh.compare.evidence import ARBITRARY_REPEATS, Evidence, changes_by_arm, gathering_notes
from outweigh.compare.evidence_part import ArmPart, EvidencePart, arms_in_order, merge_setups, parts_by_arm
from outweigh.compare.judge_calls import unused_warnings
from outweigh.errors import EvidenceError
from outweigh.model.evidence_hash import EvidenceHash
from outweigh.model.pricing import PriceTables
from outweigh.prices import price_tables
from outweigh.score.objective import Change
from outweigh.score.run_score import Score
from outweigh.store.dataset_rows import COUNTED, EXCLUDED, SUPERSEDED
from outweigh.store.dataset_runs import RunsByTask, StoredArm
from outweigh.store.dataset_stores import DatasetStores
from outweigh.store.store_set import StoreSet


def read_dataset(stores: DatasetStores, changes: Sequence[Change]) -> Evidence:
    """Everything that a dataset holds, once its files are known to be those that were written."""
    prices = price_tables(None)
    _refuse_other_prices(stores, prices)
    stores.verify()
    summaries = stores.summaries
    parts = {arm: [part for name, part in parts_by_arm(summaries) if name == arm] for arm in arms_in_order(summaries)}
    runs = {arm: stores.runs(arm) for arm in parts}
    arms: dict[str, Sequence[Score]] = {arm: StoredArm(found[COUNTED], found[EXCLUDED]) for arm, found in runs.items()}
    if _picks_runs(stores) or any(part.unusual for each in parts.values() for part in each):
        arms = {arm: list(attempts) for arm, attempts in arms.items()}
    superseded = {arm: list(found[SUPERSEDED]) for arm, found in runs.items() if found[SUPERSEDED]}
    ledgers = {arm: ArmLedger.merged(found) for arm, each in parts.items() if (found := _ledgers(each))}
    skipped, changed, unused = stores.unread_rows(), changes_by_arm(changes), _unused_judgments(summaries)
    return Evidence(
        arms=arms,
        digests={},
        hashes={arm: EvidenceHash.merged(part.hash for part in each) for arm, each in parts.items()},
        changes=changed,
        components={arm: ledger.breakdown(prices) for arm, ledger in ledgers.items()},
        ledgers=ledgers,
        judging={arm: [fact for part in each for fact in part.judging] for arm, each in parts.items()},
        unused_judgments=unused,
        judge_rules=stores.judge_rules(),
        skipped=tuple(skipped),
        warnings=(
            *gathering_notes(sum(map(len, superseded.values())), skipped, changed.keys() - arms.keys()),
            *((ARBITRARY_REPEATS,) if any(summary.arbitrary_repeats for summary in summaries) else ()),
            *unused_warnings(*unused),
        ),
        setups={arm: merge_setups(each, RunsByTask(runs[arm][COUNTED])) for arm, each in parts.items()},
        superseded=superseded,
        policy_versions=frozenset(version for summary in summaries for version in summary.policy_versions),
        named_tiers={arm: frozenset(tiers) for arm, each in parts.items() if (tiers := _tiers(each))},
        selected={arm: frozenset(chosen) for arm, each in parts.items() if (chosen := _selected(each))},
    )


def open_dataset(stores: StoreSet) -> DatasetStores:
    """The same stores as what they are."""
    if not isinstance(stores, DatasetStores):
        raise TypeError(f"{stores!r} are no stores of a dataset")
    return stores


def _picks_runs(stores: DatasetStores) -> bool:
    """Whether comparisons leave out or mark single runs of an arm, so that runs are wanted one by one."""
    found = [store.experiment for store in stores.stores if store.experiment is not None]
    return any(experiment.versions or experiment.planned_repeats for experiment in found)


def _refuse_other_prices(stores: DatasetStores, prices: PriceTables) -> None:
    made = stores.manifest.prices
    if made is not None and made != prices.names:
        raise EvidenceError(
            f"costs in {stores.name} were computed by {made or 'no price list'}, and this installation has "
            f"{prices.names or 'none'}. Export the records again."
        )


def _ledgers(parts: Sequence[ArmPart]) -> list[ArmLedger]:
    return [part.ledger for part in parts if part.ledger is not None]


def _tiers(parts: Sequence[ArmPart]) -> set[tuple[int, str | None]]:
    return {tier for part in parts for tier in part.named_tiers}


def _selected(parts: Sequence[ArmPart]) -> set[str]:
    return {sha256 for part in parts for sha256 in part.selected}


def _unused_judgments(summaries: Sequence[EvidencePart]) -> tuple[int, int]:
    orphans, stale = (sum(summary.unused_judgments[place] for summary in summaries) for place in range(2))
    return orphans, stale
