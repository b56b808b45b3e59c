"""Figures over time: how the evidence on the deciding gate grew, and what each arm spent."""

from collections.abc import Sequence
from functools import partial
from math import expm1

import numpy as np

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import task_families
from outweigh.report.axis import dollar_tick, plain_tick
from outweigh.report.document import Block, Figure
from outweigh.report.figures.gates import deciding_gate
from outweigh.report.formatting import format_count, format_dollars
from outweigh.report.svg.lines import LimitLine, LineAxes, LineBand, LineSeries, draw_lines, sample_evenly
from outweigh.score.run_score import Score
from outweigh.stats.sequential import confidence_path
from outweigh.verdict.decision import Verdict
from outweigh.verdict.evidence_settings import GATED_METRICS, EffectScale
from outweigh.verdict.gate_sample import GateSample, sample_gate

MOST_SPENDING_ARMS = 6
BAND_MARGINS = 3.0
"""So many margins have room, and all of the later half; the band begins almost endless, and is cut off there."""

EVIDENCE_CAPTION = (
    "The mean change, task by task in the order they were run, and the band in which it lies at every look at once "
    "(95 %). Once the band has left the line of no change, looking more often does not weaken that. The verdict weighs "
    "all gates."
)
SPENDING_CAPTION = (
    "Known costs added up as attempts began: excluded ones and those that were tried again are in it, runs that were "
    "taken over from an earlier experiment are not, as they were paid for there. Judging is not in it."
)


def evidence_figures(verdict: Verdict, comparison: Comparison) -> list[Block]:
    """The growth of the evidence on the deciding gate, where it was looked at as it grew and the order is known."""
    gate = deciding_gate(verdict)
    planned = verdict.settings.get("planned_tasks")
    if not isinstance(planned, int):
        return []
    before, after = comparison.baseline_table, comparison.candidate_table
    if gate is None or gate.evidence is None or GATED_METRICS[gate.name].metric not in before.columns:
        return []
    sample = sample_gate(GATED_METRICS[gate.name], gate.evidence.margin, before, after, task_families(before, after))
    order = _task_order(sample.tasks, (before, after))
    if order is None or len(order) < 3:
        return []
    benefits = sample.benefits[order]
    low, high = confidence_path(benefits, planned)
    means = np.cumsum(benefits) / np.arange(1, len(benefits) + 1)
    return [_evidence_figure(sample, means, low, high)]


