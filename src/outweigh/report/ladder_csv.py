"""The figures of a ladder as one table for spreadsheets: a row for each figure of each tier, sub-arm and arm."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from outweigh.report.document import Report
from outweigh.report.render_csv import csv_table

COLUMNS = ("level", "tier", "name", "figure", "value", "low", "high", "confidence", "method", "unknown_because")
"""`level` is what the row is about: the whole ladder, a tier, a sub-arm or an arm."""
_LEVELS = {"levels": "tier", "sub_arms": "sub-arm", "tiers": "arm"}
_NAMES = ("arm", "name", "sub_arm", "tier")
_TEXT_KEYS = frozenset({"schema", "evidence_sha256"})
"""Keys of the whole ladder that say what the file is."""

Row = tuple[Any, ...]


class LadderCsvReporter:
    """What `ladder --format json` has, a figure to a row; an unknown is an empty cell with its reason beside it."""

    def render(self, report: Report) -> str:
        """The whole table, the ladder's own figures first."""
        return csv_table(COLUMNS, _rows(report.payload))


def _rows(payload: Mapping[str, Any]) -> Iterator[Row]:
    whole = {key: value for key, value in payload.items() if key not in _TEXT_KEYS}
    yield from _figures(("ladder", None, None), whole)
    for key, level in _LEVELS.items():
        for row in payload.get(key, ()):
            name = next((row[each] for each in _NAMES if row.get(each) is not None), None)
            figures = {each: value for each, value in row.items() if each not in _NAMES}
            yield from _figures((level, row.get("tier"), name), figures)


def _figures(first: Row, figures: Mapping[str, Any], within: str = "") -> Iterator[Row]:
    """A number with its interval is one row; figures within figures have both names, such as `phases.setup`."""
    for key, value in figures.items():
        figure = f"{within}{key}"
        if isinstance(value, Mapping):
            if "value" in value or "point" in value:
                yield (*first, figure, *_estimate(value))
            else:
                yield from _figures(first, value, f"{figure}.")
        elif isinstance(value, Sequence) and not isinstance(value, str):
            if all(isinstance(each, str) for each in value) and figure != "warnings":
                yield (*first, figure, "; ".join(value), None, None, None, None, None)
        else:
            yield (*first, figure, value, None, None, None, None, None)


def _estimate(value: Mapping[str, Any]) -> Row:
    interval = value.get("interval") or value
    return (
        value["value"] if "value" in value else value["point"],
        interval.get("low"),
        interval.get("high"),
        interval.get("level"),
        interval.get("method"),
        value.get("reason"),
    )
