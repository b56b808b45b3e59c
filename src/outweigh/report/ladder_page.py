"""The page and the JSON of `outweigh ladder`: tiers in order, their grades and their uplift over the first."""

from collections.abc import Iterator

from outweigh.compare.ladder import Ladder, Tier, TierSpread
from outweigh.report.document import Block, Report, Table, Tone, optional_bullets
from outweigh.report.figures.arm_overview import tier_figures
from outweigh.report.formatting import UNKNOWN, format_dollars, format_percent, format_score, format_signed
from outweigh.report.json_output import Payload, finite_or_none, never_passes


def ladder_payload(ladder: Ladder) -> Payload:
    """`ladder --format json`."""
    return {
        "schema": "outweigh.ladder/1",
        "first": ladder.tiers[0].summary.name,
        "tiers": [_tier_payload(tier) for tier in ladder.tiers],
        **_spread_payload(ladder.of_medians, ""),
        **_spread_payload(ladder.of_means, "_of_means"),
        "best_value": ladder.best_value,
        "frontier": list(ladder.frontier),
        "evidence_sha256": ladder.evidence_sha256,
        "warnings": [*ladder.warnings, *_null_warnings(ladder)],
    }


def _tier_payload(tier: Tier) -> Payload:
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
        "cost_of_pass_usd": finite_or_none(summary.cost_of_pass_usd.value),
        "estimated_costs": summary.estimated_costs,
        "never_passes": never_passes(summary),
        "uplift": tier.uplift.value,
        "uplift_of_mean": tier.uplift_of_mean.value,
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
    if ladder.best_value is None:
        yield "best_value is null: no tier has a known, finite cost of a pass."


def ladder_report(ladder: Ladder) -> Report:
    """The page of `outweigh ladder`."""
    payload = ladder_payload(ladder)
    best = f"best value: {ladder.best_value}" if ladder.best_value else "best value: unknown"
    blocks: list[Block] = [_tier_table(ladder), *tier_figures(ladder), _spread_table(ladder)]
    blocks.extend(optional_bullets("Warnings", tuple(payload["warnings"])))
    return Report(
        headline=f"{len(ladder.tiers)} tiers from {ladder.tiers[0].summary.name}; {best}",
        tone=Tone.PLAIN,
        blocks=tuple(blocks),
        payload=payload,
    )


def _tier_table(ladder: Ladder) -> Table:
    return Table(
        title="Tiers (uplift over the first, from medians and from means)",
        columns=(
            "",
            "runs",
            "pass rate",
            "composite, median",
            "composite, mean",
            "grade",
            "uplift",
            "uplift of mean",
            "cost, mean",
            "cost of a pass",
            "frontier",
        ),
        rows=tuple(_tier_row(tier, ladder) for tier in ladder.tiers),
    )


def _tier_row(tier: Tier, ladder: Ladder) -> tuple[str, ...]:
    summary, composite = tier.summary, tier.summary.metrics["composite"]
    about = "about " if summary.estimated_costs else ""
    return (
        f"{tier.rank}. {summary.name}",
        str(summary.runs),
        format_percent(summary.pass_rate.value),
        format_score(composite.median),
        format_score(composite.mean),
        summary.grade or UNKNOWN,
        _signed_percent(tier.uplift.value),
        _signed_percent(tier.uplift_of_mean.value),
        f"{about}{format_dollars(summary.metrics['cost_usd'].mean)}",
        f"{about}{format_dollars(summary.cost_of_pass_usd.value)}",
        "yes" if summary.name in ladder.frontier else "no",
    )


def _spread_table(ladder: Ladder) -> Table:
    return Table(
        title="Spread over tiers",
        columns=("", "of medians", "of means"),
        rows=(
            (
                "pass rate, variance",
                *map(
                    _format_variance,
                    (ladder.of_medians.pass_rate_variance.value, ladder.of_means.pass_rate_variance.value),
                ),
            ),
            (
                "cost, variance",
                *map(_format_variance, (ladder.of_medians.cost_variance.value, ladder.of_means.cost_variance.value)),
            ),
            (
                "cost, range",
                format_dollars(ladder.of_medians.cost_range.value),
                format_dollars(ladder.of_means.cost_range.value),
            ),
        ),
    )


def _signed_percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{format_signed(100 * value)} %"


def _format_variance(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.6g}"