def _evidence_figure(sample: GateSample, means: Column, low: Column, high: Column) -> Figure:
    margin, name = sample.margin, sample.gated.name
    shown = [_as_share(float(value), sample) for value in means]
    band = [
        (place, _as_share(float(ends[0]), sample), _as_share(float(ends[1]), sample))
        for place, ends in enumerate(zip(low, high, strict=True), start=1)
        if np.isfinite(ends).all()
    ]
    late = [abs(end) for _, *ends in band[len(band) // 2 :] for end in ends]
    limit = max(BAND_MARGINS * margin, *late, *map(abs, shown[len(shown) // 2 :]))
    band = [(place, max(-limit, bottom), min(limit, top)) for place, bottom, top in band]
    clear = _first_clear(low, high, sample)
    moment = "the band never left it" if clear is None else f"the band left it first after {clear} tasks"
    unit = "points" if sample.gated.scale is EffectScale.POINTS else "%"
    last = f"{100 * abs(shown[-1]):.1f} {unit} {'better' if shown[-1] >= 0 else 'worse'} after {len(shown)} tasks"
    line = LineSeries(
        name=f"{name}, {unit}",
        places=sample_evenly([(place, min(limit, max(-limit, y))) for place, y in enumerate(shown, start=1)]),
        label=last,
    )
    title = f"Evidence on {name} as it grew, better is up"
    limits = (LimitLine(level=0.0, description="no change"), LimitLine(level=-margin, description="margin", below=True))
    axes = LineAxes(show_x=format_count, show_y=_format_signed, x_title="tasks, in the order they were run →")
    area = LineBand(places=sample_evenly(band), description=f"{name}: 95 % at every look at once")
    return Figure(
        title=title,
        draw=partial(draw_lines, title, [line], axes, area=area, limits=limits),
        caption=EVIDENCE_CAPTION,
        text_lines=(f"{last}; of no change, {moment}",),
    )


def _as_share(benefit: float, sample: GateSample) -> float:
    """Points as they are, logs of ratios as the part that is saved."""
    return benefit if sample.gated.scale is EffectScale.POINTS else -expm1(min(50.0, -benefit))


def _first_clear(low: Column, high: Column, sample: GateSample) -> int | None:
    harm = 0.0 if sample.gated.scale is EffectScale.POINTS else -sample.limit
    clear = np.flatnonzero((low > 0) | (high < harm))
    return int(clear[0]) + 1 if len(clear) else None


def _format_signed(value: float | None) -> str:
    return f"{100 * (value or 0.0):+.4g}" if value else "0"


def _task_order(tasks: Sequence[str], arms: Sequence[ArmTable]) -> list[int] | None:
    """Places of the tasks in the order in which their last run began; None where that is not known of all."""
    moments = _run_moments([run for arm in arms for run in arm.runs])
    if moments is None:
        return None
    last: dict[str, float] = {}
    for run, moment in moments:
        last[run.task_id] = max(last.get(run.task_id, moment), moment)
    return sorted(range(len(tasks)), key=lambda place: (last[tasks[place]], place))


def _run_moments(runs: Sequence[Score]) -> list[tuple[Score, float]] | None:
    """When runs took place: by the clock where all have one, else by their position in the plan."""
    timed = [(run, run.started_at.timestamp()) for run in runs if run.started_at is not None]
    if runs and len(timed) == len(runs):
        return timed
    placed = [(run, float(run.position)) for run in runs if run.position is not None]
    return placed if runs and len(placed) == len(runs) else None


def spending_figures(arms: Sequence[ArmTable]) -> list[Block]:
    """The money of every arm over time, where costs and the order are known."""
    shown = arms[:MOST_SPENDING_ARMS]
    moments = _run_moments([run for arm in shown for run in arm.attempts])
    if moments is None or all(run.paid_usd is None for run, _ in moments):
        return []
    timed = all(run.started_at is not None for run, _ in moments)
    first = min(moment for _, moment in moments)
    longest = max(moment for _, moment in moments) - first
    divisor, unit = _time_unit(longest) if timed else (1.0, "place in the plan")
    lines = [_spending_series(arm.name, moments, first, divisor) for arm in shown]
    title = "Spent so far, by arm"
    axes = LineAxes(
        show_x=plain_tick, show_y=dollar_tick, x_title=f"{unit} →" if not timed else f"{unit} since the first run →"
    )
    description = tuple(f"{line.name}: {line.label}" for line in lines)
    return [
        Figure(
            title=title,
            draw=partial(draw_lines, title, lines, axes, stairs=True),
            caption=SPENDING_CAPTION,
            text_lines=description,
        )
    ]


def _spending_series(arm: str, moments: Sequence[tuple[Score, float]], first: float, divisor: float) -> LineSeries:
    runs = sorted(((moment, run.paid_usd) for run, moment in moments if run.arm == arm), key=lambda item: item[0])
    spent, places = 0.0, [(0.0, 0.0)]
    for moment, cost in runs:
        spent += cost or 0.0
        places.append(((moment - first) / divisor, spent))
    unknown = sum(cost is None for _, cost in runs)
    known = f"{format_dollars(spent)} for {len(runs)} attempts{f', {unknown} of unknown cost' if unknown else ''}"
    label = f"unknown for all {len(runs)} attempts" if unknown == len(runs) else known
    return LineSeries(name=arm, places=sample_evenly(places), label=label)


def _time_unit(longest: float) -> tuple[float, str]:
    return (3600.0, "hours") if longest >= 7200 else (60.0, "minutes") if longest >= 120 else (1.0, "seconds")
