"""Arms as ordered tiers: what each tier and each configuration on it gains and costs, and how sure that is."""

from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from outweigh.compare.arm_summary import ArmSummary, summarise
from outweigh.compare.arm_table import ArmTable
from outweigh.compare.composite_scores import CompositeScorer
from outweigh.compare.evidence import Evidence
from outweigh.compare.held_out import ReportedRepeats
from outweigh.compare.judge_agreement import judge_drift_warnings
from outweigh.compare.ladder_contenders import Contenders, find_contenders
from outweigh.compare.ladder_contrasts import LadderTests, compare_levels
from outweigh.compare.ladder_layout import TierPlan, lay_out
from outweigh.compare.ladder_levels import LadderTier, Levels, build_levels, uplift
from outweigh.compare.ladder_ranks import Competitor, Standing, standings
from outweigh.compare.ladder_replicates import ReplicateNoise, replicate_noise
from outweigh.compare.missing_judgments import MANY_ARMS
from outweigh.compare.run_level import RunLevel, count_by_runs
from outweigh.score.composite import EVEN, SEED_GRADES, Dimension, GradeScale, Profile, grade
from outweigh.stats.estimate import Quantity, known, unknown
from outweigh.stats.sample import population_variance

DRAWS = 2_000
"""Draws of the tasks, one set for all figures of a ladder."""


class Tier(Struct, frozen=True, kw_only=True):
    """One arm with the number of its tier and its relative gain over the baseline."""

    number: int
    summary: ArmSummary
    grade: str | None
    uplift: Quantity
    uplift_of_mean: Quantity


class TierSpread(Struct, frozen=True, kw_only=True):
    """How much the tiers differ, each tier counted once; unknown as soon as one tier's figure is."""

    pass_rate_variance: Quantity
    cost_variance: Quantity
    cost_range: Quantity


class Ladder(Struct, frozen=True, kw_only=True):
    """All arms and both levels, with the spread over tiers.

    `tiers` has one entry per arm, `levels` one per tier. `of_medians` is the spread of the medians of each tier's
    pooled runs, as the source has it, `of_pooled_means` of their means, and `of_means` of means that count each
    configuration once. `quality` is what tiers are ranked and graded by: the composite, `passed` where no run is
    judged, or `judge_score` where no run says whether it passed. Standings and contenders are of configurations, by
    name, and of tiers. `replicates` is the study's own noise. `run_level` counts single runs, as others publish it.
    `reported` says of arms that another arm was chosen by which of their repeats are reported.
    """

    tiers: tuple[Tier, ...]
    levels: tuple[LadderTier, ...]
    of_medians: TierSpread
    of_means: TierSpread
    of_pooled_means: TierSpread
    tests: LadderTests
    tier_standings: Mapping[int, Standing]
    standings: Mapping[str, Standing]
    tier_contenders: Contenders
    contenders: Contenders
    replicates: tuple[ReplicateNoise, ...]
    seed: int
    baseline: str
    quality: str
    profile: Profile
    scale: GradeScale
    evidence_sha256: str
    warnings: tuple[str, ...]
    run_level: RunLevel
    judging_notes: tuple[str, ...] = ()
    reported: Mapping[str, ReportedRepeats] = {}


def compare_tiers(
    evidence: Evidence,
    order: Sequence[str] | None,
    scale: GradeScale = SEED_GRADES,
    *,
    plan: TierPlan | None = None,
    profile: Profile = EVEN,
    seed: int = 0,
) -> Ladder:
    """Compare every arm with the baseline, and every tier with the first.

    `order` are the arms from the first up, each a tier of its own; `plan` says more, such as the tier of every arm.
    """
    layout = lay_out(evidence, plan or TierPlan(order=order))
    arms = {name: evidence.arm(name) for name in layout.tiers}
    composer = CompositeScorer(layout.baseline, arms, profile, evidence.metrics, MANY_ARMS)
    tables = {name: composer.tabulate_with_composites(name) for name in arms}
    basis = _basis(tables.values(), profile)
    summaries = {name: _summary(evidence, table, scale) for name, table in tables.items()}
    levels = build_levels(evidence, layout, tables, summaries, scale, basis)
    of_tiers, of_configurations = _standings(levels, scale, seed)
    return Ladder(
        tiers=tuple(
            _tier(layout.tiers[name], summary, summaries[layout.baseline], basis, scale)
            for name, summary in summaries.items()
        ),
        levels=levels.tiers,
        of_medians=_pooled_spread(levels, "median"),
        of_means=_spread(
            [tier.figures["pass_rate"].point for tier in levels.tiers],
            [tier.figures["cost_usd"].point for tier in levels.tiers],
        ),
        of_pooled_means=_pooled_spread(levels, "mean"),
        tests=compare_levels(levels, draws=DRAWS, seed=seed),
        tier_standings=of_tiers,
        standings=of_configurations,
        tier_contenders=find_contenders(
            {tier.name: levels.of_tier(tier.number) for tier in levels.tiers},
            levels.means.families,
            draws=DRAWS,
            seed=seed,
        ),
        contenders=find_contenders(levels.of_configurations(), levels.means.families, draws=DRAWS, seed=seed),
        replicates=replicate_noise(layout.configurations, summaries, tables, basis),
        seed=seed,
        baseline=layout.baseline,
        quality=basis,
        profile=profile,
        scale=scale,
        evidence_sha256=evidence.sha256(*arms),
        run_level=count_by_runs(
            layout.tiers,
            {number: layout.tier_name(number) for number in layout.numbers},
            arms,
            evidence.judge_calls(arms),
        ),
        judging_notes=tuple(composer.judging_notes),
        warnings=(
            *evidence.warnings,
            *layout.notes,
            *_NOTES_ON_BASIS[basis],
            *judge_drift_warnings(arms.values(), evidence.judge_calls(arms), evidence.judge_rules),
            *composer.judging_notes,
            *composer.warnings(),
        ),
    )


