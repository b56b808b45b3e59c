"""Importer of aider's leaderboards: totals of whole benchmarks, kept as aggregates, because no run can be derived from
a total.
"""

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from outweigh.errors import EvidenceError, quote_names
from outweigh.interop.result_files import read_head, read_yaml
from outweigh.model.run_record import RunRecord
from outweigh.model.untrusted_json import as_amount, as_count, as_dict, as_name
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

LEADERBOARD_BYTES = 16 * 2**20
PASS_RATE_TRIES = (1, 2)
"""aider gives a model a second try with the output of the tests."""

_ROUNDING = 0.0501


class AiderLeaderboardImporter:
    """Keeps the rows of a leaderboard as aggregates; it yields no run."""

    name = "aider-leaderboard"
    fields: Mapping[str, FieldOrigin] = {}

    def recognises(self, path: Path) -> bool:
        """Whether a YAML file has the keys of a leaderboard's rows."""
        start = read_head(path)
        return path.suffix in (".yml", ".yaml") and b"- dirname:" in start and b"pass_rate_1:" in start

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Keep every row as an aggregate, and warn about rows that contradict themselves."""
        contradicting = []
        for number, row in enumerate(_rows(request.path, notes), start=1):
            called = as_name(as_dict(row).get("dirname"))
            if called is None:
                notes.unread(request.path, 0, f"row {number} has no dirname")
                continue
            notes.aggregates.append(_aggregate(called, as_dict(row)))
            if not is_consistent(as_dict(row)):
                contradicting.append(called)
        if contradicting:
            notes.warn(
                f"{len(contradicting)} of {len(notes.aggregates)} rows state another pass rate than that of their "
                f"test_cases: {quote_names(contradicting)}. Theirs is mostly of total_tests, also where fewer were run."
            )
        yield from ()


def is_consistent(row: Mapping[str, Any]) -> bool:
    """Whether the stated pass rates agree with the stated counts, as far as a row states both."""
    return all(_is_rate_consistent(row, number) for number in PASS_RATE_TRIES)


def _is_rate_consistent(row: Mapping[str, Any], number: int) -> bool:
    stated, passed = as_amount(row.get(f"pass_rate_{number}")), as_count(row.get(f"pass_num_{number}"))
    cases = as_count(row.get("test_cases"))
    if stated is None or passed is None or not cases:
        return True
    return abs(100 * passed / cases - stated) <= _ROUNDING


def _aggregate(called: str, row: Mapping[str, Any]) -> dict[str, Any]:
    day = row.get("date")
    return {
        "dirname": called,
        "model": as_name(row.get("model")),
        "edit_format": as_name(row.get("edit_format")),
        "date": day.isoformat() if isinstance(day, date) else as_name(day),
        **{field: as_count(row.get(field)) for field in ("test_cases", "total_tests", "pass_num_1", "pass_num_2")},
        **{field: as_amount(row.get(field)) for field in ("pass_rate_1", "pass_rate_2", "percent_cases_well_formed")},
        "seconds_per_case": as_amount(row.get("seconds_per_case")),
        # The table has 0 if no price is known.
        "total_cost": as_amount(row.get("total_cost")) or None,
    }


def _rows(path: Path, notes: ImportNotes) -> list[Any]:
    found = read_yaml(path, notes, LEADERBOARD_BYTES)
    if not isinstance(found, list):
        raise EvidenceError(f"{path} is not a leaderboard of aider: it holds no list of rows.")
    return found
