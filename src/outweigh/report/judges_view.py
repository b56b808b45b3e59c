"""How far the judges of a comparison can be trusted, in a few rows."""

from outweigh.compare.judge_panel import JudgePanel, JudgeSummary
from outweigh.record.voice import Voice
from outweigh.report.document import Block, Bullets, Table, Tone
from outweigh.report.wording import UNKNOWN, dollars
from outweigh.score.judged import NOTABLE_GAP
from outweigh.stats.estimate import Estimate


def judge_blocks(panel: JudgePanel | None) -> list[Block]:
    """A table of judges and what is to be said about them together; nothing where nobody judged."""
    if panel is None:
        return []
    arms = list(panel.cost_usd)
    table = Table(
        title="Judges",
        columns=("", *(f"answers, {arm}" for arm in arms), "unusable", "own sums off", "with itself", "cost"),
        rows=tuple(_row(judge) for judge in panel.judges),
    )
    return [table, Bullets(title="About the judges", items=tuple(_remarks(panel)), tone=Tone.PLAIN)]


def shown_alpha(alpha: Estimate) -> str:
    """Alpha with its interval, or that there is none."""
    if alpha.point is None:
        return UNKNOWN
    if alpha.interval is None:
        return f"{alpha.point:.3f}"
    return f"{alpha.point:.3f} ({alpha.interval.low:.3f} to {alpha.interval.high:.3f})"


def _row(judge: JudgeSummary) -> tuple[str, ...]:
    costs = [quantity.value for quantity in judge.cost_usd.values()]
    known = [cost for cost in costs if cost is not None]
    sums = f"{judge.notable_gaps} of {judge.stated_totals}" if judge.stated_totals else "none stated"
    return (
        judge.voice.name
        if judge.voice.model in (None, judge.voice.name)
        else f"{judge.voice.name}, {judge.voice.model}",
        *(str(number) for number in judge.answers.values()),
        str(sum(judge.invalid.values())),
        sums,
        shown_alpha(judge.retest),
        dollars(sum(known)) if len(known) == len(costs) else UNKNOWN,
    )


def _name(voice: Voice) -> str:
    return voice.name if voice.model in (None, voice.name) else f"{voice.name}, {voice.model}"


def _remarks(panel: JudgePanel) -> list[str]:
    lines = []
    if len(panel.judges) > 1:
        alpha = panel.agreement
        lines.append(f"agreement between judges, Krippendorff's alpha over {alpha.n} runs: {shown_alpha(alpha)}")
    costs = [quantity.value for quantity in panel.cost_usd.values()]
    known = [cost for cost in costs if cost is not None]
    total = dollars(sum(known)) if len(known) == len(costs) else UNKNOWN
    lines.append(f"judging cost {total}; it is in none of the arms' costs")
    if any(judge.notable_gaps for judge in panel.judges):
        lines.append(
            f"own sums off: a judge's own total was more than {NOTABLE_GAP:g} from the sum of its parts. Only the "
            "parts count."
        )
    if flagged := sum(judge.flagged for judge in panel.judges):
        lines.append(f"{flagged} judgments carry warnings, such as words of a run that speak to its judge")
    return lines
