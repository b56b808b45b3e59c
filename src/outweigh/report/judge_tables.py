"""The judges on the pages of `verdict`, `compare` and `report`: each one's answers, and every two compared."""

from outweigh.compare.judge_agreement import JudgePair, JudgeSummary, PanelAgreement
from outweigh.model.judgment import JudgeVersion
from outweigh.report.document import Block, BulletList, Table, Tone
from outweigh.report.formatting import UNKNOWN, format_dollars, format_score
from outweigh.score.judge_scores import NOTABLE_GAP
from outweigh.stats.agreement import TaskAlphas
from outweigh.stats.estimate import Estimate


def judge_blocks(panel: PanelAgreement | None) -> list[Block]:
    """A table of judges and remarks on all of them; nothing where no run was judged."""
    if panel is None:
        return []
    arms = list(panel.cost_usd)
    table = Table(
        title="Judges",
        columns=(
            "",
            *(f"answers, {arm}" for arm in arms),
            "unusable",
            "own sums off",
            "with itself",
            "within tasks",
            "cost",
        ),
        rows=tuple(_judge_row(judge) for judge in panel.judges),
    )
    remarks = BulletList(title="About the judges", items=tuple(_judge_remarks(panel)), tone=Tone.PLAIN)
    return [table, *([_pair_table(panel)] if panel.pairs else []), remarks]


def format_alpha(alpha: Estimate) -> str:
    """Alpha with its interval, or that there is none."""
    if alpha.point is None:
        return UNKNOWN
    if alpha.interval is None:
        return f"{alpha.point:.3f}"
    return f"{alpha.point:.3f} ({alpha.interval.low:.3f} to {alpha.interval.high:.3f})"


def _judge_name(judge: JudgeVersion) -> str:
    return judge.name if judge.model in (None, judge.name) else f"{judge.name}, {judge.model}"


def _judge_row(judge: JudgeSummary) -> tuple[str, ...]:
    costs = [quantity.value for quantity in judge.cost_usd.values()]
    known = [cost for cost in costs if cost is not None]
    sums = f"{judge.notable_gaps} of {judge.stated_totals}" if judge.stated_totals else "none stated"
    return (
        _judge_name(judge.judge_version),
        *(str(number) for number in judge.answers.values()),
        str(sum(judge.invalid.values())),
        sums,
        format_alpha(judge.retest.overall),
        format_alpha(judge.retest.within),
        format_dollars(sum(known)) if len(known) == len(costs) else UNKNOWN,
    )


def _pair_table(panel: PanelAgreement) -> Table:
    return Table(
        title="Judges with each other: Krippendorff's alpha and bias (95 % intervals over tasks)",
        columns=("", "runs", "tasks", "alpha", "between tasks", "within tasks", "bias of the first"),
        rows=(
            *(_pair_row(pair) for pair in panel.pairs),
            *([_alpha_row("all judges", panel.agreement, "")] if len(panel.pairs) > 1 else []),
        ),
    )


def _pair_row(pair: JudgePair) -> tuple[str, ...]:
    return _alpha_row(f"{_judge_name(pair.first)} – {_judge_name(pair.second)}", pair.alphas, format_bias(pair.bias))


def _alpha_row(title: str, alphas: TaskAlphas, bias: str) -> tuple[str, ...]:
    return (
        title,
        str(alphas.runs),
        str(alphas.overall.n),
        format_alpha(alphas.overall),
        format_score(alphas.between.point),
        format_alpha(alphas.within),
        bias,
    )


def format_bias(bias: Estimate) -> str:
    """The bias with its sign and its interval."""
    if bias.point is None:
        return UNKNOWN
    if bias.interval is None:
        return f"{bias.point:+.3f}"
    return f"{bias.point:+.3f} ({bias.interval.low:+.3f} to {bias.interval.high:+.3f})"


def _judge_remarks(panel: PanelAgreement) -> list[str]:
    lines = []
    if panel.pairs:
        lines += _agreement_remarks(panel.agreement)
    costs = [quantity.value for quantity in panel.cost_usd.values()]
    known = [cost for cost in costs if cost is not None]
    total = format_dollars(sum(known)) if len(known) == len(costs) else UNKNOWN
    lines.append(f"judging cost {total}; it is in none of the arms' costs")
    if any(judge.notable_gaps for judge in panel.judges):
        lines.append(
            f"own sums off: a judge's own total was more than {NOTABLE_GAP:g} from the sum of its parts. Only the "
            "parts count."
        )
    if flagged := sum(judge.flagged for judge in panel.judges):
        lines.append(f"{flagged} judgments carry warnings, such as a run that addresses its judge")
    return lines


def _agreement_remarks(alphas: TaskAlphas) -> list[str]:
    """How far all judges agree with each other, how to read it, and what the figures rest on."""
    size = f"{alphas.runs} runs of {alphas.overall.n} tasks"
    lines = [
        f"agreement between judges over {size}, Krippendorff's alpha: {format_alpha(alphas.overall)}; between tasks "
        f"{format_alpha(alphas.between)}, within tasks {format_alpha(alphas.within)}. Only the last one says whether "
        "they see which run of a task is better"
    ]
    for name, alpha in (("alpha", alphas.overall), ("alpha within tasks", alphas.within)):
        lines += [f"{name}: {warning}" for warning in alpha.warnings]
    return lines
