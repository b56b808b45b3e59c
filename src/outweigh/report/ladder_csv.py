"""The figures of a ladder as one table for spreadsheets: a row for each figure of each tier, sub-arm and arm."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from outweigh.report.document import Report
from outweigh.report.render_csv import csv_table

COLUMNS = ("level", "tier", "name", "figure", "value", "low", "high", "confidence", "method", "unknown_because")
"""`level` is what the row is about: the whole ladder, a tier, a sub-arm or an arm."""
_LISTS = frozenset({"tiers", "levels", "sub_arms"})
_NAMES = frozenset({"arm", "name", "tier", "arms"})
_WORDS = frozenset({"schema", "evidence_sha256", "methods", "warnings", "notes"})
"""Keys that are no figures."""

Row = tuple[Any, ...]


class LadderCsvReporter:
    """What `ladder --format json` has, a figure to a row; an unknown is an empty cell with its reason beside it."""

    def render(self, report: Report) -> str:
        """The whole table, the ladder's own figures first."""
        return csv_table(COLUMNS, _rows(report.payload))


def _rows(payload: Mapping[str, Any]) -> Iterator[Row]:
    yield from _figures(("ladder", None, None), payload)
    for tier in payload["levels"]:
        yield from _figures(("tier", tier["tier"], tier["name"]), tier)
        for sub_arm in tier["sub_arms"]:
            yield from _figures(("sub-arm", tier["tier"], sub_arm["name"]), sub_arm)
    for arm in payload["tiers"]:
        yield from _figures(("arm", arm["tier"], arm["arm"]), arm)
    for tier in payload["run_level"]["tiers"]:
        yield from _figures(("tier", tier["tier"], tier["name"]), tier, "run_level.")


def _figures(first: Row, figures: Mapping[str, Any], within: str = "") -> Iterator[Row]:
    """A number with its interval is one row; figures within others have both names, such as `pooled.pass_rate`."""
    for key, value in figures.items():
        if key in _WORDS | _NAMES | _LISTS:
            continue
        figure = f"{within}{key}"
        if isinstance(value, Mapping):
            if "value" in value:
                yield (*first, figure, *_estimate(value))
            else:
                yield from _figures(first, value, within if key == "figures" else f"{figure}.")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            if all(isinstance(each, str) for each in value):
                yield (*first, figure, "; ".join(value), None, None, None, None, None)
        else:
            yield (*first, figure, value, None, None, None, None, None)


def _estimate(value: Mapping[str, Any]) -> Row:
    """A number with its interval; where either is unknown, the first note says why."""
    interval = value.get("interval") or {}
    reason = next(iter(value.get("notes", ())), None) if value["value"] is None or not interval else None
    return (
        value["value"],
        *(interval.get(key) for key in ("low", "high", "level")),
        interval.get("method") or value.get("method"),
        reason,
    )
