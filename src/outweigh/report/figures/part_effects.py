"""Figures of parts: the forest of their effects on quality, and the matrix of their interactions."""

from msgspec.structs import replace

from outweigh.compare.part_effects import DesignEffects, PartEffect
from outweigh.report.document import Figure
from outweigh.report.figures.forest import ForestEffect, forest_figure, interaction_figure
from outweigh.report.interval_rows import ChangeMarker

SHOWN_LEVEL = 0.05
EFFECTS_CAPTION = (
    "What each part adds, in points; an interaction is half of what one part gains when the other is there. The 95 % "
    "intervals hold together (max-t over tasks). Filled circles (better) and diamonds (worse) are beyond what chance "
    "explains. Effects decide nothing: pairs of arms do."
)


def part_figures(title: str, effects: DesignEffects) -> list[Figure]:
    """Effects on quality in the order of the table; interactions where the design estimates any."""
    found = effects.metrics[0]
    if not found.effects or found.ratio:
        return []
    rows = [_forest_effect(effect) for effect in found.effects]
    of_screen = "" if title == "Effects" else f"-of-{title.lower()}"
    figures = [forest_figure(f"effects{of_screen}", f"{title} of parts on {found.metric}", EFFECTS_CAPTION, rows)]
    pairs = {effect.terms[0]: effect for effect in found.effects if len(effect.terms[0]) == 2}
    if pairs:
        parts = list(dict.fromkeys(part for effect in found.effects for part in effect.terms[0]))
        cells = {(one, other): _forest_effect(effect) for (one, other), effect in pairs.items()}
        figures.append(
            interaction_figure(
                f"Interactions of parts on {found.metric}", parts, cells, name=f"interactions{of_screen}"
            )
        )
    # The tables beside them say the same in words.
    return [replace(figure, text_chart=(), text_lines=()) for figure in figures]


def _forest_effect(effect: PartEffect) -> ForestEffect:
    contrast, together = effect.contrast, effect.contrast.simultaneous
    is_shown = contrast.adjusted is not None and contrast.adjusted <= SHOWN_LEVEL
    mark = ChangeMarker.OPEN
    if is_shown:
        mark = ChangeMarker.BETTER if contrast.is_positive else ChangeMarker.WORSE
    return ForestEffect(
        name=effect.label,
        value=contrast.estimate,
        interval=None if together is None else (together.low, together.high),
        mark=mark,
        state=mark.value if is_shown else "",
        reason=contrast.reason or "",
    )
