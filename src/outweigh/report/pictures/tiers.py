"""The ladder as bars."""

from outweigh.compare.ladder import Ladder, Tier
from outweigh.report.charts.ladder import Rung, ladder_chart
from outweigh.report.charts.sketch import bar
from outweigh.report.charts.svg import shortened
from outweigh.report.document import Block, Picture
from outweigh.report.wording import UNKNOWN, percent, score

CAPTION = (
    "Bars end at the median composite (both dimensions, even weights), dots at its mean; the uplift is the median's "
    "gain over the first tier. No interval is drawn: a ladder ranks, `outweigh verdict` decides."
)


def ladder_pictures(ladder: Ladder) -> list[Block]:
    """One bar per tier, where any tier has a composite."""
    rungs = [_rung(tier) for tier in ladder.tiers]
    if all(rung.score is None for rung in rungs):
        return []
    title = "The ladder: composite, grade and uplift of every tier"
    widest = max(len(shortened(rung.name)) for rung in rungs)
    sketch = tuple(f"{shortened(rung.name):<{widest}}  {bar(rung.score or 0.0)}  {rung.figures}" for rung in rungs)
    svg = ladder_chart(title, rungs, dict(ladder.scale.thresholds))
    return [Picture(title=title, svg=svg, caption=CAPTION, words=(), sketch=sketch)]


def _rung(tier: Tier) -> Rung:
    summary, composite = tier.summary, tier.summary.metrics["composite"]
    uplift = UNKNOWN if tier.uplift.value is None else f"{100 * tier.uplift.value:+.1f} %"
    figures = (
        f"{score(composite.median)}, {summary.grade or 'no grade'}{'' if tier.rank == 0 else f', uplift {uplift}'}"
    )
    words = f"{summary.name}: {figures}; mean {score(composite.mean)}; pass rate {percent(summary.pass_rate.value)}"
    name = f"{tier.rank}. {summary.name}"
    return Rung(name=name, score=composite.median, mean=composite.mean, figures=figures, words=words)
