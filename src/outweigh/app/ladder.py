"""Arms as tiers: in the caller's order, else by their names, the suite or the records, else from the baseline up."""

from dataclasses import dataclass

from msgspec.structs import replace

from outweigh.app.evidence import EvidenceRequest
from outweigh.app.ladder_tiers import plan_tiers
from outweigh.compare.evidence import Evidence
from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.score.composite import GRADE_SCALES

DEFAULT_GRADES = "seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRequest:
    """Which records, the tiers from the first up, and the letter scale.

    `tiers` is an expression whose first group is the number of the tier in the name of an arm.
    """

    evidence: EvidenceRequest
    order: tuple[str, ...] | None = None
    tiers: str | None = None
    grades: str = DEFAULT_GRADES


def ladder_of_evidence(evidence: Evidence, request: LadderRequest) -> Ladder:
    """Put the arms of records that were read on tiers."""
    experiment = request.evidence.stores.experiment
    plan, notes = plan_tiers(evidence, experiment, order=request.order, pattern=request.tiers)
    ladder = compare_tiers(evidence, None, GRADE_SCALES[request.grades], plan=plan)
    return replace(ladder, warnings=(*ladder.warnings, *notes))
