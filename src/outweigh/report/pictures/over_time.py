"""What came in which order: the evidence as it grew, and the money as it went."""

from collections.abc import Sequence
from math import expm1

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.comparison import Comparison
from outweigh.compare.families import families_of
from outweigh.report.charts.lines import Area, Axes, Limit, Line, line_chart
from outweigh.report.charts.sampling import thinned
from outweigh.report.charts.ticks import dollar_tick, plain_tick
from outweigh.report.document import Block, Picture
from outweigh.report.pictures.dial import deciding_gate
from outweigh.report.wording import count, dollars
from outweigh.score.score import Score
from outweigh.stats.confidence_sequence import confidence_path
from outweigh.verdict.gate_sample import GateSample, sample_gate
from outweigh.verdict.gated_metric import GATED, Scale
from outweigh.verdict.verdict import Verdict

MOST_ARMS = 6
ROOM = 3.0
"""So many margins have room, and all of the later half; the band begins almost endless, and is cut off there."""

EVIDENCE_CAPTION = (
    "The mean change, task by task in the order they were run, and the band in which it lies at every look at once "
    "(95 %). A band that has left the line of no change is evidence that no number of looks wears out. The verdict "
    "weighs all gates."
)
SPEND_CAPTION = (
    "Known costs added up as attempts began: excluded ones and those that were tried again are in it, runs that were "
    "taken over from an earlier experiment are not, as they were paid for there. Judging is not in it."
)


def evidence_pictures(verdict: Verdict, comparison: Comparison) -> list[Block]:
    """The growth of the evidence on the gate that decides, where the order of the runs is known."""
    gate = deciding_gate(verdict)
    before, after = comparison.baseline_table, comparison.candidate_table
    if gate is None or gate.evidence is None:
        return []
    sample = sample_gate(GATED[gate.name], gate.evidence.margin, before, after, families_of(before, after))
    order = _order(sample.tasks, (before, after))
    if order is None or len(order) < 3:
        return []
    benefits = sample.benefits[order]
    planned = verdict.settings.get("planned_tasks")
    low, high = confidence_path(benefits, planned if isinstance(planned, int) else len(benefits))
    means = np.cumsum(benefits) / np.arange(1, len(benefits) + 1)
    return [_evidence_picture(sample, means, low, high)]


def _evidence_picture(sample: GateSample, means: Column, low: Column, high: Column) -> Picture:
    margin, name = sample.margin, sample.gated.name
    shown = [_shown(float(value), sample) for value in means]
    band = [
        (place, _shown(float(ends[0]), sample), _shown(float(ends[1]), sample))
        for place, ends in enumerate(zip(low, high, strict=True), start=1)
        if np.isfinite(ends).all()
    ]
    late = [abs(end) for _, *ends in band[len(band) // 2 :] for end in ends]
    room = max(ROOM * margin, *late, *map(abs, shown[len(shown) // 2 :]))
    band = [(place, max(-room, bottom), min(room, top)) for place, bottom, top in band]
    clear = _first_clear(low, high, sample)
    moment = "the band never left it" if clear is None else f"the band left it first after {clear} tasks"
    unit = "points" if sample.gated.scale is Scale.POINTS else "%"
    last = f"{100 * abs(shown[-1]):.1f} {unit} {'better' if shown[-1] >= 0 else 'worse'} after {len(shown)} tasks"
    line = Line(
        name=f"{name}, {unit}",
        places=thinned([(place, min(room, max(-room, y))) for place, y in enumerate(shown, start=1)]),
        figures=last,
    )
    title = f"Evidence on {name} as it grew, better is up"
    limits = (Limit(level=0.0, words="no change"), Limit(level=-margin, words="margin", below=True))
    axes = Axes(show_x=count, show_y=_signed, x_words="tasks, in the order they were run →")
    area = Area(places=thinned(band), words=f"{name}: 95 % at every look at once")
    return Picture(
        title=title,
        svg=line_chart(title, [line], axes, area=area, limits=limits),
        caption=EVIDENCE_CAPTION,
        words=(f"{last}; of no change, {moment}",),
    )


def _shown(benefit: float, sample: GateSample) -> float:
    """Points as they are, logs of ratios as the part that is saved."""
    return benefit if sample.gated.scale is Scale.POINTS else -expm1(min(50.0, -benefit))


def _first_clear(low: Column, high: Column, sample: GateSample) -> int | None:
    harm = 0.0 if sample.gated.scale is Scale.POINTS else -sample.limit
    clear = np.flatnonzero((low > 0) | (high < harm))
    return int(clear[0]) + 1 if len(clear) else None


def _signed(value: float | None) -> str:
    return f"{100 * (value or 0.0):+.4g}" if value else "0"


def _order(tasks: Sequence[str], arms: Sequence[ArmTable]) -> list[int] | None:
    """Places of the tasks in the order in which their last run began; None where that is not known of all."""
    moments = _moments([run for arm in arms for run in arm.runs])
    if moments is None:
        return None
    last: dict[str, float] = {}
    for run, moment in moments:
        last[run.task_id] = max(last.get(run.task_id, moment), moment)
    return sorted(range(len(tasks)), key=lambda place: (last[tasks[place]], place))


def _moments(runs: Sequence[Score]) -> list[tuple[Score, float]] | None:
    """When runs took place: by the clock where all have one, else by their position in the plan."""
    timed = [(run, run.started_at.timestamp()) for run in runs if run.started_at is not None]
    if runs and len(timed) == len(runs):
        return timed
    placed = [(run, float(run.position)) for run in runs if run.position is not None]
    return placed if runs and len(placed) == len(runs) else None


def spend_pictures(arms: Sequence[ArmTable]) -> list[Block]:
    """The money of every arm over time, where costs and the order are known."""
    shown = arms[:MOST_ARMS]
    moments = _moments([run for arm in shown for run in arm.attempts])
    if moments is None or all(run.paid_usd is None for run, _ in moments):
        return []
    timed = all(run.started_at is not None for run, _ in moments)
    first = min(moment for _, moment in moments)
    longest = max(moment for _, moment in moments) - first
    divisor, unit = _time_unit(longest) if timed else (1.0, "place in the plan")
    lines = [_spending(arm.name, moments, first, divisor) for arm in shown]
    title = "Spent so far, by arm"
    axes = Axes(
        show_x=plain_tick, show_y=dollar_tick, x_words=f"{unit} →" if not timed else f"{unit} since the first run →"
    )
    words = tuple(f"{line.name}: {line.figures}" for line in lines)
    return [Picture(title=title, svg=line_chart(title, lines, axes, stairs=True), caption=SPEND_CAPTION, words=words)]


def _spending(arm: str, moments: Sequence[tuple[Score, float]], first: float, divisor: float) -> Line:
    runs = sorted(((moment, run.paid_usd) for run, moment in moments if run.arm == arm), key=lambda item: item[0])
    spent, places = 0.0, [(0.0, 0.0)]
    for moment, cost in runs:
        spent += cost or 0.0
        places.append(((moment - first) / divisor, spent))
    unknown = sum(cost is None for _, cost in runs)
    known = f"{dollars(spent)} for {len(runs)} attempts{f', {unknown} of unknown cost' if unknown else ''}"
    figures = f"unknown for all {len(runs)} attempts" if unknown == len(runs) else known
    return Line(name=arm, places=thinned(places), figures=figures)


def _time_unit(longest: float) -> tuple[float, str]:
    return (3600.0, "hours") if longest >= 7200 else (60.0, "minutes") if longest >= 120 else (1.0, "seconds")
