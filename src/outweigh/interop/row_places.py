"""Where a JSON document has rows: arrays of objects, and maps whose keys name tasks or arms.

A place is written as keys with points between them; `*` stands for every key of an object.
"""

from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import islice
from typing import Any

from outweigh.interop.column_names import match_name

KEY_COLUMN = "key"
"""The column of the keys that `*` stands for; further ones are `key2`, `key3`."""

FILE_COLUMN = "file"
"""The column that says which table of a folder a row is from."""

VALUE_COLUMN = "value"
"""The column of the values of a map that are true or false, and no objects."""

_EVERY_KEY = "*"
_MOST_DEPTH = 7
_SAMPLED = 50
"""Entries of an array or a map, and rows, that are looked at to tell what it holds."""

_FIRM = 1
_WEAK = 2


def rows_at(document: Any, place: str) -> Iterator[dict[str, Any] | None]:
    """The rows at a place, each with the plain values of the objects around it; None for what is no row."""
    return _rows_at(document, place.split("."), {}, 0)


def _rows_at(value: Any, place: list[str], around: dict[str, Any], keys: int) -> Iterator[dict[str, Any] | None]:
    if isinstance(value, list):
        for each in value:
            yield from _rows_at(each, place, around, keys)
    elif not place:
        yield {**around, **value} if isinstance(value, dict) else None
    elif isinstance(value, dict):
        first, *rest = place
        plain = {key: each for key, each in value.items() if not isinstance(each, dict | list)}
        if first == _EVERY_KEY and not rest and _is_map_of_outcomes(value):
            for key, each in value.items():
                yield {**around, _key_column(keys): key, VALUE_COLUMN: each}
        elif first == _EVERY_KEY:
            for key, each in value.items():
                if isinstance(each, dict | list):
                    yield from _rows_at(each, rest, around | plain | {_key_column(keys): key}, keys + 1)
        elif first in value:
            yield from _rows_at(value[first], rest, around | plain, keys)


def _key_column(number: int) -> str:
    return f"{KEY_COLUMN}{number + 1 if number else ''}"


def array_places(document: Any, before: str = "", depth: int = 3) -> list[str]:
    """Where a document has arrays of rows, outermost first."""
    if not isinstance(document, dict) or not depth:
        return []
    found = [f"{before}{name}" for name, value in document.items() if are_rows(value)]
    for name, value in document.items():
        found += array_places(value, f"{before}{name}.", depth - 1)
    return found


def are_rows(value: Any) -> bool:
    """Whether a value is an array of objects."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def result_places(document: Any) -> list[str]:
    """The outermost places whose rows say which task was run and whether it was solved."""
    found = [place for place in _places(document, (), _MOST_DEPTH) if _hold_results(document, place)]
    depth = min((place.count(".") for place in found), default=0)
    return [place for place in found if place.count(".") == depth]


def holds_result(row: Mapping[str, Any]) -> bool:
    """Whether the columns of a row, or of a document that is one, firmly name a task and its result."""
    names = list(_plain_names(row))
    return all(any(_may_be(name, field, _FIRM) for name in names) for field in ("task_id", "success"))


def _places(value: Any, before: tuple[str, ...], depth: int) -> Iterator[str]:
    if isinstance(value, list):
        if before and are_rows(value[:_SAMPLED]):
            yield ".".join(before)
            yield from _places_within(_sample(value), before, depth)
    elif isinstance(value, dict) and depth:
        if _is_map_of_outcomes(value) and before:
            yield ".".join((*before, _EVERY_KEY))
        elif _is_map(value):
            yield ".".join((*before, _EVERY_KEY))
            yield from _places_within(_sample(list(value.values())), (*before, _EVERY_KEY), depth)
        else:
            yield from _places_within(value, before, depth)


def _places_within(value: Mapping[str, Any], before: tuple[str, ...], depth: int) -> Iterator[str]:
    if depth and before and before[-1] == _EVERY_KEY and (_is_map(value) or _is_map_of_outcomes(value)):
        yield from _places(value, before, depth - 1)
        return
    for name, each in value.items() if depth else ():
        if "." not in name and name != _EVERY_KEY:
            yield from _places(each, (*before, name), depth - 1)


def _sample(values: list[Any]) -> dict[str, Any]:
    """What the first entries have together, of each key the first value."""
    found: dict[str, Any] = {}
    for value in values[:_SAMPLED]:
        for each in value[:1] if isinstance(value, list) else [value]:
            if isinstance(each, dict):
                found = each | found
    return found


def _is_map(value: Mapping[str, Any]) -> bool:
    """Whether the keys of an object are names: several values, all objects with a key in common, or all arrays."""
    values = list(islice(value.values(), _SAMPLED))
    if len(values) < 2:
        return False
    if all(are_rows(each) for each in values):
        return True
    return all(isinstance(each, dict) for each in values) and bool(set.intersection(*map(set, values)))


def _is_map_of_outcomes(value: Mapping[str, Any]) -> bool:
    return len(value) > 1 and all(isinstance(each, bool) for each in value.values())


def _hold_results(document: Any, place: str) -> bool:
    rows = [row for row in islice(rows_at(document, place), _SAMPLED) if row is not None]
    if not rows:
        return False
    together = _sample(rows)
    names = list(_plain_names(together))
    knows_task = KEY_COLUMN in names or any(_may_be(name, "task_id", _WEAK) for name in names)
    return knows_task and (VALUE_COLUMN in together or any(_may_be(name, "success", _FIRM) for name in names))


def _plain_names(row: Mapping[str, Any], before: str = "", depth: int = 3) -> Iterator[str]:
    """The dotted names of what is neither an object nor an array."""
    for name, value in row.items():
        if isinstance(value, dict) and depth:
            yield from _plain_names(value, f"{before}{name}.", depth - 1)
        elif not isinstance(value, list | dict):
            yield before + name


@lru_cache(maxsize=4096)
def _may_be(name: str, field: str, rank: int) -> bool:
    return any(match.field == field and match.rank <= rank for match in match_name(name))
