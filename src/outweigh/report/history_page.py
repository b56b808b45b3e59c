"""The page of `outweigh history`: figures of each arm over time, what changed between points, tasks that flipped."""

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any

from outweigh.errors import quote_names
from outweigh.report.axis import percent_tick
from outweigh.report.document import Block, BulletList, Figure, Report, Table, Tone, optional_bullets
from outweigh.report.formatting import (
    UNKNOWN,
    NumberFormat,
    count_of,
    format_count,
    format_dollars,
    format_percent,
    format_points,
    shorten_name,
)
from outweigh.report.json_output import Payload, finite_or_none, interval_payload
from outweigh.report.render_csv import csv_table
from outweigh.report.spend_table import spend_blocks, spend_payload
from outweigh.report.svg.lines import LineAxes, LineBand, LineSeries, draw_lines
from outweigh.score.monthly_spend import SpendTally
from outweigh.stats.estimate import Estimate
from outweigh.verdict.suite_history import ArmHistory, PointChange, PointFigures

SHOWN_TASKS = 8
CAPTION = (
    "The pass rate over tasks at each point, with its 95 % interval. Points on different tasks are not comparable by "
    "eye: the table compares each with the one before on the tasks that both ran unchanged."
)
_CSV = (
    "suite",
    "arm",
    "version",
    "store",
    "date",
    "models",
    "agents",
    "runs",
    "pass_rate",
    "pass_rate_low",
    "pass_rate_high",
    "cost_usd",
    "cost_usd_low",
    "cost_usd_high",
    "unknown_costs",
    "decision",
    "shared_tasks",
    "delta",
    "delta_low",
    "delta_high",
    "changed",
    "suite_changed",
)


def history_report(histories: Sequence[ArmHistory], spend: SpendTally) -> Report:
    """One section for each arm of each suite, then what was spent on all of them."""
    points = sum(len(each.points) for each in histories)
    suites = dict.fromkeys(each.suite for each in histories)
    flips = sum(len(each.flips) for each in histories)
    shown = f"{count_of(points, 'point')} of {count_of(len(histories), 'arm')}"
    flipped = f", {count_of(flips, 'task flip')} beyond what chance explains" if flips else ""
    return Report(
        headline=f"{quote_names(list(suites), 3)}: {shown}{flipped}",
        tone=Tone.PLAIN,
        blocks=(
            *(block for history in histories for block in _arm_blocks(history, several=len(suites) > 1)),
            *spend_blocks(spend),
        ),
        payload=_payload(histories, spend),
    )


def _arm_blocks(history: ArmHistory, *, several: bool) -> Iterator[Block]:
    name = f"{history.suite}: {history.arm}" if several else history.arm
    yield Table(
        title=f"{name} (95 % intervals over tasks; the change is against the line above, on shared tasks only)",
        columns=("", "what", "runs", "pass rate", "cost of a run", "verdict", "change", "because"),
        rows=tuple(_row(each) for each in history.points),
    )
    if len(history.points) > 1:
        yield _figure(history, name)
    yield BulletList(title=f"{name}: what changed", items=tuple(_sentences(history)) or ("nothing.",), tone=Tone.PLAIN)
    unstable = history.unstable
    if unstable:
        yield from optional_bullets(
            f"{name}: unstable",
            (
                f"{count_of(len(unstable), 'task')} passed sometimes, and no flip explains it beyond chance: "
                f"{quote_names(unstable, SHOWN_TASKS)}.",
            ),
        )


def _row(figures: PointFigures) -> tuple[str, ...]:
    point, change = figures.point, figures.change
    return (
        _date(figures),
        shorten_name(_label(figures), 28),
        format_count(len(point.runs)),
        _estimate(figures.pass_rate, format_percent),
        "simulated" if figures.simulated else _estimate(figures.cost_usd, format_dollars),
        (point.decision or "–").replace("_", " "),
        "–" if change is None else _estimate(change.delta, format_points),
        "–" if change is None else _because(change),
    )


def _date(figures: PointFigures) -> str:
    began = figures.point.began_at
    return "no date" if began is None else began.strftime("%Y-%m-%d %H:%M")


def _label(figures: PointFigures) -> str:
    point = figures.point
    commit = "" if point.origin is None else f" {point.origin[:10]}"
    model = f", {point.models[0]}" if point.models else ""
    return f"{point.version}{commit}{model}"


def _estimate(estimate: Estimate, show: NumberFormat) -> str:
    if estimate.point is None:
        return UNKNOWN
    interval = estimate.interval
    if interval is None:
        return show(estimate.point)
    return f"{show(estimate.point)} ({show(interval.low)} to {show(interval.high)})"


def _because(change: PointChange) -> str:
    words = [*change.causes, *(("suite",) if change.suite_changed else ())]
    return ", ".join(words) or "time only"


