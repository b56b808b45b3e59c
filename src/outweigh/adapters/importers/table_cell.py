"""What a cell of somebody's table means: a number, a truth, a moment, or unknown. A doubtful one is a ValueError."""

import re
from collections.abc import Callable
from datetime import datetime
from math import isnan
from typing import Any

from outweigh.adapters.importers.source_time import moment
from outweigh.record.status import Status
from outweigh.transcript.foreign import amount, count

_UNKNOWN = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})
_TRUE = frozenset(
    {"true", "yes", "y", "1", "1.0", "pass", "passed", "success", "succeeded", "resolved", "solved", "correct"}
    | {"wahr", "vrai", "verdadero", "vero", "waar"}
)
_FALSE = frozenset(
    {"false", "no", "n", "0", "0.0", "fail", "failed", "failure", "unresolved", "unsolved", "incorrect"}
    | {"falsch", "faux", "falso", "onwaar"}
)
"""As people and programs say it; spreadsheets say it in the language of their user."""

_DECIMAL_COMMA = re.compile(r"(0|[1-9]\d*),\d+")
_THOUSANDS = re.compile(r"[1-9]\d{0,2}([.,]\d{3})+")
_CURRENCY = re.compile(r"\$ ?(?P<before>.+)|(?P<after>.+?) ?(\$|USD)")
_STATUS = {
    **{status.value: status for status in Status},
    **dict.fromkeys(
        ("complete", "done", "finished", "ok", "success", "succeeded", "passed", "failed"), Status.COMPLETED
    ),
    **dict.fromkeys(("timed_out", "timedout"), Status.TIMEOUT),
}

Reading = Callable[[Any], Any]


def label(value: Any) -> str | None:
    """A part of a name; numbers are written as people write them. None for an empty one."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float) and isnan(value):
        return None
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    if isinstance(value, str | int | float):
        return str(value).strip() or None
    if value is None:
        return None
    raise ValueError("which is no name")


def known(reading: Reading) -> Reading:
    """A reading of what is not a word for unknown."""

    def read(value: Any) -> Any:
        if value is None or (isinstance(value, str) and value.strip().lower() in _UNKNOWN):
            return None
        if isinstance(value, float) and isnan(value):
            return None
        return reading(value)

    return read


def whole_number(value: Any) -> int:
    """How many; of a list, how many it holds."""
    if isinstance(value, list):
        return len(value)
    _refuse_thousands(value)
    found = count(_number(value))
    if found is None:
        raise ValueError("which is no count")
    return found


def quantity(value: Any) -> float:
    """How much. A decimal comma is one where it cannot part thousands."""
    return _amount(value, "amount; write a number without its unit")


def dollars(value: Any) -> float:
    """How much in US dollars, with or without a sign that says so."""
    signed = _CURRENCY.fullmatch(value.strip()) if isinstance(value, str) else None
    return _amount(value if signed is None else signed["before"] or signed["after"], "amount of US dollars")


def truth(value: Any) -> bool:
    """Whether; a score between 0 and 1 is neither."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int | float) else ""
    if word in _TRUE:
        return True
    if word in _FALSE:
        return False
    raise ValueError("which is neither a pass nor a failure; say 1 or 0, true or false, yes or no")


def time(value: Any) -> datetime:
    """When: an ISO text, or seconds or milliseconds since 1970."""
    found = moment(value)
    if found is None and isinstance(value, str):
        found = moment(_number(value))
    if found is None:
        raise ValueError("which is no moment; write it as 2026-11-15T09:30:00Z, or in seconds since 1970")
    return found


def status(value: Any) -> Status:
    """How a run ended. `error` alone does not say whose error it was, so it is none of these."""
    found = _STATUS.get(str(value).strip().lower().replace("-", "_").replace(" ", "_"))
    if found is None:
        raise ValueError(f"which is none of {', '.join(each.value for each in Status)}")
    return found


def _amount(value: Any, noun: str) -> float:
    if isinstance(value, str) and "," in value:
        _refuse_thousands(value)
        if _DECIMAL_COMMA.fullmatch(value.strip()):
            value = value.replace(",", ".")
    found = amount(_number(value))
    if found is None:
        raise ValueError(f"which is no {noun}")
    return found


def _refuse_thousands(value: Any) -> None:
    if isinstance(value, str) and _THOUSANDS.fullmatch(value.strip()):
        raise ValueError(
            "which may mean thousands or decimals; write thousands without a mark and decimals with a point"
        )


def _number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return int(value) if value.strip().isdecimal() and len(value) < 20 else float(value)
    except ValueError:
        return None
