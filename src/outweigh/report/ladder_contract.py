"""The JSON of `outweigh ladder`. Keys are added, never renamed, within a schema version."""

from collections.abc import Iterator

from outweigh.compare.ladder import Ladder, Spread, Tier
from outweigh.report.payload import Payload, finite, never_passes


def ladder_payload(ladder: Ladder) -> Payload:
    """`ladder --format json`."""
    return {
        "schema": "outweigh.ladder/1",
        "first": ladder.tiers[0].summary.name,
        "tiers": [_tier(tier) for tier in ladder.tiers],
        **_spread(ladder.of_medians, ""),
        **_spread(ladder.of_means, "_of_means"),
        "best_value": ladder.best_value,
        "frontier": list(ladder.frontier),
        "evidence_sha256": ladder.evidence_sha256,
        "warnings": [*ladder.warnings, *_reasons(ladder)],
    }


def _tier(tier: Tier) -> Payload:
    summary, metrics = tier.summary, tier.summary.metrics
    return {
        "arm": summary.name,
        "tier": tier.rank,
        "runs": summary.runs,
        "pass_rate": summary.pass_rate.value,
        "median_pass": metrics["passed"].median,
        "composite_median": metrics["composite"].median,
        "composite_mean": metrics["composite"].mean,
        "grade": summary.grade,
        "median_cost_usd": metrics["cost_usd"].median,
        "mean_cost_usd": metrics["cost_usd"].mean,
        "cost_of_pass_usd": finite(summary.cost_of_pass_usd.value),
        "never_passes": never_passes(summary),
        "uplift": tier.uplift.value,
        "uplift_of_mean": tier.uplift_of_mean.value,
    }


def _spread(spread: Spread, suffix: str) -> Payload:
    return {
        f"pass_rate_variance{suffix}": spread.pass_rate_variance.value,
        f"cost_variance{suffix}": spread.cost_variance.value,
        f"cost_range{suffix}": spread.cost_range.value,
    }


def _reasons(ladder: Ladder) -> Iterator[str]:
    for tier in ladder.tiers:
        for name, quantity in (("uplift", tier.uplift), ("uplift_of_mean", tier.uplift_of_mean)):
            if quantity.reason is not None:
                yield f"{tier.summary.name}: {name} is null: {quantity.reason}."
    for spread, suffix in ((ladder.of_medians, ""), (ladder.of_means, "_of_means")):
        for name in ("pass_rate_variance", "cost_variance", "cost_range"):
            if (reason := getattr(spread, name).reason) is not None:
                yield f"{name}{suffix} is null: {reason}."
    if ladder.best_value is None:
        yield "best_value is null: no tier has a known, finite cost of a pass."