def _sentences(history: ArmHistory) -> Iterator[str]:
    for figures in history.points:
        change, when = figures.change, _date(figures)
        if change is None:
            continue
        if change.suite_changed:
            parts = (("added", change.added), ("removed", change.removed), ("changed", change.edited))
            listed = "; ".join(f"{word} {quote_names(tasks, SHOWN_TASKS)}" for word, tasks in parts if tasks)
            yield (
                f"{when}: the suite itself changed ({listed}), so figures before and after are compared on the "
                f"{count_of(change.shared, 'shared task')} only."
            )
        if change.is_shown:
            moved = f"{when}: the pass rate moved by {format_points(change.delta.point)} beyond what chance explains"
            yield (
                f"{moved}; the set-up is the same, so this is drift, not a change of yours."
                if change.is_drift
                else (f"{moved}, with another {' and '.join(change.causes)}.")
            )
    for flip in history.flips:
        at = history.points[flip.place]
        why = (
            "only time has passed"
            if at.change is None or at.change.is_drift
            else f"another {' and '.join(at.change.causes)}"
        )
        counts = f"{flip.passes_before}/{flip.runs_before} before, {flip.passes_after}/{flip.runs_after} from there on"
        yield f"{flip.task} flipped at {_date(at)} ({_label(at)}; {why}): {counts} (corrected p = {flip.p_value:.2g})."


def _figure(history: ArmHistory, name: str) -> Figure:
    known = [(place, each) for place, each in enumerate(history.points, start=1) if each.pass_rate.point is not None]
    places = [(float(place), each.pass_rate.point or 0.0) for place, each in known]
    band = [
        (float(place), max(0.0, each.pass_rate.interval.low), min(1.0, each.pass_rate.interval.high))
        for place, each in known
        if each.pass_rate.interval is not None
    ]
    last = format_percent(places[-1][1]) if places else UNKNOWN
    title = f"Pass rate of {name} over time"
    axes = LineAxes(show_x=format_count, show_y=percent_tick, x_title="points, in the order they were run →")
    series = LineSeries(name=history.arm, places=places, label=last)
    area = LineBand(places=band, description="95 % interval over tasks") if len(band) > 1 else None
    return Figure(
        title=title,
        draw=partial(draw_lines, title, [series], axes, area=area),
        caption=CAPTION,
        text_lines=(f"{last} at the last of {count_of(len(history.points), 'point')}",),
    )


def _payload(histories: Sequence[ArmHistory], spend: SpendTally) -> Payload:
    return {
        "schema": "outweigh.history/1",
        "spend": spend_payload(spend),
        "arms": [
            {
                "suite": each.suite,
                "arm": each.arm,
                "points": [_point_payload(figures) for figures in each.points],
                "flips": [
                    {name: getattr(flip, name) for name in flip.__struct_fields__ if name != "place"}
                    | {"store": each.points[flip.place].point.store, "version": each.points[flip.place].point.version}
                    for flip in each.flips
                ],
                "unstable": list(each.unstable),
            }
            for each in histories
        ],
    }


def _point_payload(figures: PointFigures) -> Payload:
    point, change, began = figures.point, figures.change, figures.point.began_at
    return {
        "store": point.store,
        "version": point.version,
        "began_at": None if began is None else began.isoformat(),
        "fingerprint": point.fingerprint,
        "commit": point.origin,
        "agents": list(point.agents),
        "models": list(point.models),
        "runs": len(point.runs),
        "tasks": len(point.tasks),
        "pass_rate": _estimate_payload(figures.pass_rate),
        "cost_usd": _estimate_payload(figures.cost_usd),
        "unknown_costs": figures.unknown_costs,
        "simulated": figures.simulated,
        "decision": point.decision,
        "change": None
        if change is None
        else {
            "causes": list(change.causes),
            "drift": change.is_drift,
            "suite_changed": change.suite_changed,
            "added": list(change.added),
            "removed": list(change.removed),
            "edited": list(change.edited),
            "shared_tasks": change.shared,
            "delta": _estimate_payload(change.delta),
            "beyond_chance": change.is_shown,
        },
    }


def _estimate_payload(estimate: Estimate) -> Payload:
    return {
        "value": finite_or_none(estimate.point),
        "interval": interval_payload(estimate.interval),
        "reason": "; ".join(estimate.warnings) if estimate.point is None else None,
    }


class HistoryCsvReporter:
    """One row for each point."""

    def render(self, report: Report) -> str:
        """RFC 4180."""
        return csv_table(_CSV, _csv_rows(report.payload))


def _csv_rows(payload: Mapping[str, Any]) -> Iterator[Sequence[object]]:
    for arm in payload["arms"]:
        for point in arm["points"]:
            change = point["change"]
            yield (
                arm["suite"],
                arm["arm"],
                point["version"],
                point["store"],
                point["began_at"],
                " ".join(point["models"]),
                " ".join(point["agents"]),
                point["runs"],
                *_ends(point["pass_rate"]),
                *_ends(point["cost_usd"]),
                point["unknown_costs"],
                point["decision"],
                None if change is None else change["shared_tasks"],
                *((None,) * 3 if change is None else _ends(change["delta"])),
                None if change is None else " and ".join(change["causes"]) or "time only",
                None if change is None else change["suite_changed"],
            )


def _ends(estimate: Payload) -> tuple[object, object, object]:
    interval = estimate["interval"]
    ends = (None, None) if interval is None else (interval["low"], interval["high"])
    return estimate["value"], *ends
