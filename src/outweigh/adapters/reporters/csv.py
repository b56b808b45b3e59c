"""A flat table for spreadsheets: one row per candidate and gate or delta."""

import csv
import io
from collections.abc import Iterator, Mapping
from typing import Any

from outweigh.report.document import Report
from outweigh.report.spreadsheet_cell import unless_formula

COLUMNS = (
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
        table.writerow(COLUMNS)
        for verdict, comparison in zip(verdicts, comparisons, strict=True):
            first = (verdict["candidate"], verdict["baseline"], verdict["decision"], verdict["may_promote"])
            for row in (*_gates(verdict), *_deltas(comparison)):
                table.writerow([_cell(value) for value in (*first, *row)])
        return written.getvalue()


def _gates(verdict: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    for gate in verdict["gates"]:
        figures = (gate["baseline"], gate["candidate"], gate.get("effect"), gate.get("low"), gate.get("high"))
        yield "gate", gate["name"], gate["state"], *figures, gate.get("tasks")


def _deltas(comparison: Mapping[str, Any] | None) -> Iterator[tuple[Any, ...]]:
    for name, delta in ({} if comparison is None else comparison["deltas"]).items():
        interval = delta.get("interval") or {}
        yield "delta", name, None, None, None, delta["task_mean"], interval.get("low"), interval.get("high"), None


def _cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return unless_formula(value) if isinstance(value, str) else value
