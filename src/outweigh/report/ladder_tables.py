"""The tables of a ladder: tiers and configurations with their intervals, and every figure of every tier."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from outweigh.compare.ladder import Ladder, Tier
from outweigh.compare.ladder_levels import QUALITY, LadderTier, SubArm
from outweigh.report.document import Table
from outweigh.report.figures.tiers import format_quality, known_span, quality_name, tier_title
from outweigh.report.formatting import (
    UNIT_FORMATS,
    UNKNOWN,
    format_change,
    format_count,
    format_dollars,
    format_percent,
    format_score,
    format_signed,
    shorten_name,
)
from outweigh.score.metrics import METRICS_BY_NAME
from outweigh.stats.estimate import Estimate

MOST_SUMMARY_TIERS = 20
FormatNumber = Callable[[float | None], str]

_FORMATS: Mapping[str, FormatNumber] = {
    "pass_rate": format_percent,
    "cost_of_pass_usd": format_dollars,
    "cfp": format_percent,
    "pr_revert_rate": format_percent,
}
_TITLES = {"cost_of_pass_usd": "cost of a pass", "cfp": "change fail percentage", "pr_revert_rate": "revert rate"}


def format_figure(estimate: Estimate, show: FormatNumber) -> str:
    """A number with its interval: `0.71 (0.60 to 0.82)`; without one, the number alone."""
    span = known_span(estimate)
    if estimate.point is None or span is None:
        return show(estimate.point)
    return f"{show(estimate.point)} ({show(span[0])} to {show(span[1])})"


def format_gain(gain: Estimate) -> str:
    """A relative gain in percent with its interval: `+12 % (-3 to +28)`."""
    if gain.point is None:
        return UNKNOWN
    span = known_span(gain)
    ends = "" if span is None else f" ({format_change(span[0])} to {format_change(span[1])})"
    return f"{format_change(gain.point)} %{ends}"


def tier_table(ladder: Ladder, most: int | None = None) -> Table:
    """One row for each tier; of more than `most`, the others are counted."""
    shown = ladder.levels if most is None else ladder.levels[:most]
    rows = [_tier_row(ladder, tier) for tier in shown]
    columns = ("", "sub-arms", "runs", quality_name(ladder), "grade", "uplift", "cost of a pass")
    if len(shown) < len(ladder.levels):
        rows.append((f"and {len(ladder.levels) - len(shown)} more", *("",) * (len(columns) - 1)))
    first = shorten_name(tier_title(ladder.levels[0]))
    return Table(
        title=f"Tiers, each configuration counted once (95 % intervals; uplift of the mean over {first})",
        columns=columns,
        rows=tuple(rows),
    )


def _tier_row(ladder: Ladder, tier: LadderTier) -> tuple[str, ...]:
    is_first = tier is ladder.levels[0]
    return (
        tier_title(tier),
        str(len(tier.sub_arms)),
        f"{tier.pooled.runs:,}",
        format_figure(tier.quality, lambda value: format_quality(ladder, value)),
        tier.grade or UNKNOWN,
        "" if is_first else format_gain(tier.gain_over_first),
        _dollars(tier),
    )


def sub_arm_table(ladder: Ladder, chances: Mapping[str, float]) -> Table:
    """One row for each configuration, tier by tier."""
    return Table(
        title=f"Configurations (95 % intervals; uplift of the mean over {shorten_name(ladder.baseline)})",
        columns=(
            "",
            "replicates",
            "runs",
            quality_name(ladder),
            "grade",
            "uplift",
            "cost of a pass",
            "on the frontier",
        ),
        rows=tuple(_sub_arm_row(ladder, sub_arm, chances) for tier in ladder.levels for sub_arm in tier.sub_arms),
    )


def _sub_arm_row(ladder: Ladder, sub_arm: SubArm, chances: Mapping[str, float]) -> tuple[str, ...]:
    chance = chances.get(sub_arm.name)
    return (
        f"{sub_arm.tier}/{sub_arm.name}",
        str(len(sub_arm.arms)),
        f"{sub_arm.summary.runs:,}",
        format_figure(sub_arm.figures[QUALITY], lambda value: format_quality(ladder, value)),
        sub_arm.grade or UNKNOWN,
        "" if ladder.baseline in sub_arm.arms else format_gain(sub_arm.gain_over_baseline),
        _dollars(sub_arm),
        UNKNOWN if chance is None else format_percent(chance),
    )


def _dollars(one: LadderTier | SubArm) -> str:
    summary = one.pooled if isinstance(one, LadderTier) else one.summary
    if summary.pass_rate.value == 0 and not summary.metrics["passed"].unknown:
        return "never passes"
    about = "about " if summary.estimated_costs else ""
    return f"{about}{format_figure(one.figures['cost_of_pass_usd'], format_dollars)}"


def arm_table(ladder: Ladder) -> Table:
    """One row for each arm, with the medians that the source of the formulas has."""
    return Table(
        title=f"Arms (uplift over {shorten_name(ladder.baseline)}, from medians and from means)",
        columns=(
            *("", "runs", "pass rate", "composite, median", "composite, mean", "grade", "uplift", "uplift of mean"),
            *("cost, mean", "cost of a pass", "frontier"),
        ),
        rows=tuple(_arm_row(tier, ladder) for tier in ladder.tiers),
    )


def _arm_row(tier: Tier, ladder: Ladder) -> tuple[str, ...]:
    summary, composite = tier.summary, tier.summary.metrics["composite"]
    about = "about " if summary.estimated_costs else ""
    return (
        f"{tier.number}. {summary.name}",
        str(summary.runs),
        format_percent(summary.pass_rate.value),
        format_score(composite.median),
        format_score(composite.mean),
        tier.grade or UNKNOWN,
        _signed_percent(tier.uplift.value),
        _signed_percent(tier.uplift_of_mean.value),
        f"{about}{format_dollars(summary.metrics['cost_usd'].mean)}",
        f"{about}{format_dollars(summary.cost_of_pass_usd.value)}",
        "yes" if summary.name in ladder.contenders.frontier else "no",
    )


def _signed_percent(value: float | None) -> str:
    return UNKNOWN if value is None else f"{format_signed(100 * value)} %"


def figure_table(ladder: Ladder) -> Table:
    """Every figure that any tier knows, in rows; tiers are columns."""
    known = [
        name
        for name in ladder.levels[0].figures
        if name != QUALITY and any(tier.figures[name].point is not None for tier in ladder.levels)
    ]
    return Table(
        title="Every figure of every tier, with 95 % intervals",
        columns=("", *(shorten_name(tier_title(tier), 20) for tier in ladder.levels)),
        rows=tuple(
            (figure_title(name), *(format_figure(tier.figures[name], _format_of(name)) for tier in ladder.levels))
            for name in known
        ),
    )


def figure_title(name: str) -> str:
    """What a figure is called on a page."""
    if name in METRICS_BY_NAME:
        return METRICS_BY_NAME[name].title
    return _TITLES.get(name, name.replace("_", " ").replace(".", ", "))


def _format_of(name: str) -> FormatNumber:
    if name in METRICS_BY_NAME:
        return UNIT_FORMATS[METRICS_BY_NAME[name].unit].value
    return _FORMATS.get(name, format_count)


def unknown_figures(ladder: Ladder) -> Iterator[str]:
    """Why figures are unknown, or have no interval: one sentence for each figure and reason, with its tiers."""
    reasons: dict[tuple[str, str], list[str]] = {}
    for tier in ladder.levels:
        for name, estimate in tier.figures.items():
            if name != QUALITY and (estimate.point is None or known_span(estimate) is None):
                missing = "is unknown" if estimate.point is None else "has no interval"
                for reason in estimate.warnings[:1]:
                    reasons.setdefault((f"{figure_title(name)} {missing}", reason), []).append(tier_title(tier))
    for (figure, reason), tiers in reasons.items():
        where = "" if len(tiers) == len(ladder.levels) else f" on {_listed(tiers)}"
        yield f"{figure}{where}: {reason.removesuffix('.')}."


def _listed(names: Sequence[str]) -> str:
    shown = ", ".join(names[:3])
    return shown if len(names) <= 3 else f"{shown} and {len(names) - 3} more"


def spread_table(ladder: Ladder) -> Table:
    """How much the tiers differ, of medians as the source has it, and of means."""
    spreads = {"of medians": ladder.of_medians, "of means": ladder.of_means, "of pooled means": ladder.of_pooled_means}
    rows = [
        ("pass rate, variance", *(_variance(each.pass_rate_variance.value) for each in spreads.values())),
        ("cost, variance", *(_variance(each.cost_variance.value) for each in spreads.values())),
        ("cost, range", *(format_dollars(each.cost_range.value) for each in spreads.values())),
    ]
    return Table(title="Spread over tiers", columns=("", *spreads), rows=tuple(rows))


def _variance(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.6g}"
