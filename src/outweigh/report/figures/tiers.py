"""Figures of a ladder: its steps, the forest of uplifts, cost against quality, and tokens by component."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isfinite

from outweigh.compare.ladder import Ladder
from outweigh.compare.ladder_levels import QUALITY, LadderTier, SubArm
from outweigh.model.usage import Component
from outweigh.report.axis import dollar_tick, percent_tick, plain_tick
from outweigh.report.document import Block, Figure, FigureValues
from outweigh.report.figures.forest import ForestEffect, forest_figure
from outweigh.report.figures.text_charts import text_bar
from outweigh.report.formatting import (
    UNKNOWN,
    format_count,
    format_dollars,
    format_percent,
    format_score,
    shorten_name,
)
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.svg.bars import BarSegment, StackedBar, draw_stacked_bars
from outweigh.report.svg.cost_quality import FrontierChance, draw_frontier_chances
from outweigh.report.svg.steps import SubArmTick, TierStep, draw_steps
from outweigh.stats.estimate import Estimate

Span = tuple[float, float]


def tier_title(tier: LadderTier) -> str:
    """The number of a tier with its name, unless the name has it."""
    return tier.name if str(tier.number) in tier.name else f"{tier.number}. {tier.name}"


def quality_name(ladder: Ladder) -> str:
    """What tiers are ranked by, in words."""
    return "pass rate" if ladder.quality == "passed" else "composite"


def format_quality(ladder: Ladder, value: float | None) -> str:
    """A pass rate as a percentage, a composite as a score."""
    return format_percent(value) if ladder.quality == "passed" else format_score(value)


def known_span(estimate: Estimate) -> Span | None:
    """Both ends of an interval that the data bound."""
    found = estimate.interval
    if found is None or not (isfinite(found.low) and isfinite(found.high)):
        return None
    return found.low, found.high


STEPS_CAPTION = (
    "Circles are tiers, each configuration counted once, with 95 % intervals over tasks; short strokes below are the "
    "configurations. The dashed line leads from tier to tier. A filled circle (better) or a diamond (worse) marks a "
    "tier that differs from the first beyond what chance explains, with all tiers looked at."
)


def step_figures(ladder: Ladder, states: Mapping[int, ChangeMarker]) -> list[Block]:
    """The quality of every tier, where any is known. `states` says which tiers differ from the first."""
    if all(tier.quality.point is None for tier in ladder.levels):
        return []
    steps = [_step(ladder, tier, states.get(tier.number, ChangeMarker.OPEN)) for tier in ladder.levels]
    title = f"Steps: {quality_name(ladder)} of every tier"
    tick = percent_tick if ladder.quality == "passed" else plain_tick
    widest = max(len(shorten_name(step.name)) for step in steps)
    chart = tuple(f"{shorten_name(step.name):<{widest}}  {text_bar(step.value or 0.0)}  {step.label}" for step in steps)
    return [
        Figure(
            title=title,
            draw=partial(draw_steps, title, steps, tick, quality_name(ladder)),
            caption=STEPS_CAPTION,
            text_lines=(),
            text_chart=chart,
            name="steps",
            values=FigureValues(
                columns=("level", "tier", "name", quality_name(ladder).replace(" ", "_"), "low", "high", "grade"),
                rows=tuple(_step_rows(ladder)),
            ),
        )
    ]


def _step(ladder: Ladder, tier: LadderTier, mark: ChangeMarker) -> TierStep:
    label = _label(ladder, tier.quality)
    members = tuple(
        SubArmTick(value=value, description=f"{one.name}: {_label(ladder, one.figures[QUALITY])}")
        for one in tier.sub_arms
        if (value := one.figures[QUALITY].point) is not None and len(tier.sub_arms) > 1
    )
    state = mark.value if mark in (ChangeMarker.BETTER, ChangeMarker.WORSE) else ""
    grade = f", {tier.grade}" if tier.grade else ""
    return TierStep(
        name=tier_title(tier),
        value=tier.quality.point,
        interval=known_span(tier.quality),
        members=members,
        mark=mark,
        state=state,
        label=f"{label}{grade}",
        description=f"{tier_title(tier)}: {label}{grade}{f', {state}' if state else ''}",
    )


def _label(ladder: Ladder, estimate: Estimate) -> str:
    if estimate.point is None:
        return UNKNOWN
    span = known_span(estimate)
    ends = "" if span is None else f" ({format_quality(ladder, span[0])} to {format_quality(ladder, span[1])})"
    return f"{format_quality(ladder, estimate.point)}{ends}"


def _step_rows(ladder: Ladder) -> Iterator[tuple[str | float | None, ...]]:
    for tier in ladder.levels:
        yield "tier", tier.number, tier.name, *_ends(tier.quality), tier.grade
        for sub_arm in tier.sub_arms:
            yield "sub-arm", tier.number, sub_arm.name, *_ends(sub_arm.figures[QUALITY]), sub_arm.grade


def _ends(estimate: Estimate) -> tuple[float | None, float | None, float | None]:
    low, high = known_span(estimate) or (None, None)
    return estimate.point, low, high


UPLIFT_CAPTION = (
    "Relative gain of the mean over the first tier, in percent, with its 95 % interval over tasks. Intervals of single "
    "rows: with many rows some lie beyond no change by chance."
)


def uplift_figures(ladder: Ladder) -> list[Block]:
    """Uplift of the tiers over the first one, where any is known."""
    first = ladder.levels[0]
    effects = [_gain(tier_title(tier), tier.gain_over_first) for tier in ladder.levels[1:]]
    title = f"Uplift of the mean {quality_name(ladder)} over {tier_title(first)}"
    return _forest("uplift", title, UPLIFT_CAPTION, effects)


SUB_ARM_CAPTION = (
    "Relative gain of the mean over the baseline, in percent, with its 95 % interval over tasks. Intervals of single "
    "rows: with many rows some lie beyond no change by chance, so none is coloured."
)


def sub_arm_figures(ladder: Ladder) -> list[Block]:
    """Uplift of every configuration over the baseline, tier by tier, where any tier has several."""
    if not has_sub_arms(ladder):
        return []
    effects = [
        _gain(f"{tier.number}/{sub_arm.name}", sub_arm.gain_over_baseline)
        for tier in ladder.levels
        for sub_arm in tier.sub_arms
        if ladder.baseline not in sub_arm.arms
    ]
    title = f"Uplift of every configuration over {ladder.baseline}"
    return _forest("uplift-of-sub-arms", title, SUB_ARM_CAPTION, effects)


def has_sub_arms(ladder: Ladder) -> bool:
    """Whether any tier has several configurations."""
    return any(len(tier.sub_arms) > 1 for tier in ladder.levels)


def _forest(name: str, title: str, caption: str, effects: Sequence[ForestEffect]) -> list[Block]:
    if all(effect.value is None for effect in effects):
        return []
    return [forest_figure(name, title, caption, effects, unit="%")]


def _gain(name: str, gain: Estimate) -> ForestEffect:
    return ForestEffect(
        name=name,
        value=gain.point,
        interval=known_span(gain),
        mark=ChangeMarker.UNKNOWN if gain.point is None else ChangeMarker.OPEN,
        reason="" if known_span(gain) is not None else "; ".join(gain.warnings),
    )


MOST_LISTED = 12
LEAST_CHANCE = 0.05
FRONTIER_CAPTION = (
    "Up is better, left is cheaper. Circles are tiers with 95 % intervals over tasks, dots are configurations. The "
    "darker a mark, the more probable it is that no other one is both cheaper and at least as good; the legend has "
    "this probability in percent."
)


def cost_quality_figures(ladder: Ladder, chances: Mapping[str, float]) -> list[Block]:
    """Tiers and configurations by mean cost and pass rate. `chances` are those of being on the frontier, by name."""
    tiers = [_point(tier_title(tier), tier.figures, chances.get(tier.name), minor=False) for tier in ladder.levels]
    dots = [
        _point(sub_arm.name, sub_arm.figures, chances.get(sub_arm.name), minor=True)
        for tier in ladder.levels
        for sub_arm in tier.sub_arms
        if len(tier.sub_arms) > 1
    ]
    points = [point for point in (*tiers, *dots) if point is not None]
    if len(points) < 2:
        return []
    title = "Cost against pass rate"
    titles = ("mean cost of a run", "pass rate")
    return [
        Figure(
            title=title,
            draw=partial(draw_frontier_chances, title, points, dollar_tick, percent_tick, titles),
            caption=FRONTIER_CAPTION,
            text_lines=tuple(point.description for point in points if not point.minor),
            name="cost-quality",
            values=FigureValues(
                columns=(
                    *("level", "name", "cost_usd", "cost_low", "cost_high", "pass_rate", "pass_rate_low"),
                    *("pass_rate_high", "probability_on_frontier"),
                ),
                rows=tuple(_cost_quality_rows(ladder, chances)),
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


def _cost_quality_rows(ladder: Ladder, chances: Mapping[str, float]) -> Iterator[tuple[str | float | None, ...]]:
    levels: list[tuple[str, str, LadderTier | SubArm]] = [("tier", tier.name, tier) for tier in ladder.levels]
    levels += [("sub-arm", one.name, one) for tier in ladder.levels for one in tier.sub_arms]
    for level, name, one in levels:
        yield level, name, *_ends(one.figures["cost_usd"]), *_ends(one.figures["pass_rate"]), chances.get(name)


TOKENS_CAPTION = (
    "Tokens of a run by the part of the set-up they went to: the mean over the counted runs of a tier. "
    "All tiers are on one scale. Numbers are those of the legend."
)


def token_figures(ladder: Ladder) -> list[Block]:
    """One bar for each tier that knows its components."""
    tiers = {tier_title(tier): means for tier in ladder.levels if (means := _component_means(ladder, tier.number))}
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
                columns=("tier", "component", "tokens_per_run"),
                rows=tuple((name, kind.value, mean) for name, means in tiers.items() for kind, mean in means.items()),
            ),
        )
    ]


def _component_means(ladder: Ladder, number: int) -> dict[Component, float]:
    """Tokens of every component, per run of the arms that know theirs."""
    arms = [tier.summary for tier in ladder.tiers if tier.number == number and tier.summary.components]
    runs = sum(arm.runs for arm in arms)
    totals = Counter[Component]()
    for arm in arms:
        totals.update({part.component: part.tokens for part in arm.components})
    return {kind: totals[kind] / runs for kind in Component if totals[kind]}


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
