"""Every run as one flat row, for spreadsheets and data frames."""

from collections.abc import Iterable, Iterator

from outweigh.report.spreadsheet_cell import unless_formula
from outweigh.score.score import Score

COLUMNS = (
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
        yield tuple(_cell(getattr(score, column)) for column in COLUMNS)


def _cell(value: object) -> object:
    if value is None:
        return ""
    return unless_formula(value) if isinstance(value, str) else value
