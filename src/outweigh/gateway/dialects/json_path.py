"""Reads values out of JSON that other programs wrote, by a path of keys.

A value that is missing or has another type is None or empty, because no client or provider is trusted to keep to
its API.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

JsonMapping = Mapping[str, Any]

_EMPTY: JsonMapping = {}


def decode_leniently(data: bytes) -> object:
    """What a piece of JSON says; None where it cannot be read.

    Programs that cut a text in the middle of a pair of surrogates write halves of it, which are no characters: they are
    read as question marks, and not as the end of everything.
    """
    try:
        return msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        pass
    try:
        return json.loads(json.dumps(json.loads(data), ensure_ascii=False).encode(errors="replace"))
    except (ValueError, RecursionError):
        return None


def dict_at(value: object, *keys: str) -> JsonMapping:
    """The object found by following the keys."""
    found = _follow(value, keys)
    return found if isinstance(found, dict) else _EMPTY


def list_at(value: object, *keys: str) -> Sequence[Any]:
    """The array found by following the keys."""
    found = _follow(value, keys)
    return found if isinstance(found, list) else ()


def dicts_at(value: object, *keys: str) -> Iterator[JsonMapping]:
    """The objects in the array found by following the keys."""
    return (entry for entry in list_at(value, *keys) if isinstance(entry, dict))


def str_at(value: object, *keys: str) -> str | None:
    """The string found by following the keys."""
    found = _follow(value, keys)
    return found if isinstance(found, str) else None


def count_at(value: object, *keys: str) -> int | None:
    """The whole number of things found by following the keys."""
    found = _follow(value, keys)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def strings_in(value: object) -> Iterator[str]:
    """Every string in it, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)


def _follow(value: object, keys: Sequence[str]) -> object:
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