def _standings(levels: Levels, scale: GradeScale, seed: int) -> tuple[dict[int, Standing], dict[str, Standing]]:
    """The standing of tiers among tiers, and of configurations among configurations."""
    tiers = [
        Competitor(name=str(tier.number), values=levels.of_tier(tier.number), table=levels.tables[tier.number])
        for tier in levels.tiers
    ]
    means = levels.of_configurations()
    others = [Competitor(name=name, values=means[name], table=table) for name, table in levels.pools.items()]
    of_tiers, of_configurations = (
        standings(
            group,
            tiers[0],
            levels.basis,
            scale,
            levels.means.tasks,
            levels.means.families,
            draws=DRAWS,
            seed=seed,
        )
        for group in (tiers, others)
    )
    return {int(name): standing for name, standing in of_tiers.items()}, of_configurations


def _basis(tables: Iterable[ArmTable], profile: Profile) -> str:
    """The composite; `passed` where the profile needs judges and no run of any arm is judged, `judge_score` where it
    needs passes and no run says whether it passed.
    """
    runs = [run for table in tables for run in table.runs]
    judged, checked = any(run.judge_opinions for run in runs), any(run.passed is not None for run in runs)
    if Dimension.JUDGE_SCORE in profile.requires and not judged:
        return "passed"
    return "judge_score" if Dimension.PASSED in profile.requires and not checked else "composite"


_NOTES_ON_BASIS = {
    "composite": (),
    "passed": ("no run is judged, so tiers are ranked and graded on `passed` alone: uplift is that of the pass rate.",),
    "judge_score": (
        "no run says whether it passed, so tiers are ranked and graded on the judge score alone: uplift is that of the "
        "judge score.",
    ),
}


def _summary(evidence: Evidence, table: ArmTable, scale: GradeScale) -> ArmSummary:
    return summarise(table, evidence.changes.get(table.name, ()), evidence.components.get(table.name, ()), scale)


def _tier(number: int, summary: ArmSummary, first: ArmSummary, basis: str, scale: GradeScale) -> Tier:
    mine, theirs = summary.metrics[basis], first.metrics[basis]
    # The median of 0 and 1 says next to nothing, so passes are graded by their rate.
    middle = ("mean" if basis == "passed" else "median", "mean")
    gains = [uplift(getattr(mine, statistic), getattr(theirs, statistic)) for statistic in middle]
    return Tier(
        number=number,
        summary=summary,
        grade=grade(getattr(mine, middle[0]), scale),
        uplift=gains[0],
        uplift_of_mean=gains[1],
    )


def _pooled_spread(levels: Levels, statistic: str) -> TierSpread:
    pooled = [tier.pooled.metrics for tier in levels.tiers]
    return _spread(
        [getattr(metrics["passed"], statistic) for metrics in pooled],
        [getattr(metrics["cost_usd"], statistic) for metrics in pooled],
    )


def _spread(passes: Sequence[float | None], costs: Sequence[float | None]) -> TierSpread:
    known_costs = [cost for cost in costs if cost is not None]
    return TierSpread(
        pass_rate_variance=_variance("pass rate", passes),
        cost_variance=_variance("cost", costs),
        cost_range=_unknown("cost") if None in costs else known(max(known_costs) - min(known_costs)),
    )


def _variance(name: str, values: Sequence[float | None]) -> Quantity:
    numbers = [value for value in values if value is not None]
    return _unknown(name) if len(numbers) < len(values) else population_variance(numbers)


def _unknown(name: str) -> Quantity:
    return unknown(f"the {name} of at least one tier is unknown")
