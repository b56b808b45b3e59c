"""Tiers from the first rung up."""

from outweigh.compare.ladder import Ladder, Tier
from outweigh.report.document import Block, Report, Table, Tone, notes
from outweigh.report.ladder_contract import ladder_payload
from outweigh.report.pictures.tiers import ladder_pictures
from outweigh.report.wording import UNKNOWN, dollars, percent, score


def ladder_report(ladder: Ladder) -> Report:
    """The page of `outweigh ladder`."""
    payload = ladder_payload(ladder)
    best = f"best value: {ladder.best_value}" if ladder.best_value else "best value: unknown"
    blocks: list[Block] = [_tiers(ladder), *ladder_pictures(ladder), _spread(ladder)]
    blocks.extend(notes("Warnings", tuple(payload["warnings"])))
    return Report(
        headline=f"{len(ladder.tiers)} tiers from {ladder.tiers[0].summary.name}; {best}",
        tone=Tone.PLAIN,
        blocks=tuple(blocks),
        payload=payload,
    )


def _tiers(ladder: Ladder) -> Table:
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
        rows=tuple(_row(tier, ladder) for tier in ladder.tiers),
    )


def _row(tier: Tier, ladder: Ladder) -> tuple[str, ...]:
    summary, composite = tier.summary, tier.summary.metrics["composite"]
    return (
        f"{tier.rank}. {summary.name}",
        str(summary.runs),
        percent(summary.pass_rate.value),
        score(composite.median),
        score(composite.mean),
        summary.grade or UNKNOWN,
        _signed_percent(tier.uplift.value),
        _signed_percent(tier.uplift_of_mean.value),
        dollars(summary.metrics["cost_usd"].mean),
        dollars(summary.cost_of_pass_usd.value),
        "yes" if summary.name in ladder.frontier else "no",
    )


def _spread(ladder: Ladder) -> Table:
    return Table(
        title="Spread over tiers",
        columns=("", "of medians", "of means"),
        rows=(
            (
                "pass rate, variance",
                *map(_small, (ladder.of_medians.pass_rate_variance.value, ladder.of_means.pass_rate_variance.value)),
            ),
            (
                "cost, variance",
                *map(_small, (ladder.of_medians.cost_variance.value, ladder.of_means.cost_variance.value)),
            ),
            ("cost, range", dollars(ladder.of_medians.cost_range.value), dollars(ladder.of_means.cost_range.value)),
        ),
    )


def _signed_percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{100 * value:+.1f} %"


def _small(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.6g}"
