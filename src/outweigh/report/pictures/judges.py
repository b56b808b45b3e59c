"""How far judges agree, with themselves and with each other."""

from math import isfinite

from outweigh.compare.judge_panel import JudgePanel
from outweigh.report.charts.agreement import Accord, agreement_chart
from outweigh.report.document import Block, Picture
from outweigh.report.judges_view import shown_alpha
from outweigh.stats.estimate import Estimate

CAPTION = (
    "Krippendorff's alpha with its 95 % interval: 1 is full agreement, 0 is what chance gives. A judge that does "
    "not agree with itself can agree with nobody."
)


def judge_pictures(panel: JudgePanel | None) -> list[Block]:
    """One row per judge that judged twice, and one for all of them; nothing where nothing is known."""
    if panel is None:
        return []
    rows = [_accord(f"{judge.voice.name} with itself", judge.retest) for judge in panel.judges]
    if len(panel.judges) > 1:
        rows.append(_accord("judges with each other", panel.agreement))
    known = [row for row in rows if row.alpha is not None]
    if not known:
        return []
    title = "Agreement of the judges"
    return [Picture(title=title, svg=agreement_chart(title, known), caption=CAPTION, words=())]


def _accord(name: str, alpha: Estimate) -> Accord:
    found = alpha.interval
    bounded = found is not None and isfinite(found.low) and isfinite(found.high)
    figures = shown_alpha(alpha)
    return Accord(
        name=name,
        alpha=alpha.point if alpha.point is not None and isfinite(alpha.point) else None,
        interval=(found.low, found.high) if found is not None and bounded else None,
        figures=figures,
        words=f"{name}: alpha {figures} over {alpha.n} runs",
    )
