"""Arms as tiers: in the caller's order, else by their names, the suite or the records, else from the baseline up."""

from collections.abc import Mapping
from dataclasses import dataclass

from msgspec.structs import replace

from outweigh.app.evidence import EvidenceRequest
from outweigh.app.ladder_tiers import plan_tiers
from outweigh.compare.evidence import Evidence
from outweigh.compare.held_out import ReportedRepeats, reported_repeats
from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.compare.ladder_layout import TierPlan
from outweigh.errors import UsageError, quote_names
from outweigh.score.composite import EVEN, GRADE_SCALES, Profile, weigh
from outweigh.store.experiment_file import ExperimentFile

DEFAULT_GRADES = "seed"


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderRequest:
    """Which records, the tiers from the first up, and the letter scale.

    `tiers` is an expression whose first group is the number of the tier in the name of an arm. `weights` of the
    composite come before a `profile`, and without both the suite's own profile counts, else equal weights.
    """

    evidence: EvidenceRequest
    order: tuple[str, ...] | None = None
    tiers: str | None = None
    grades: str = DEFAULT_GRADES
    profile: str | None = None
    weights: Mapping[str, float] | None = None
    baseline: str | None = None
    seed: int = 0


def ladder_of_evidence(evidence: Evidence, request: LadderRequest) -> Ladder:
    """Put the arms of records that were read on tiers."""
    experiment = request.evidence.stores.experiment
    plan, notes = plan_tiers(evidence, experiment, order=request.order, pattern=request.tiers)
    if request.baseline is not None:
        plan = _with_baseline(evidence, plan, request.baseline)
    ladder = compare_tiers(
        evidence, None, GRADE_SCALES[request.grades], plan=plan, profile=_profile(request), seed=request.seed
    )
    return replace(ladder, warnings=(*ladder.warnings, *notes), reported=_reported(experiment))


def _with_baseline(evidence: Evidence, plan: TierPlan, baseline: str) -> TierPlan:
    evidence.arm(baseline)
    placed = plan.tiers or plan.order
    if placed and baseline not in placed:
        raise UsageError(
            f"--baseline {baseline!r} is on no tier, so nothing can be compared with it; name one of "
            f"{quote_names(placed, 10)}, or give {baseline!r} a tier with --order or --tiers."
        )
    return replace(plan, baseline=baseline)


def _reported(experiment: ExperimentFile | None) -> dict[str, ReportedRepeats]:
    if experiment is None or not experiment.inherits:
        return {}
    return reported_repeats(experiment.choosing_repeats, experiment.optimistic_arms)


def _profile(request: LadderRequest) -> Profile:
    if request.weights is not None:
        return weigh("weights", request.weights)
    stores, own = request.evidence.stores, request.evidence.stores.own_profiles()
    if request.profile is None and stores.profile_name(None) not in own:
        return EVEN
    return stores.profile(request.profile)
