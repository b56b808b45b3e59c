"""Figures of what tiers cost: cost against quality with the doubt about the frontier, and tokens by component."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from outweigh.compare.ladder import Ladder
from outweigh.compare.ladder_levels import LadderTier, SubArm
from outweigh.model.usage import Component
from outweigh.report.axis import dollar_tick, percent_tick
from outweigh.report.document import Block, Figure, FigureValues
from outweigh.report.figures.tiers import known_span, point_and_ends, tier_title
from outweigh.report.formatting import format_count, format_dollars, format_percent
from outweigh.report.svg.bars import BarSegment, StackedBar, draw_stacked_bars
from outweigh.report.svg.cost_quality import FrontierChance, draw_frontier_chances
from outweigh.stats.estimate import Estimate

FRONTIER_CAPTION = (
    "Up is better, left is cheaper. Circles are tiers with 95 % intervals over tasks, dots are configurations."
)
CHANCES_CAPTION = (
    "The darker a mark, the more probable it is that no other one is both cheaper and at least as good; the legend has "
    "this probability in percent."
)
UNKNOWN_CHANCES_CAPTION = (
    "Who is on the frontier is not known: it takes two tasks or more to tell how far means are off."
)


def cost_quality_figures(ladder: Ladder, *, simulated: bool) -> list[Block]:
    """Tiers and configurations by mean cost and pass rate, with their chances of being on the frontier."""
    tiers = [_point(tier_title(tier), tier.figures, _tier_chance(ladder, tier), minor=False) for tier in ladder.levels]
    dots = [
        _point(sub_arm.name, sub_arm.figures, _chance(ladder, sub_arm), minor=True)
        for tier in ladder.levels
        for sub_arm in tier.sub_arms
        if len(tier.sub_arms) > 1
    ]
    points = [point for point in (*tiers, *dots) if point is not None]
    if len(points) < 2:
        return []
    title = "Cost against pass rate"
    is_known = any(point.chance is not None for point in points)
    titles = (f"{'simulated ' if simulated else ''}mean cost of a run", "pass rate")
    return [
        Figure(
            title=title,
            draw=partial(draw_frontier_chances, title, points, dollar_tick, percent_tick, titles),
            caption=f"{FRONTIER_CAPTION} {CHANCES_CAPTION if is_known else UNKNOWN_CHANCES_CAPTION}",
            text_lines=tuple(point.description for point in points if not point.minor),
            name="cost-quality",
            values=FigureValues(
                columns=(
                    *("level", "name", "cost_usd", "cost_low", "cost_high", "pass_rate", "pass_rate_low"),
                    *("pass_rate_high", "probability_on_frontier"),
                ),
                rows=tuple(_cost_quality_rows(ladder)),
            ),
        )
    ]


def _point(name: str, figures: Mapping[str, Estimate], chance: float | None, *, minor: bool) -> FrontierChance | None:
    cost, rate = figures["cost_usd"], figures["pass_rate"]
    if cost.point is None or cost.point <= 0 or rate.point is None:
        return None
    likely = "" if chance is None else f", on the frontier with {format_percent(chance)}"
    span = known_span(cost)
    return FrontierChance(
        cost=cost.point,
        quality=rate.point,
        cost_interval=None if minor or span is None else (max(0.0, span[0]), span[1]),
        quality_interval=None if minor else known_span(rate),
        chance=chance,
        minor=minor,
        legend="" if minor else f"{name}{'' if chance is None else f', {format_percent(chance)}'}",
        description=f"{name}: {format_percent(rate.point)} passed at {format_dollars(cost.point)} a run{likely}",
    )


def _cost_quality_rows(ladder: Ladder) -> Iterator[tuple[str | float | None, ...]]:
    for tier in ladder.levels:
        yield "tier", tier.name, *_cost_and_rate(tier.figures), _tier_chance(ladder, tier)
        for sub_arm in tier.sub_arms:
            yield "sub-arm", sub_arm.name, *_cost_and_rate(sub_arm.figures), _chance(ladder, sub_arm)


def _cost_and_rate(figures: Mapping[str, Estimate]) -> tuple[float | None, ...]:
    return *point_and_ends(figures["cost_usd"]), *point_and_ends(figures["pass_rate"])


def _tier_chance(ladder: Ladder, tier: LadderTier) -> float | None:
    return ladder.tier_standings[tier.number].chance_on_frontier


def _chance(ladder: Ladder, sub_arm: SubArm) -> float | None:
    return ladder.standings[sub_arm.name].chance_on_frontier


TOKENS_CAPTION = (
    "Tokens of a run by the part of the set-up they went to: means over tasks, each configuration counted once. "
    "All tiers are on one scale. Numbers are those of the legend."
)


def token_figures(ladder: Ladder) -> list[Block]:
    """One bar for each tier that knows its components."""
    tiers = {tier_title(tier): means for tier in ladder.levels if (means := _component_means(tier))}
    present = [kind for kind in Component if any(kind in means for means in tiers.values())]
    if not tiers:
        return []
    title = "Tokens of a run by component and tier"
    bars = [_component_bar(name, means, present) for name, means in tiers.items()]
    return [
        Figure(
            title=title,
            draw=partial(draw_stacked_bars, title, bars, [_words(kind) for kind in present]),
            caption=TOKENS_CAPTION,
            text_lines=tuple(_token_line(name, means) for name, means in tiers.items()),
            name="tokens-by-component",
            values=FigureValues(
                columns=("tier", "name", "component", "tokens_per_run", "low", "high"),
                rows=tuple(
                    (tier.number, tier.name, kind.value, *point_and_ends(tier.figures[_figure_of(kind)]))
                    for tier in ladder.levels
                    for kind in _component_means(tier)
                ),
            ),
        )
    ]


def _component_means(tier: LadderTier) -> dict[Component, float]:
    """Tokens of every component that any run used."""
    found = {kind: tier.figures[name].point for kind in Component if (name := _figure_of(kind)) in tier.figures}
    return {kind: mean for kind, mean in found.items() if mean}


def _figure_of(kind: Component) -> str:
    return f"tokens_of_{kind.value}"


def _component_bar(name: str, means: Mapping[Component, float], present: Sequence[Component]) -> StackedBar:
    parts = tuple(
        BarSegment(
            number=present.index(kind) + 1,
            size=mean,
            description=f"{name}, {_words(kind)}: {format_count(mean)} tokens a run",
        )
        for kind, mean in means.items()
    )
    return StackedBar(name=name, label=f"{format_count(sum(means.values()))} tokens a run", parts=parts)


def _token_line(name: str, means: Mapping[Component, float]) -> str:
    largest = max(means, key=lambda kind: means[kind])
    total = sum(means.values())
    share = format_percent(means[largest] / total)
    return f"{name}: {format_count(total)} tokens a run, {share} of them {_words(largest)}"


def _words(kind: Component) -> str:
    return kind.value.replace("_", " ")
