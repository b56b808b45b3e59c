"""Verdicts and runs as flat tables for spreadsheets.

An unknown is an empty cell, and no text is taken for a formula.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from outweigh.report.document import Report
from outweigh.score.run_score import Score

# A cell that begins like this is taken for a formula by spreadsheets, whoever wrote it.
_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def escape_formula(text: str) -> str:
    """The text; one that would be a formula gets the apostrophe by which spreadsheets know a text."""
    return f"'{text}" if text.startswith(_FORMULA_STARTS) else text


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
                table.writerow([_verdict_cell(value) for value in (*first, *row)])
        return written.getvalue()


def _gate_rows(verdict: Mapping[str, Any]) -> Iterator[tuple[Any, ...]]:
    for gate in verdict["gates"]:
        figures = (gate["baseline"], gate["candidate"], gate.get("effect"), gate.get("low"), gate.get("high"))
        yield "gate", gate["name"], gate["state"], *figures, gate.get("tasks")


def _delta_rows(comparison: Mapping[str, Any] | None) -> Iterator[tuple[Any, ...]]:
    for name, delta in ({} if comparison is None else comparison["deltas"]).items():
        interval = delta.get("interval") or {}
        yield "delta", name, None, None, None, delta["task_mean"], interval.get("low"), interval.get("high"), None


def _verdict_cell(value: Any) -> Any:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    return escape_formula(value) if isinstance(value, str) else value


RUN_COLUMNS = (
    "run_id",
    "task_id",
    "arm",
    "repeat",
    "attempt",
    "status",
    "passed",
    "objective",
    "judge_score",
    "cost_usd",
    "cost_provenance",
    "cache_normalised_cost_usd",
    "duration_seconds",
    "total_tokens",
    "non_cache_tokens",
    "cache_read_tokens",
    "cache_write_tokens",
    "cache_read_share",
    "steps",
    "tool_calls",
    "check_commands",
    "r_prog",
    "strategic_drift",
    "edit_fail_rate",
    "skill_used",
    "schema_overhead",
    "skill_efficiency",
    "token_efficiency_ratio",
)


def run_rows(scores: Iterable[Score]) -> Iterator[tuple[object, ...]]:
    """The values under COLUMNS; an unknown is an empty cell, never 0, and no name is a formula."""
    for score in scores:
        yield tuple(_run_cell(getattr(score, column)) for column in RUN_COLUMNS)


def _run_cell(value: object) -> object:
    if value is None:
        return ""
    return escape_formula(value) if isinstance(value, str) else value
