"""Where a table or page differs from the same one computed again: by key in JSON, by row and column in CSV, else by
line.
"""

import csv
import io
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, zip_longest
from typing import Any

import msgspec
from msgspec import Struct

MOST_CHANGES = 1000
"""Of more changes than this the others are not listed."""

_ABSENT = "nothing"
_LONGEST_VALUE = 200


class ValueChange(Struct, frozen=True, kw_only=True):
    """One place of a table: what the bundle says, and what its records give now."""

    where: str
    old: str
    new: str


def table_changes(path: str, old: bytes, new: bytes) -> tuple[ValueChange, ...]:
    """Every place that differs, in order; at least one where the bytes differ."""
    if old == new:
        return ()
    found = tuple(islice(_changes(path, old, new), MOST_CHANGES))
    return found or (ValueChange(where="its bytes", old=f"{len(old):,} bytes", new=f"{len(new):,} bytes"),)


def _changes(path: str, old: bytes, new: bytes) -> Iterator[ValueChange]:
    if path.endswith(".json"):
        try:
            yield from _json_changes("", msgspec.json.decode(old), msgspec.json.decode(new))
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            yield from _line_changes(old, new)
    elif path.endswith(".csv"):
        yield from _csv_changes(old, new)
    else:
        yield from _line_changes(old, new)


def _json_changes(where: str, old: Any, new: Any) -> Iterator[ValueChange]:
    if isinstance(old, dict) and isinstance(new, dict):
        for key in dict.fromkeys((*old, *new)):
            yield from _json_changes(f"{where}.{key}" if where else key, old.get(key, _MISSING), new.get(key, _MISSING))
    elif isinstance(old, list) and isinstance(new, list):
        for number, (one, other) in enumerate(zip_longest(old, new, fillvalue=_MISSING)):
            yield from _json_changes(f"{where}[{_label(number, one, other)}]", one, other)
    elif old != new or type(old) is not type(new):
        yield ValueChange(where=where or "the document", old=_shown(old), new=_shown(new))


_MISSING = object()


def _label(number: int, *items: Any) -> str:
    """The name of an entry of a list, where it has one and it is the same in both; else its number."""
    names = {
        next((str(item[key]) for key in ("name", "arm", "candidate", "task", "run_id") if key in item), "")
        for item in items
        if isinstance(item, Mapping)
    }
    return name if len(names) == 1 and (name := names.pop()) else str(number)


def _shown(value: Any) -> str:
    if value is _MISSING:
        return _ABSENT
    return _cut(value if isinstance(value, str) else msgspec.json.encode(value).decode())


def _csv_changes(old: bytes, new: bytes) -> Iterator[ValueChange]:
    before, after = (_rows(content) for content in (old, new))
    columns = after[0] if after else []
    for number, (one, other) in enumerate(zip_longest(before, after, fillvalue=()), start=1):
        cells = zip_longest(one, other, fillvalue="")
        changed = [(place, cell) for place, cell in enumerate(cells) if cell[0] != cell[1]]
        name = ", ".join((other or one)[:2])
        for place, (was, is_now) in changed:
            column = columns[place] if place < len(columns) else f"column {place + 1}"
            yield ValueChange(where=f"row {number} ({name}), {column}", old=_cut(was), new=_cut(is_now))


def _rows(content: bytes) -> Sequence[Sequence[str]]:
    try:
        return list(csv.reader(io.StringIO(content.decode(errors="replace"), newline="")))
    except csv.Error:
        return [[line] for line in content.decode(errors="replace").splitlines()]


def _line_changes(old: bytes, new: bytes) -> Iterator[ValueChange]:
    lines = (content.decode(errors="replace").splitlines() for content in (old, new))
    for number, (one, other) in enumerate(zip_longest(*lines), start=1):
        if one != other:
            was, is_now = _around_change(one or "", other or "")
            yield ValueChange(where=f"line {number}", old=was, new=is_now)


def _around_change(old: str, new: str) -> tuple[str, str]:
    """Both lines from a little before the first character that differs: a line of a page may be very long."""
    first = next((place for place, pair in enumerate(zip_longest(old, new)) if pair[0] != pair[1]), 0)
    start = max(0, first - 40)
    return _cut(old[start:]), _cut(new[start:])


def _cut(text: str) -> str:
    return (text if len(text) <= _LONGEST_VALUE else f"{text[:_LONGEST_VALUE]}…") or _ABSENT
