"""Fields of JSON objects that somebody else wrote, by their path; what is missing or of another kind is unknown."""

from datetime import UTC, datetime
from typing import Any

import msgspec

from outweigh.transcript.foreign import amount, count, mapping, name, names, sequence, text


def at(value: Any, *keys: str) -> Any:
    """What stands under a path of keys."""
    for key in keys:
        value = mapping(value).get(key)
    return value


def text_at(value: Any, *keys: str) -> str | None:
    """A string."""
    return text(at(value, *keys))


def name_at(value: Any, *keys: str) -> str | None:
    """A string that says something."""
    return name(at(value, *keys))


def names_at(value: Any, *keys: str) -> tuple[str, ...] | None:
    """The names in an array; None where there is no array."""
    return names(at(value, *keys))


def flag_at(value: Any, *keys: str) -> bool | None:
    """A truth value."""
    found = at(value, *keys)
    return found if isinstance(found, bool) else None


def count_at(value: Any, *keys: str) -> int | None:
    """A number of things."""
    return count(at(value, *keys))


def amount_at(value: Any, *keys: str) -> float | None:
    """A quantity."""
    return amount(at(value, *keys))


def seconds_at(value: Any, *keys: str) -> float | None:
    """Milliseconds as seconds."""
    found = amount(at(value, *keys))
    return None if found is None else found / 1000


def number_at(value: Any, *keys: str) -> int | None:
    """A whole number of either sign, such as an exit code."""
    found = at(value, *keys)
    return found if isinstance(found, int) and not isinstance(found, bool) else None


def table_at(value: Any, *keys: str) -> dict[str, Any]:
    """An object; an empty one where there is none."""
    return mapping(at(value, *keys))


def tables_at(value: Any, *keys: str) -> list[dict[str, Any]]:
    """The objects in an array."""
    return [each for each in sequence(at(value, *keys)) if isinstance(each, dict)]


def moment_at(value: Any, *keys: str, units_per_second: int = 1) -> str | None:
    """A moment, counted from the epoch, as ISO 8601 in UTC; no agent ran before it."""
    found = at(value, *keys)
    if isinstance(found, bool) or not isinstance(found, int | float) or found <= 0:
        return None
    try:
        stamp = datetime.fromtimestamp(found / units_per_second, UTC)
    except (OverflowError, ValueError, OSError):
        return None
    return stamp.isoformat(timespec="milliseconds").replace("+00:00", "Z")


def as_text(value: Any) -> str:
    """Any JSON value as a text: a string as it is, blocks of text joined, everything else as JSON."""
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    blocks = [text_at(block, "text") for block in sequence(value)]
    if blocks and None not in blocks:
        return "\n".join(block for block in blocks if block is not None)
    return msgspec.json.encode(value).decode()


def arguments_of(value: Any) -> dict[str, Any]:
    """What a tool was asked, which some write as an object and some as JSON within a string."""
    if isinstance(value, str):
        try:
            value = msgspec.json.decode(value)
        except (ValueError, RecursionError):
            return {"unreadable": value}
    return value if isinstance(value, dict) else {}
