"""Reading what others wrote without trusting its shape: what is not there, or is something else, is None or empty."""

import json
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec

Json = Mapping[str, Any]

_NOTHING: Json = {}


def decoded(data: bytes) -> object:
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


def mapping(value: object, *keys: str) -> Json:
    """The object found by following the keys."""
    found = _follow(value, keys)
    return found if isinstance(found, dict) else _NOTHING


def sequence(value: object, *keys: str) -> Sequence[Any]:
    """The array found by following the keys."""
    found = _follow(value, keys)
    return found if isinstance(found, list) else ()


def mappings(value: object, *keys: str) -> Iterator[Json]:
    """The objects in the array found by following the keys."""
    return (entry for entry in sequence(value, *keys) if isinstance(entry, dict))


def text(value: object, *keys: str) -> str | None:
    """The string found by following the keys."""
    found = _follow(value, keys)
    return found if isinstance(found, str) else None


def count(value: object, *keys: str) -> int | None:
    """The whole number of things found by following the keys."""
    found = _follow(value, keys)
    return found if isinstance(found, int) and not isinstance(found, bool) and found >= 0 else None


def strings(value: object) -> Iterator[str]:
    """Every string in it, however deep."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings(inner)


def _follow(value: object, keys: Sequence[str]) -> object:
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value
