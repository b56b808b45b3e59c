"""What a run that has ended shows of its result: the decision about every candidate, each in one sentence."""

from pathlib import Path

from outweigh.app.decide import DecideRequest, decide
from outweigh.app.evidence import EvidenceRequest
from outweigh.errors import OutweighError
from outweigh.report.verdict_sentence import effect_sentence
from outweigh.store.store_set import StoreSet


def decisions_of_store(store: Path) -> tuple[str, ...]:
    """`IMPROVED: new passes 58 points more often …` for every candidate, by the suite's own rule.

    Where no verdict can be given, the reason takes its place: the runs are done, and that is no failure of the run.
    """
    try:
        result = decide(DecideRequest(evidence=EvidenceRequest(stores=StoreSet.open([store]))))
    except OutweighError as fault:
        return (f"no verdict: {fault}",)
    return tuple(
        f"{each.decision.value.upper()}: {effect_sentence(each.verdict, each.comparison) or each.name}"
        for each in result.candidates
    )
