"""Arms as tiers: in the caller's order, else by the suite's tiers, else from the suite's baseline up."""

from dataclasses import dataclass

from msgspec.structs import replace

from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.errors import quote_names
from outweigh.score.composite import GRADE_SCALES
from outweigh.store.experiment_file import ExperimentFile

DEFAULT_GRADES = "seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRequest:
    """Which records, the tiers from the first up, and the letter scale."""

    evidence: EvidenceRequest
    order: tuple[str, ...] | None = None
    grades: str = DEFAULT_GRADES


def build_ladder(request: LadderRequest) -> Ladder:
    """Read the records and put their arms in order."""
    evidence = read_evidence(request.evidence)
    scale, experiment = GRADE_SCALES[request.grades], request.evidence.stores.experiment
    if request.order is not None or experiment is None:
        return compare_tiers(evidence, request.order, scale)
    if not experiment.tiers:
        return compare_tiers(evidence, None, scale, first=experiment.baseline)
    ladder = compare_tiers(evidence, sorted(experiment.tiers, key=lambda arm: experiment.tiers[arm]), scale)
    return replace(ladder, warnings=(*ladder.warnings, *_without_tier(experiment)))


def _without_tier(experiment: ExperimentFile) -> tuple[str, ...]:
    others = [name for name in experiment.arms if name not in experiment.tiers]
    return (f"arms to which the suite gives no tier are left out: {quote_names(others)}.",) if others else ()
