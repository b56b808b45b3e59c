"""Cuts members and elements out of a JSON text, so that everything else stays as it is written."""

import json
import re
from collections.abc import Sequence
from typing import Any

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


def cut_json(text: str, path: Sequence[str | int]) -> str:
    """The text without the member or element at a path of keys and places; KeyError where there is none.

    The comma beside it goes with it, and so does the line that it was on.
    """
    *above, last = path
    start = _skip(text, 0)
    for step in above:
        start = _entries(text, start)[step][1]
    entries = _entries(text, start)
    keys = list(entries)
    place = keys.index(last) if last in entries else -1
    if place < 0:
        raise KeyError(last)
    first, _, end = entries[last]
    if place + 1 < len(keys):
        return text[:first] + text[entries[keys[place + 1]][0] :]
    if place > 0:
        return text[: entries[keys[place - 1]][2]] + text[end:]
    return text[: start + 1] + text[_skip(text, end) :]


def _entries(text: str, start: int) -> dict[str | int, tuple[int, int, int]]:
    """The members of an object or the elements of a list: where each begins, where its value does, where it ends."""
    found: dict[str | int, tuple[int, int, int]] = {}
    is_object = text[start : start + 1] == "{"
    if not is_object and text[start : start + 1] != "[":
        raise KeyError("a value without members")
    place = _skip(text, start + 1)
    while text[place] not in "}]":
        first = place
        name: str | int = len(found)
        if is_object:
            name, place = _decode(text, place)
            place = _skip(text, _skip(text, place) + 1)  # the colon
        value = place
        _, place = _decode(text, place)
        found[name] = first, value, place
        place = _skip(text, place)
        if text[place] == ",":
            place = _skip(text, place + 1)
    return found


def _decode(text: str, place: int) -> tuple[Any, int]:
    return _DECODER.raw_decode(text, place)


def _skip(text: str, place: int) -> int:
    found = _SPACE.match(text, place)
    return place if found is None else found.end()
