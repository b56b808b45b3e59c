"""Arms as tiers: in the caller's order, else by the suite's tiers, else from the suite's baseline up."""

from dataclasses import dataclass

from msgspec.structs import replace

from outweigh.app.evidence import EvidenceRequest, read_evidence
from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.compare.ladder_layout import TierPlan
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
    """Read the records and put their arms on tiers."""
    evidence = read_evidence(request.evidence)
    experiment = request.evidence.stores.experiment
    ladder = compare_tiers(evidence, None, GRADE_SCALES[request.grades], plan=_plan(request, experiment))
    if request.order is not None or experiment is None or not experiment.tiers:
        return ladder
    return replace(ladder, warnings=(*ladder.warnings, *_without_tier(experiment)))


def _plan(request: LadderRequest, experiment: ExperimentFile | None) -> TierPlan:
    """Which arm is on which tier."""
    if request.order is not None or experiment is None:
        return TierPlan(order=request.order)
    return suite_tiers(experiment)


def suite_tiers(experiment: ExperimentFile) -> TierPlan:
    """The tiers as the suite has them; where it has none, all arms are ranked by name after the baseline."""
    named = {int(number): tier.name for number, tier in experiment.tier_settings.items() if tier.name is not None}
    return TierPlan(tiers=experiment.tiers or None, names=named, baseline=experiment.baseline)


def _without_tier(experiment: ExperimentFile) -> tuple[str, ...]:
    others = [name for name in experiment.arms if name not in experiment.tiers]
    return (f"arms to which the suite gives no tier are left out: {quote_names(others)}.",) if others else ()
