"""The JSON of `outweigh ladder`: tiers in order, their grades and their uplift over the first."""

from collections.abc import Iterator

from msgspec import to_builtins

from outweigh.compare.held_out import ReportedRepeats
from outweigh.compare.ladder import Ladder, Tier, TierSpread
from outweigh.compare.ladder_levels import LadderTier, SubArm
from outweigh.model.evidence_hash import HASH_VERSION
from outweigh.report.json_output import Payload, finite_or_none, never_passes
from outweigh.report.ladder_inference import contrast_payload, estimate_payload, inference_payload, standing_payload
from outweigh.report.run_level import run_level_payload


def ladder_payload(ladder: Ladder) -> Payload:
    """`ladder --format json`."""
    return {
        "schema": "outweigh.ladder/1",
        "first": ladder.baseline,
        "baseline": ladder.baseline,
        "first_tier": ladder.levels[0].name,
        "graded_on": ladder.quality,
        "tiers": [_tier_payload(tier, ladder.reported.get(tier.summary.name)) for tier in ladder.tiers],
        "levels": [_level_payload(tier, ladder) for tier in ladder.levels],
        **_spread_payload(ladder.of_medians, ""),
        **_spread_payload(ladder.of_means, "_of_means"),
        **_spread_payload(ladder.of_pooled_means, "_of_pooled_means"),
        "best_value": ladder.contenders.best_value,
        "frontier": list(ladder.contenders.frontier),
        **inference_payload(ladder),
        "run_level": run_level_payload(ladder.run_level),
        "evidence_sha256": ladder.evidence_sha256,
        "evidence_hash_version": HASH_VERSION,
        "warnings": [*ladder.warnings, *_null_warnings(ladder)],
    }


def _tier_payload(tier: Tier, reported: ReportedRepeats | None) -> Payload:
    summary, metrics = tier.summary, tier.summary.metrics
    return {
        "arm": summary.name,
        "tier": tier.number,
        "runs": summary.runs,
        "pass_rate": summary.pass_rate.value,
        "median_pass": metrics["passed"].median,
        "composite_median": metrics["composite"].median,
        "composite_mean": metrics["composite"].mean,
        "grade": tier.grade,
        "median_cost_usd": metrics["cost_usd"].median,
        "mean_cost_usd": metrics["cost_usd"].mean,
        "cost_of_pass_usd": finite_or_none(summary.cost_of_pass_usd.value),
        "estimated_costs": summary.estimated_costs,
        "never_passes": never_passes(summary),
        "uplift": tier.uplift.value,
        "uplift_of_mean": tier.uplift_of_mean.value,
        "reported_repeats": None if reported is None else to_builtins(reported),
    }


def _level_payload(tier: LadderTier, ladder: Ladder) -> Payload:
    """One tier: its figures with each configuration once, its pooled runs, and its configurations."""
    pooled = tier.pooled
    return {
        "tier": tier.number,
        "name": tier.name,
        "runs": pooled.runs,
        "grade": tier.grade,
        "grade_of_mean": tier.grade_of_mean,
        "uplift": tier.uplift.value,
        "uplift_of_mean": estimate_payload(tier.gain_over_first),
        "uplift_over_baseline": estimate_payload(tier.gain_over_baseline),
        "standing": standing_payload(ladder.tier_standings[tier.number]),
        "figures": {name: estimate_payload(figure) for name, figure in tier.figures.items()},
        "pooled": {
            "pass_rate": pooled.pass_rate.value,
            "cost_of_pass_usd": finite_or_none(pooled.cost_of_pass_usd.value),
            "metrics": {name: found.figures() for name, found in pooled.metrics.items()},
        },
        "sub_arms": [_sub_arm_payload(sub_arm, ladder) for sub_arm in tier.sub_arms],
    }


def _sub_arm_payload(sub_arm: SubArm, ladder: Ladder) -> Payload:
    contrast = ladder.tests.configurations.get(sub_arm.name)
    return {
        "name": sub_arm.name,
        "arms": list(sub_arm.arms),
        "runs": sub_arm.summary.runs,
        "grade": sub_arm.grade,
        "uplift_of_mean": estimate_payload(sub_arm.gain_over_first),
        "uplift_over_baseline": estimate_payload(sub_arm.gain_over_baseline),
        "difference_to_baseline": None if contrast is None else contrast_payload(contrast),
        "standing": standing_payload(ladder.standings[sub_arm.name]),
        "figures": {name: estimate_payload(figure) for name, figure in sub_arm.figures.items()},
    }


def _spread_payload(spread: TierSpread, suffix: str) -> Payload:
    return {
        f"pass_rate_variance{suffix}": spread.pass_rate_variance.value,
        f"cost_variance{suffix}": spread.cost_variance.value,
        f"cost_range{suffix}": spread.cost_range.value,
    }


def _null_warnings(ladder: Ladder) -> Iterator[str]:
    for tier in ladder.tiers:
        for name, quantity in (("uplift", tier.uplift), ("uplift_of_mean", tier.uplift_of_mean)):
            if quantity.reason is not None:
                yield f"{tier.summary.name}: {name} is null: {quantity.reason}."
    for spread, suffix in ((ladder.of_medians, ""), (ladder.of_means, "_of_means")):
        for name in ("pass_rate_variance", "cost_variance", "cost_range"):
            if (reason := getattr(spread, name).reason) is not None:
                yield f"{name}{suffix} is null: {reason}."
    if ladder.contenders.best_value is None:
        yield "best_value is null: no tier has a known, finite cost of a pass."
