"""Figures of the quality of tiers: their steps, and forests of their uplifts and differences."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from math import isfinite

from outweigh.compare.ladder import Ladder
from outweigh.compare.ladder_contrasts import TierContrast
from outweigh.compare.ladder_levels import QUALITY, LadderTier
from outweigh.report.axis import percent_tick, plain_tick
from outweigh.report.document import Block, Figure, FigureValues
from outweigh.report.figures.forest import ForestEffect, forest_figure
from outweigh.report.figures.text_charts import text_bar
from outweigh.report.formatting import (
    UNKNOWN,
    format_percent,
    format_score,
    shorten_name,
)
from outweigh.report.interval_rows import ChangeMarker
from outweigh.report.svg.steps import SubArmTick, TierStep, draw_steps
from outweigh.stats.estimate import Estimate

Span = tuple[float, float]


def tier_title(tier: LadderTier) -> str:
    """The number of a tier with its name, unless the name has it."""
    return tier.name if str(tier.number) in tier.name else f"{tier.number}. {tier.name}"


def quality_name(ladder: Ladder) -> str:
    """What tiers are ranked by, in words."""
    return {"passed": "pass rate", "judge_score": "judge score"}.get(ladder.quality, "composite")


def format_quality(ladder: Ladder, value: float | None) -> str:
    """A pass rate as a percentage, a composite or a judge score as a score."""
    return format_percent(value) if ladder.quality == "passed" else format_score(value)


def known_span(estimate: Estimate) -> Span | None:
    """Both ends of an interval that the data bound."""
    found = estimate.interval
    if found is None or not (isfinite(found.low) and isfinite(found.high)):
        return None
    return found.low, found.high


def contrast_mark(contrast: TierContrast) -> ChangeMarker:
    """Better or worse beyond what chance explains; open where it is not shown."""
    if not contrast.shown:
        return ChangeMarker.OPEN
    return ChangeMarker.BETTER if contrast.difference.is_positive else ChangeMarker.WORSE


def mark_word(mark: ChangeMarker) -> str:
    """The word for a difference that is shown; empty for others."""
    return mark.value if mark in (ChangeMarker.BETTER, ChangeMarker.WORSE) else ""


STEPS_CAPTION = (
    "Circles are tiers, each configuration counted once, with 95 % intervals over tasks; short strokes below are the "
    "configurations. The dashed line leads from tier to tier. A filled circle (better) or a diamond (worse) marks a "
    "tier that differs from the first beyond what chance explains, with all tiers looked at."
)


def step_figures(ladder: Ladder) -> list[Block]:
    """The quality of every tier, where any is known."""
    if all(tier.quality.point is None for tier in ladder.levels):
        return []
    states = {contrast.tier: contrast_mark(contrast) for contrast in ladder.tests.against_first}
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
    state = mark_word(mark)
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
        yield "tier", tier.number, tier.name, *point_and_ends(tier.quality), tier.grade
        for sub_arm in tier.sub_arms:
            yield "sub-arm", tier.number, sub_arm.name, *point_and_ends(sub_arm.figures[QUALITY]), sub_arm.grade


def point_and_ends(estimate: Estimate) -> tuple[float | None, float | None, float | None]:
    """A number and both ends of its interval, None where they are unknown."""
    low, high = known_span(estimate) or (None, None)
    return estimate.point, low, high


UPLIFT_CAPTION = (
    "Relative gain of the mean over the first tier, in percent. Each 95 % interval over tasks is of its row alone. A "
    "filled circle (better) or a diamond (worse) marks a tier that differs from the first with all tiers looked at."
)


def uplift_figures(ladder: Ladder) -> list[Block]:
    """Uplift of the tiers over the first one, where any is known."""
    first = ladder.levels[0]
    states = {contrast.tier: contrast_mark(contrast) for contrast in ladder.tests.against_first}
    effects = [_gain(tier_title(tier), tier.gain_over_first, states[tier.number]) for tier in ladder.levels[1:]]
    title = f"Uplift of the mean {quality_name(ladder)} over {tier_title(first)}"
    return _forest("uplift", title, UPLIFT_CAPTION, effects)


CONTRASTS_CAPTION = (
    "Differences in points, each step first, then each tier against the first one. The 95 % intervals hold together "
    "(max-t over tasks). Filled circles (better) and diamonds (worse) are beyond what chance explains."
)


def contrast_figures(ladder: Ladder) -> list[Block]:
    """Every step and every contrast to the first tier, with simultaneous intervals."""
    names = {tier.number: tier_title(tier) for tier in ladder.levels}
    effects = [_contrast(contrast, names) for contrast in all_contrasts(ladder)]
    if all(effect.interval is None for effect in effects):
        return []
    title = f"Differences of the mean {quality_name(ladder)} between tiers"
    return [forest_figure("contrasts", title, CONTRASTS_CAPTION, effects)]


def all_contrasts(ladder: Ladder) -> list[TierContrast]:
    """Steps, then contrasts to the first tier that are no steps."""
    return [*ladder.tests.steps, *ladder.tests.against_first[1:]]


def _contrast(contrast: TierContrast, names: Mapping[int, str]) -> ForestEffect:
    together, mark = contrast.difference.simultaneous, contrast_mark(contrast)
    return ForestEffect(
        name=f"{names[contrast.tier]} over {names[contrast.reference]}",
        value=contrast.difference.estimate,
        interval=None if together is None else (together.low, together.high),
        mark=mark,
        state=mark_word(mark),
        reason=contrast.difference.reason or "",
    )


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


def _gain(name: str, gain: Estimate, mark: ChangeMarker = ChangeMarker.OPEN) -> ForestEffect:
    return ForestEffect(
        name=name,
        value=gain.point,
        interval=known_span(gain),
        mark=ChangeMarker.UNKNOWN if gain.point is None else mark,
        state=mark_word(mark),
        reason="" if known_span(gain) is not None else "; ".join(gain.warnings),
    )
