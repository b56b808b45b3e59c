"""Two arms side by side."""

from collections.abc import Callable

from outweigh.compare.comparison import Comparison
from outweigh.compare.delta import Delta
from outweigh.compare.inference import Inference, Population
from outweigh.compare.judge_panel import judge_panel
from outweigh.report.arms_view import arms_table
from outweigh.report.comparison_contract import comparison_payload
from outweigh.report.document import Block, Bullets, Report, Table, Tone, notes
from outweigh.report.formatting import FORMATS
from outweigh.report.judges_view import judge_blocks
from outweigh.report.wording import SAME, UNKNOWN, direction
from outweigh.stats.equivalence import excludes
from outweigh.stats.estimate import Estimate, Interval

LABELS = "* the median of pairs depends on how the repeats happen to be numbered; decisions rest on tasks."
TILDE = "~ means that the interval does not tell the arms apart. `outweigh verdict` decides."
READING = (LABELS, TILDE)


def comparison_report(comparison: Comparison, inference: Inference) -> Report:
    """The page of `outweigh compare`."""
    before, after = comparison.baseline, comparison.candidate
    size = f"{len(comparison.tasks)} tasks, {comparison.pairing.pairs} pairs of runs"
    headline = f"{after.name} against {before.name}: {size}"
    panel = judge_panel(comparison.judging, inference.seed)
    blocks: list[Block] = [
        arms_table(comparison.baseline, comparison.candidate),
        *differences(comparison, inference),
        *judge_blocks(panel),
        *notes("Notes", READING),
        *notes("Warnings", remarks(comparison)),
    ]
    return Report(
        headline=headline,
        tone=Tone.PLAIN,
        blocks=tuple(blocks),
        payload=comparison_payload(comparison, inference, panel),
    )


def differences(comparison: Comparison, inference: Inference) -> list[Block]:
    """Deltas and ratios with their intervals, and the runs that are in neither."""
    blocks: list[Block] = [_deltas(comparison, inference), _ratios(inference)]
    return [*blocks, _unpaired(comparison)] if comparison.pairing.unpaired else blocks


def remarks(comparison: Comparison) -> tuple[str, ...]:
    """What to keep in mind while reading the figures."""
    return (*comparison.warnings, *comparison.composite_warnings, *_silences(comparison))


def _deltas(comparison: Comparison, inference: Inference) -> Table:
    rows = [_delta_row(delta, inference) for delta in comparison.deltas.values() if delta.n]
    about = "tasks like these" if inference.population is Population.TASKS else "this very suite"
    return Table(
        title=f"Paired deltas, candidate minus baseline; 95 % intervals speak of {about}",
        columns=(
            "",
            "pairs",
            "mean",
            "median*",
            "mean of tasks",
            "95 % interval",
            "SE, tasks",
            "SE, suite",
            "is",
        ),
        rows=tuple(rows),
    )


def _delta_row(delta: Delta, inference: Inference) -> tuple[str, ...]:
    words, inferred = FORMATS[delta.metric.name], inference.deltas[delta.metric.delta]
    chosen = inferred.over_tasks if inference.population is Population.TASKS else inferred.on_suite
    return (
        words.title,
        str(delta.n),
        words.difference(delta.mean),
        words.difference(delta.median),
        words.difference(delta.task_mean),
        _span(chosen.interval, words.difference),
        _error(inferred.over_tasks.standard_error),
        _error(inferred.on_suite.standard_error),
        _weighed(delta, chosen.interval),
    )


def _span(interval: Interval | None, show: Callable[[float | None], str]) -> str:
    if interval is None:
        return UNKNOWN
    return f"{show(interval.low)} to {show(interval.high)}"


def _error(value: float | None) -> str:
    return UNKNOWN if value is None else f"{value:.3g}"


def _weighed(delta: Delta, interval: Interval | None) -> str:
    """Better or worse only where the interval leaves no doubt about the sign."""
    return direction(delta.task_mean, delta.metric.better) if excludes(interval, 0.0) else SAME


def _ratios(inference: Inference) -> Table:
    rows = [
        (name.replace("_", " "), f"{ratio.point:.3f}", _ratio_span(ratio.interval), _ratio_direction(ratio))
        for name, ratio in inference.ratios.items()
        if ratio.point is not None
    ]
    return Table(
        title="Ratios, candidate over baseline", columns=("", "ratio", "95 % interval", "is"), rows=tuple(rows)
    )


def _ratio_span(interval: Interval | None) -> str:
    return UNKNOWN if interval is None else f"{interval.low:.3f} to {interval.high:.3f}"


def _ratio_direction(ratio: Estimate) -> str:
    return direction((ratio.point or 1.0) - 1.0, -1) if excludes(ratio.interval, 1.0) else SAME


def _unpaired(comparison: Comparison) -> Bullets:
    runs = comparison.pairing.unpaired
    shown = [f"{run.task_id}, {run.arm}, repeat {run.repeat}: {run.why}" for run in runs[:10]]
    more = [f"and {len(runs) - 10} more (the JSON lists them all)"] if len(runs) > 10 else []
    return Bullets(title=f"Runs without a partner ({len(runs)})", items=(*shown, *more), tone=Tone.UNSURE)


def _silences(comparison: Comparison) -> tuple[str, ...]:
    """Metrics that nobody reported, in one line instead of one each."""
    silent = [
        FORMATS[name].title
        for name, description in comparison.baseline.metrics.items()
        if description.count == 0 and comparison.candidate.metrics[name].count == 0
    ]
    one_sided = [
        FORMATS[name].title
        for name, description in comparison.baseline.metrics.items()
        if (description.count == 0) != (comparison.candidate.metrics[name].count == 0)
    ]
    lines = []
    if silent:
        lines.append(f"not recorded in either arm: {', '.join(silent)}.")
    if one_sided:
        lines.append(f"recorded in one arm only, so not compared: {', '.join(one_sided)}.")
    return tuple(lines)
