"""The figures of a ladder as one table for spreadsheets: a row for each figure of each tier, sub-arm and arm."""

from collections.abc import Iterator, Mapping
from typing import Any

from outweigh.report.document import Report
from outweigh.report.render_csv import csv_table

COLUMNS = ("level", "tier", "name", "figure", "value", "low", "high", "confidence", "method", "unknown_because")
"""`level` is what the row is about: the whole ladder, a tier, a sub-arm, an arm, a contrast of tiers, or replicates."""
_NAMES = frozenset({"arm", "name", "tier", "arms", "reference", "reference_name"})
_WORDS = frozenset(
    {"schema", "evidence_sha256", "evidence_hash_version", "methods", "warnings", "notes", "n", "unit", "method"}
)
"""Keys that are no figures, or stand in other columns."""
_NO_ENDS = (None, None, None, None, None)

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
    # The first contrast to the first tier is the first step.
    for contrast in (*payload["steps"], *payload["against_first"][1:]):
        name = f"{contrast['name']} over {contrast['reference_name']}"
        yield from _figures(("contrast", contrast["tier"], name), {"quality": contrast})
    for noise in payload["replicates"]:
        yield from _figures(("replicates", None, noise["name"]), noise)


def _figures(first: Row, figures: Mapping[str, Any], within: str = "") -> Iterator[Row]:
    """A number with its interval is one row; figures within others have both names, such as `pooled.pass_rate`."""
    for key, value in figures.items():
        if key in _WORDS or (key in _NAMES and not isinstance(value, Mapping)):
            continue
        figure = f"{within}{key}"
        if isinstance(value, Mapping):
            yield from _nested(first, figure, value, "" if figure == "figures" else f"{figure}.")
        elif isinstance(value, list):
            yield from _listed(first, figure, value)
        else:
            yield (*first, figure, value, *_NO_ENDS)


def _nested(first: Row, figure: str, value: Mapping[str, Any], within: str) -> Iterator[Row]:
    if "value" in value:
        yield (*first, figure, value["value"], *_ends(value, "interval", unknown=value["value"] is None))
    elif "difference" in value:
        yield (*first, f"{figure}.difference", value["difference"], *_ends(value, "simultaneous_interval"))
        yield (*first, f"{figure}.difference_alone", value["difference"], *_ends(value, "interval"))
        shown = ("difference", "simultaneous_interval", "interval")
        yield from _figures(first, {key: each for key, each in value.items() if key not in shown}, within)
    elif "statistic" in value:
        known = value["p_value"] is not None
        yield (*first, f"{figure}.statistic", value["statistic"], None, None, None, value["method"], None)
        yield (*first, f"{figure}.p_value", value["p_value"], None, None, None, value["method"], _reason(value, known))
    else:
        yield from _figures(first, value, within)


def _listed(first: Row, figure: str, value: list[Any]) -> Iterator[Row]:
    """Names as one cell, two numbers as the ends of a range; what has rows of its own is left out."""
    if value and all(isinstance(each, str) for each in value):
        yield (*first, figure, "; ".join(value), *_NO_ENDS)
    elif len(value) == 2 and not any(isinstance(each, Mapping | str) for each in value):
        yield (*first, figure, None, *value, None, None, None)


def _ends(value: Mapping[str, Any], key: str, *, unknown: bool = False) -> Row:
    """The interval; where it or the number is unknown, the first note says why."""
    interval = value.get(key) or {}
    method = interval.get("method") or value.get("method")
    known = bool(interval) and not unknown
    return (*(interval.get(end) for end in ("low", "high", "level")), method, _reason(value, known))


def _reason(value: Mapping[str, Any], is_known: bool) -> str | None:
    return None if is_known else next(iter(value.get("notes", ())), value.get("reason"))
