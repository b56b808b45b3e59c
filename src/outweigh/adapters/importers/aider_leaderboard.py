"""aider's leaderboards: sums over whole benchmarks. They are kept as such, since no run can be told from a sum."""

from collections.abc import Iterator, Mapping
from datetime import date
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.source_text import head
from outweigh.adapters.importers.source_yaml import read_yaml
from outweigh.errors import EvidenceError, name_some
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.run_record import RunRecord
from outweigh.transcript.foreign import amount, count, mapping, name

SIZE_LIMIT = 16 * 2**20
TRIES = (1, 2)
"""aider gives a model a second try with the output of the tests."""

_ROUNDING = 0.0501


class AiderLeaderboard:
    """Rows of a leaderboard: none of them is a run, and none is made up."""

    name = "aider-leaderboard"
    fields: Mapping[str, FieldOrigin] = {}

    def recognises(self, path: Path) -> bool:
        """By the first keys of its rows."""
        start = head(path)
        return path.suffix in (".yml", ".yaml") and b"- dirname:" in start and b"pass_rate_1:" in start

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """No run at all; the rows become aggregates, and what contradicts itself in them is named."""
        contradicting = []
        for number, row in enumerate(_rows(request.path, notes), start=1):
            called = name(mapping(row).get("dirname"))
            if called is None:
                notes.unread(request.path, 0, f"row {number} has no dirname")
                continue
            notes.aggregates.append(_aggregate(called, mapping(row)))
            if not agrees_with_itself(mapping(row)):
                contradicting.append(called)
        if contradicting:
            notes.warn(
                f"{len(contradicting)} of {len(notes.aggregates)} rows state another pass rate than that of their "
                f"test_cases: {name_some(contradicting)}. Theirs is mostly of total_tests, also where fewer were run."
            )
        yield from ()


def agrees_with_itself(row: Mapping[str, Any]) -> bool:
    """Whether the stated pass rates are those of the stated counts, as far as a row states both."""
    return all(_agrees(row, number) for number in TRIES)


def _agrees(row: Mapping[str, Any], number: int) -> bool:
    stated, passed = amount(row.get(f"pass_rate_{number}")), count(row.get(f"pass_num_{number}"))
    cases = count(row.get("test_cases"))
    if stated is None or passed is None or not cases:
        return True
    return abs(100 * passed / cases - stated) <= _ROUNDING


def _aggregate(called: str, row: Mapping[str, Any]) -> dict[str, Any]:
    day = row.get("date")
    return {
        "dirname": called,
        "model": name(row.get("model")),
        "edit_format": name(row.get("edit_format")),
        "date": day.isoformat() if isinstance(day, date) else name(day),
        **{field: count(row.get(field)) for field in ("test_cases", "total_tests", "pass_num_1", "pass_num_2")},
        **{field: amount(row.get(field)) for field in ("pass_rate_1", "pass_rate_2", "percent_cases_well_formed")},
        "seconds_per_case": amount(row.get("seconds_per_case")),
        # Where no price is known, the table has 0.
        "total_cost": amount(row.get("total_cost")) or None,
    }


def _rows(path: Path, notes: ImportNotes) -> list[Any]:
    found = read_yaml(path, notes, SIZE_LIMIT)
    if not isinstance(found, list):
        raise EvidenceError(f"{path} is no leaderboard of aider: it holds no list of rows.")
    return found
