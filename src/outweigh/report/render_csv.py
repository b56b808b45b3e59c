"""Verdicts and runs as flat tables for spreadsheets.

An unknown is an empty cell, and no text is taken for a formula.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from outweigh.report.document import Report
from outweigh.score.composite import EVEN, composite
from outweigh.score.metrics import Metric
from outweigh.score.resource_usage import cost_of_pass
from outweigh.score.run_score import Score

# A cell that begins like this is taken for a formula by spreadsheets, whoever wrote it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(text: str) -> str:
    """The text; one that would be a formula gets the apostrophe by which spreadsheets know a text."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


def csv_table(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A table as RFC 4180 has it: lines end in CR LF, and cells with commas, quotes or line breaks are quoted."""
    written = io.StringIO()
    table = csv.writer(written, lineterminator="\r\n")
    table.writerow(columns)
    table.writerows([_plain_cell(value) for value in row] for row in rows)
    return written.getvalue()


VERDICT_COLUMNS = (
    "candidate",
    "baseline",
    "decision",
    "may_promote",
    "kind",
    "name",
    "state",
    "baseline_value",
    "candidate_value",
    "effect",
    "low",
    "high",
    "tasks",
)


class CsvReporter:
    """An unknown is an empty cell, never 0. Texts are kept from being formulas."""

    def render(self, report: Report) -> str:
        """Gates first, then every delta of the comparison where there is one."""
        payload = report.payload
        verdicts = payload.get("verdicts", [payload])
        comparisons = payload.get("comparisons", [None] * len(verdicts))
        written = io.StringIO()
        table = csv.writer(written, lineterminator="\n")
        table.writerow(VERDICT_COLUMNS)
        for verdict, comparison in zip(verdicts, comparisons, strict=True):
            first = (verdict["candidate"], verdict["baseline"], verdict["decision"], verdict["may_promote"])
            for row in (*_gate_rows(verdict), *_delta_rows(comparison)):
                table.writerow([_plain_cell(value) for value in (*first, *row)])
        return written.getvalue()


def _gate_rows(verdict: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    for gate in verdict["gates"]:
        figures = (gate["baseline"], gate["candidate"], gate.get("effect"), gate.get("low"), gate.get("high"))
        yield "gate", gate["name"], gate["state"], *figures, gate.get("tasks")


def _delta_rows(comparison: Mapping[str, Any] | None) -> Iterator[tuple[Any, ...]]:
    for name, delta in ({} if comparison is None else comparison["deltas"]).items():
        interval = delta.get("interval") or {}
        yield "delta", name, None, None, None, delta["task_mean"], interval.get("low"), interval.get("high"), None


def _plain_cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return escape_formula(value) if isinstance(value, str) else value


COST_ENDS = ("cost_low_usd", "cost_high_usd")
"""The least and the most that a run with an estimated cost took."""
DERIVED = ("cost_of_pass_usd", "composite_even")
"""What follows from a run alone: infinite where it failed; equal weights of its outcome and its judges' score."""


def run_columns(metrics: Sequence[Metric]) -> tuple[str, ...]:
    """What identifies a run, then every metric of the table that a single run has."""
    names = [metric.name for metric in metrics if metric.formula is not None]
    # Where a cost comes from is told beside it.
    after_cost = names.index("cost_usd") + 1
    return (
        "run_id",
        "task_id",
        "arm",
        "repeat",
        "attempt",
        "status",
        *names[:after_cost],
        "cost_provenance",
        *names[after_cost:],
        *COST_ENDS,
        *DERIVED,
    )


def run_rows(scores: Iterable[Score], metrics: Sequence[Metric]) -> Iterator[tuple[object, ...]]:
    """The values under `run_columns`; an unknown is an empty cell, never 0, and no name is a formula."""
    columns = run_columns(metrics)[: -len((*COST_ENDS, *DERIVED))]
    for score in scores:
        ends = score.ranges.get("cost_usd", (None, None))
        derived = (
            cost_of_pass(score.cost_usd, score.passed).value,
            composite(score.dimensions(judged=True), EVEN, 0.0).value,
        )
        yield tuple(map(_run_cell, (*(getattr(score, column) for column in columns), *ends, *derived)))


def _run_cell(value: object) -> object:
    if value is None:
        return ""
    return escape_formula(value) if isinstance(value, str) else value
