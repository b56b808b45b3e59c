"""Figure of how far judges agree with themselves and with each other."""

from functools import partial
from math import isfinite

from outweigh.compare.judge_agreement import PanelAgreement
from outweigh.report.document import Block, Figure, FigureValues
from outweigh.report.judge_tables import format_alpha
from outweigh.report.svg.intervals import AgreementRow, draw_agreement
from outweigh.stats.agreement import TaskAlphas
from outweigh.stats.estimate import Estimate

AGREEMENT_CAPTION = (
    "Krippendorff's alpha with its 95 % interval over tasks: 1 is full agreement, 0 is what chance gives. Within "
    "tasks, the difference between easy and hard tasks does not count. A judge that does not agree with itself cannot "
    "agree with others."
)


def judge_agreement_figures(panel: PanelAgreement | None) -> list[Block]:
    """Rows for every judge that judged twice, and for all of them; nothing where nothing is known."""
    if panel is None:
        return []
    rows = [row for judge in panel.judges for row in _rows(f"{judge.judge_version.name} with itself", judge.retest)]
    if len(panel.judges) > 1:
        rows += _rows("judges with each other", panel.agreement)
    known = [row for row in rows if row.alpha is not None]
    if not known:
        return []
    title = "Agreement of the judges"
    return [
        Figure(
            title=title,
            draw=partial(draw_agreement, title, known),
            caption=AGREEMENT_CAPTION,
            text_lines=(),
            name="judge-agreement",
            values=FigureValues(
                columns=("name", "alpha", "low", "high"),
                rows=tuple((row.name, row.alpha, *(row.interval or (None, None))) for row in known),
            ),
        )
    ]


def _rows(name: str, alphas: TaskAlphas) -> list[AgreementRow]:
    return [
        _agreement_row(name, alphas.overall, alphas.runs),
        _agreement_row(f"{name}, within tasks", alphas.within, alphas.runs),
    ]


def _agreement_row(name: str, alpha: Estimate, runs: int) -> AgreementRow:
    found = alpha.interval
    bounded = found is not None and isfinite(found.low) and isfinite(found.high)
    label = format_alpha(alpha)
    return AgreementRow(
        name=name,
        alpha=alpha.point if alpha.point is not None and isfinite(alpha.point) else None,
        interval=(found.low, found.high) if found is not None and bounded else None,
        label=label,
        description=f"{name}: alpha {label} over {runs} runs of {alpha.n} tasks",
    )
