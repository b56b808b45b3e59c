"""Values out of JSON that other programs wrote: each has the expected type, or is unknown.

The `as_...` functions check a value, the `..._at` functions one at a path of keys. None of them raises.
"""

from collections.abc import Iterator
from datetime import UTC, datetime
from math import isfinite
from typing import Any

import msgspec

COUNT_LIMIT = 10**15
AMOUNT_LIMIT = 1e12
NAME_LENGTH_LIMIT = 500


def as_dict(value: object) -> dict[str, Any]:
    """An object; an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def as_list(value: object) -> list[Any]:
    """An array; an empty one where there is none."""
    return value if isinstance(value, list) else []


def as_str(value: object) -> str | None:
    """A string."""
    return value if isinstance(value, str) else None


def as_name(value: object) -> str | None:
    """A string that a record can hold as a name."""
    return value[:NAME_LENGTH_LIMIT] if isinstance(value, str) and value else None


def as_names(value: object) -> tuple[str, ...] | None:
    """An array of names; None where there is no array. Other values are left out."""
    if not isinstance(value, list):
        return None
    return tuple(each for each in map(as_name, value) if each is not None)


def as_count(value: object) -> int | None:
    """A number of things: whole, not negative, and no larger than a record can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    if not 0 <= value <= COUNT_LIMIT or value != int(value):
        return None
    return int(value)


def as_amount(value: object) -> float | None:
    """A quantity: finite, not negative, and no larger than a record can hold."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if isfinite(value) and 0 <= value <= AMOUNT_LIMIT else None


def value_at(value: Any, *keys: str) -> Any:
    """The value at a path of keys."""
    for key in keys:
        value = as_dict(value).get(key)
    return value


def str_at(value: Any, *keys: str) -> str | None:
    """A string."""
    return as_str(value_at(value, *keys))


def name_at(value: Any, *keys: str) -> str | None:
    """A string that is not empty."""
    return as_name(value_at(value, *keys))


def names_at(value: Any, *keys: str) -> tuple[str, ...] | None:
    """The names in an array; None where there is no array."""
    return as_names(value_at(value, *keys))


def bool_at(value: Any, *keys: str) -> bool | None:
    """A truth value."""
    found = value_at(value, *keys)
    return found if isinstance(found, bool) else None


def count_at(value: Any, *keys: str) -> int | None:
    """A number of things."""
    return as_count(value_at(value, *keys))


def amount_at(value: Any, *keys: str) -> float | None:
    """A quantity."""
    return as_amount(value_at(value, *keys))


def seconds_at(value: Any, *keys: str) -> float | None:
    """Milliseconds as seconds."""
    found = as_amount(value_at(value, *keys))
    return None if found is None else found / 1000


def int_at(value: Any, *keys: str) -> int | None:
    """A whole number of either sign, such as an exit code."""
    found = value_at(value, *keys)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def dict_at(value: Any, *keys: str) -> dict[str, Any]:
    """An object; an empty one where there is none."""
    return as_dict(value_at(value, *keys))


def dicts_at(value: Any, *keys: str) -> list[dict[str, Any]]:
    """The objects in an array."""
    return [each for each in as_list(value_at(value, *keys)) if isinstance(each, dict)]


def list_at(value: Any, *keys: str) -> list[Any]:
    """An array; an empty one where there is none."""
    return as_list(value_at(value, *keys))


def strings_in(value: object) -> Iterator[str]:
    """Every string in a value, at any depth."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from strings_in(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from strings_in(inner)


def timestamp_at(value: Any, *keys: str, units_per_second: int = 1) -> str | None:
    """A positive time since the epoch, as ISO 8601 in UTC."""
    found = value_at(value, *keys)
    if isinstance(found, bool) or not isinstance(found, int | float) or found <= 0:
        return None
    try:
        stamp = datetime.fromtimestamp(found / units_per_second, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def to_text(value: Any) -> str:
    """Any JSON value as a text: a string as it is, blocks of text joined, everything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    blocks = [str_at(block, "text") for block in as_list(value)]
    if blocks and None not in blocks:
        return "\n".join(block for block in blocks if block is not None)
    return msgspec.json.encode(value).decode()


def parse_arguments(value: Any) -> dict[str, Any]:
    """The arguments of a tool call, given as an object or as JSON in a string."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return {"unreadable": value}
    return value if isinstance(value, dict) else {}
