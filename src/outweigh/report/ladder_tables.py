"""The tables of a ladder: tiers and configurations with their intervals, and every figure of every tier."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from outweigh.compare.ladder import Ladder, Tier
from outweigh.compare.ladder_contrasts import TierContrast
from outweigh.compare.ladder_levels import QUALITY, LadderTier, SubArm
from outweigh.compare.ladder_ranks import Standing
from outweigh.report.document import Table
from outweigh.report.figures.tiers import (
    all_contrasts,
    contrast_mark,
    format_quality,
    known_span,
    mark_word,
    quality_name,
    tier_title,
)
from outweigh.report.formatting import (
    SIMULATED,
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
MOST_GRADES = 3
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


def tier_table(ladder: Ladder, *, simulated: bool, most: int | None = None) -> Table:
    """One row for each tier; of more than `most`, the others are counted. What is `simulated` cost nothing."""
    shown = ladder.levels if most is None else ladder.levels[:most]
    rows = [_tier_row(ladder, tier, simulated=simulated) for tier in shown]
    columns = ("", "sub-arms", "runs", quality_name(ladder), "grade", "uplift", "cost of a pass")
    if len(shown) < len(ladder.levels):
        rows.append((f"and {len(ladder.levels) - len(shown)} more", *("",) * (len(columns) - 1)))
    first = shorten_name(tier_title(ladder.levels[0]))
    return Table(
        title=f"Tiers, each configuration counted once (95 % intervals; uplift of the mean over {first})",
        columns=columns,
        rows=tuple(rows),
    )


def _tier_row(ladder: Ladder, tier: LadderTier, *, simulated: bool) -> tuple[str, ...]:
    is_first = tier is ladder.levels[0]
    return (
        tier_title(tier),
        str(len(tier.sub_arms)),
        f"{tier.pooled.runs:,}",
        format_figure(tier.quality, lambda value: format_quality(ladder, value)),
        tier.grade or UNKNOWN,
        "" if is_first else format_gain(tier.gain_over_first),
        SIMULATED if simulated else _dollars(tier),
    )


def sub_arm_table(ladder: Ladder, *, simulated: bool) -> Table:
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
            "chance of best",
            "chance of frontier",
        ),
        rows=tuple(
            _sub_arm_row(ladder, sub_arm, simulated=simulated) for tier in ladder.levels for sub_arm in tier.sub_arms
        ),
    )


def _sub_arm_row(ladder: Ladder, sub_arm: SubArm, *, simulated: bool) -> tuple[str, ...]:
    standing = ladder.standings[sub_arm.name]
    return (
        f"{sub_arm.tier}/{sub_arm.name}",
        str(len(sub_arm.arms)),
        f"{sub_arm.summary.runs:,}",
        format_figure(sub_arm.figures[QUALITY], lambda value: format_quality(ladder, value)),
        sub_arm.grade or UNKNOWN,
        "" if ladder.baseline in sub_arm.arms else format_gain(sub_arm.gain_over_baseline),
        SIMULATED if simulated else _dollars(sub_arm),
        format_percent(standing.chance_best),
        format_percent(standing.chance_on_frontier),
    )


def _dollars(one: LadderTier | SubArm) -> str:
    summary = one.pooled if isinstance(one, LadderTier) else one.summary
    if summary.pass_rate.value == 0 and not summary.metrics["passed"].unknown:
        return "never passes"
    about = "about " if summary.estimated_costs else ""
    return f"{about}{format_figure(one.figures['cost_of_pass_usd'], format_dollars)}"


def contrast_table(ladder: Ladder, *, simulated: bool) -> Table:
    """Steps and contrasts to the first tier, with their p-values and the price of one more solved task."""
    names = {tier.number: shorten_name(tier_title(tier), 20) for tier in ladder.levels}
    return Table(
        title=f"Differences of the mean {quality_name(ladder)} (95 % intervals that hold together)",
        columns=("", "points", "p, max-t", "p, Holm", "p, Wilcoxon", "one more solved task", "is"),
        rows=tuple(_contrast_row(contrast, names, simulated=simulated) for contrast in all_contrasts(ladder)),
    )


def _contrast_row(contrast: TierContrast, names: Mapping[int, str], *, simulated: bool) -> tuple[str, ...]:
    difference, together = contrast.difference, contrast.difference.simultaneous
    ends = "" if together is None else f" ({format_change(together.low)} to {format_change(together.high)})"
    return (
        f"{names[contrast.tier]} over {names[contrast.reference]}",
        UNKNOWN if difference.estimate is None else f"{format_change(difference.estimate)}{ends}",
        format_p(difference.adjusted),
        format_p(difference.holm),
        format_p(contrast.wilcoxon.p_value),
        SIMULATED if simulated else _price(contrast),
        mark_word(contrast_mark(contrast)) or "not shown",
    )


def _price(contrast: TierContrast) -> str:
    """The price of one more solved task; where there is none, the step solves no more tasks or a part is unknown."""
    price = contrast.price_of_one_more_pass
    return format_figure(price, format_dollars) if price.point is not None else "no price"


def omnibus_table(ladder: Ladder) -> Table:
    """Whether tiers differ at all, by three tests; the first decides."""
    omnibus = ladder.tests.omnibus
    both = omnibus.scheirer_ray_hare
    tests = {
        "Friedman, over tasks": omnibus.friedman,
        "Kruskal–Wallis, over runs": omnibus.kruskal_wallis,
        "Scheirer–Ray–Hare, tiers": both.first,
        "Scheirer–Ray–Hare, tasks": both.second,
        "Scheirer–Ray–Hare, interaction": both.interaction,
    }
    return Table(
        title="Do the tiers differ at all? Friedman decides; the others take runs as independent, which they are not",
        columns=("", "statistic", "p", "n"),
        rows=tuple(
            (name, UNKNOWN if one.statistic is None else f"{one.statistic:.3g}", format_p(one.p_value), f"{one.n:,}")
            for name, one in tests.items()
        ),
    )


def standing_table(ladder: Ladder) -> Table:
    """How sure the order of the tiers is."""
    return Table(
        title="Standing of every tier (95 % intervals of ranks; chances from bootstrap draws of the tasks)",
        columns=("", "rank", "chance of best", "chance of frontier", "chances of grades"),
        rows=tuple((tier_title(tier), *_standing_cells(ladder.tier_standings[tier.number])) for tier in ladder.levels),
    )


def _standing_cells(standing: Standing) -> tuple[str, ...]:
    ends = "" if standing.ranks is None else f" ({standing.ranks[0]} to {standing.ranks[1]})"
    likely = sorted(standing.grades.items(), key=lambda item: -item[1])
    return (
        UNKNOWN if standing.rank is None else f"{standing.rank}{ends}",
        format_percent(standing.chance_best),
        format_percent(standing.chance_on_frontier),
        ", ".join(f"{letter} {format_percent(chance)}" for letter, chance in likely[:MOST_GRADES]) or UNKNOWN,
    )


def format_p(value: float | None) -> str:
    """A p-value; one too small to matter is an upper end."""
    if value is None:
        return UNKNOWN
    return "< 0.001" if value < 0.001 else f"{value:.2g}"


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
