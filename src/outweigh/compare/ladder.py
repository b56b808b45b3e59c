"""Arms as ordered tiers: what each step up buys and costs, and which arms are on the cost-quality frontier."""

import re
from collections.abc import Iterable, Sequence
from math import isinf
from typing import NamedTuple

from msgspec import Struct

from outweigh.compare.arm_summary import ArmSummary, summarise
from outweigh.compare.arm_table import ArmTable, CompositeScorer
from outweigh.compare.evidence import Evidence
from outweigh.compare.judge_agreement import judge_drift_warnings
from outweigh.errors import UsageError
from outweigh.score.composite import EVEN, SEED_GRADES, GradeScale
from outweigh.stats.estimate import Quantity, known, unknown
from outweigh.stats.sample import population_variance


class CostQuality(NamedTuple):
    """What an arm costs and what it achieves."""

    arm: str
    cost: float
    quality: float


def pareto_frontier(offers: Iterable[CostQuality]) -> tuple[str, ...]:
    """Arms that no other arm dominates, cheapest first."""
    ranked = sorted(offers, key=lambda offer: (offer.cost, -offer.quality))
    undominated = [offer for offer in ranked if not any(_dominates(other, offer) for other in ranked)]
    return tuple(offer.arm for offer in undominated)


def _dominates(one: CostQuality, other: CostQuality) -> bool:
    at_least = one.cost <= other.cost and one.quality >= other.quality
    return at_least and (one.cost < other.cost or one.quality > other.quality)


class Tier(Struct, frozen=True, kw_only=True):
    """One arm with its rank and its relative gain over the first."""

    rank: int
    summary: ArmSummary
    uplift: Quantity
    uplift_of_mean: Quantity


class TierSpread(Struct, frozen=True, kw_only=True):
    """How much the tiers differ; unknown as soon as one tier's figure is."""

    pass_rate_variance: Quantity
    cost_variance: Quantity
    cost_range: Quantity


class Ladder(Struct, frozen=True, kw_only=True):
    """All tiers, with the spread of their medians (as the source has it) and of their means (which say more)."""

    tiers: tuple[Tier, ...]
    of_medians: TierSpread
    of_means: TierSpread
    best_value: str | None
    frontier: tuple[str, ...]
    scale: GradeScale
    evidence_sha256: str
    warnings: tuple[str, ...]


def compare_tiers(
    evidence: Evidence, order: Sequence[str] | None, scale: GradeScale = SEED_GRADES, *, first: str | None = None
) -> Ladder:
    """Compare every arm with the first. Without an order, `first` is followed by the others by name.

    Numbers in names count as numbers.
    """
    names = _checked(order) if order else sorted(evidence.arms, key=lambda name: (name != first, _natural(name)))
    arms = {name: evidence.arm(name) for name in names}
    composer = CompositeScorer(names[0], arms, EVEN, evidence.metrics)
    tables = [composer.tabulate_with_composites(name) for name in arms]
    summaries = [_summary(evidence, table, scale) for table in tables]
    guessed = (
        () if order else (f"the tiers are ranked by arm name ({', '.join(names)}); --order T0,T1,… sets the order.",)
    )
    return Ladder(
        tiers=tuple(_tier(rank, summary, summaries[0]) for rank, summary in enumerate(summaries)),
        of_medians=_spread(summaries, "median"),
        of_means=_spread(summaries, "mean"),
        best_value=_best_value(summaries),
        frontier=pareto_frontier(_costs_and_qualities(summaries)),
        scale=scale,
        evidence_sha256=evidence.sha256(*names),
        warnings=(
            *evidence.warnings,
            *guessed,
            *judge_drift_warnings(arms.values(), evidence.judge_calls(arms), evidence.judge_rules),
            *composer.judging_notes,
            *composer.warnings(),
        ),
    )


def uplift(score: float | None, first: float | None) -> Quantity:
    """(score − first) / first."""
    if score is None or first is None:
        return unknown("the composite needs a judge score and a pass rate on both tiers")
    return (
        unknown("the first tier scores 0, so a ratio to it is undefined")
        if first == 0
        else known((score - first) / first)
    )


def _summary(evidence: Evidence, table: ArmTable, scale: GradeScale) -> ArmSummary:
    return summarise(table, evidence.changes.get(table.name, ()), evidence.components.get(table.name, ()), scale)


def _tier(rank: int, summary: ArmSummary, first: ArmSummary) -> Tier:
    mine, theirs = summary.metrics["composite"], first.metrics["composite"]
    return Tier(
        rank=rank,
        summary=summary,
        uplift=uplift(mine.median, theirs.median),
        uplift_of_mean=uplift(mine.mean, theirs.mean),
    )


def _spread(summaries: Sequence[ArmSummary], statistic: str) -> TierSpread:
    passes = [getattr(summary.metrics["passed"], statistic) for summary in summaries]
    costs = [getattr(summary.metrics["cost_usd"], statistic) for summary in summaries]
    return TierSpread(
        pass_rate_variance=_variance("pass rate", passes),
        cost_variance=_variance("cost", costs),
        cost_range=_unknown("cost") if None in costs else known(max(costs) - min(costs)),
    )


def _variance(name: str, values: Sequence[float]) -> Quantity:
    return _unknown(name) if None in values else population_variance(values)


def _unknown(name: str) -> Quantity:
    return unknown(f"the {name} of at least one tier is unknown")


def _best_value(summaries: Iterable[ArmSummary]) -> str | None:
    """The tier whose passes are cheapest; a tier that never passes is no value at any price."""
    prices = [
        (price, summary.name)
        for summary in summaries
        if (price := summary.cost_of_pass_usd.value) is not None and not isinf(price)
    ]
    return min(prices)[1] if prices else None


def _costs_and_qualities(summaries: Iterable[ArmSummary]) -> Iterable[CostQuality]:
    for summary in summaries:
        cost, rate = summary.metrics["cost_usd"].mean, summary.pass_rate.value
        if cost is not None and rate is not None:
            yield CostQuality(summary.name, cost, rate)


def _checked(order: Sequence[str]) -> Sequence[str]:
    twice = [name for name in order if order.count(name) > 1]
    if twice:
        raise UsageError(f"--order names {twice[0]!r} twice; name each tier once.")
    return order


def _natural(name: str) -> list[tuple[int, int, str]]:
    parts = re.split(r"(\d+)", name)
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in parts]
