"""What `outweigh compare` prints by default: both arms and their difference in one table. `--verbose` prints more."""

from collections.abc import Iterator

from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import Delta
from outweigh.compare.inference import Inference, Population
from outweigh.report.comparison_page import (
    chosen_estimate,
    delta_direction,
    format_interval,
    shown_deltas,
)
from outweigh.report.document import KeyPoints, Report, Table, Tone
from outweigh.report.formatting import (
    NO_CHECKS,
    SIMULATED,
    UNIT_FORMATS,
    UNKNOWN,
    count_of,
    format_change,
    shorten_name,
)

MOST_WARNING_LINES = 2
LONGEST_HEAD = 14
READING_NOTE = "~ means that the interval includes no change. `outweigh verdict` decides whether the candidate may ship"


def comparison_summary(comparison: Comparison, inference: Inference, *, verbose_command: str | None = None) -> Report:
    """One screen: every metric of both arms, the change, its interval, and whether it is for the better."""
    before, after = comparison.baseline.name, comparison.candidate.name
    size = f"{count_of(len(comparison.tasks), 'task')}, {count_of(comparison.pairing.pairs, 'pair')} of runs"
    return Report(
        headline=f"{after} against {before}: {size}{', simulated agent' if comparison.simulated else ''}",
        tone=Tone.PLAIN,
        blocks=(_metric_table(comparison, inference), _notes(comparison, inference, verbose_command)),
        payload={},
    )


def _metric_table(comparison: Comparison, inference: Inference) -> Table:
    heads = (comparison.baseline.name, comparison.candidate.name)
    rows = [_row(delta, comparison, inference) for delta in shown_deltas(comparison) if delta.metric.charted]
    if comparison.without_checks:
        rows.insert(0, ("objective", NO_CHECKS, NO_CHECKS, "", "", ""))
    return Table(
        title="Means of all runs; change over tasks",
        columns=("", *(shorten_name(head, LONGEST_HEAD) for head in heads), "change", "95 % interval", "is"),
        rows=tuple(rows),
    )


def _row(delta: Delta, comparison: Comparison, inference: Inference) -> tuple[str, ...]:
    metric, estimate = delta.metric, chosen_estimate(delta, inference)
    direction = delta_direction(delta, estimate.interval)
    if comparison.simulated and metric.unit == "dollars":
        return metric.title, SIMULATED, SIMULATED, SIMULATED, "", direction
    show = UNIT_FORMATS[metric.unit]
    arms = (comparison.baseline.metrics[metric.name].mean, comparison.candidate.metrics[metric.name].mean)
    return (
        metric.title,
        *(show.value(value) for value in arms),
        show.difference(delta.task_mean),
        format_interval(estimate.interval, _bare_change if metric.unit == "share" else show.difference),
        direction,
    )


def _bare_change(points: float | None) -> str:
    """A change in points beside one that has the unit."""
    return UNKNOWN if points is None else format_change(points)


def _notes(comparison: Comparison, inference: Inference, verbose_command: str | None) -> KeyPoints:
    rows = list(_note_rows(comparison, inference))
    commands = {} if verbose_command is None else {"More": verbose_command}
    return KeyPoints(rows=tuple(rows), commands=commands, most_lines={"Warning": MOST_WARNING_LINES})


def _note_rows(comparison: Comparison, inference: Inference) -> Iterator[tuple[str, str]]:
    like_these = inference.population is Population.TASKS
    yield "Applies to", f"{'tasks like these' if like_these else 'these tasks only'}, run by the same agents and models"
    yield "Reading", READING_NOTE
    if warnings := (*comparison.warnings, *comparison.composite_warnings):
        more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
        yield "Warning", warnings[0].removesuffix(".") + more
    yield "More", "medians, totals, ratios, pairs, judges and all warnings"
