"""Values as people and other programs write them: times, durations, numbers, amounts of money, booleans, statuses.

The functions for times and durations return None for what they cannot read. Those for table cells raise a ValueError
for a doubtful value, because a guess would change a result.
"""

import operator
import re
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from math import isfinite, isnan
from operator import attrgetter
from typing import Any, NamedTuple, cast

from outweigh.model.failure import Status
from outweigh.model.untrusted_json import as_amount, as_count

_FIRST_MILLISECONDS = 1e11
"""As seconds this is the year 5138, as milliseconds 1973, so no time of an agent's run is ambiguous."""

FIRST_SECONDS = 1e9
"""A smaller number is no moment since 1970 of an agent's run, but may be seconds since a start."""

_time_zone = attrgetter("tzinfo")


def parse_time(value: object) -> datetime | None:
    """A time in UTC; a text without a zone is taken as UTC. None for anything else."""
    if isinstance(value, datetime):
        found = value
    elif isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            return None
    elif isinstance(value, int | float) and not isinstance(value, bool):
        return _from_epoch(value)
    else:
        return None
    try:
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (OverflowError, ValueError):
        return None


def parse_times(values: Sequence[object]) -> list[datetime | None]:
    """Many times at once; texts that are all in UTC are parsed without checking each."""
    with suppress(TypeError, ValueError):
        found: list[datetime | None] = [*map(datetime.fromisoformat, cast("Sequence[str]", values))]
        if {*map(_time_zone, found)} == {UTC}:
            return found
    return [*map(parse_time, values)]


def seconds_between(start: object, end: object) -> float | None:
    """A duration; None if either end is unknown, or the end is before the start."""
    first, last = parse_time(start), parse_time(end)
    return None if first is None or last is None else as_amount((last - first).total_seconds())


def milliseconds_to_seconds(value: object) -> float | None:
    """A duration that the source states in milliseconds."""
    found = as_amount(value)
    return None if found is None else found / 1000


def known_sum(parts: Iterable[Any]) -> Any:
    """The sum of the parts; None if there are none, or any of them is unknown."""
    found = list(parts)
    return None if not found or None in found else sum(found)


def _from_epoch(value: float) -> datetime | None:
    if not isfinite(value) or value <= 0:
        return None
    try:
        return datetime.fromtimestamp(value / 1000 if value >= _FIRST_MILLISECONDS else value, UTC)
    except (OverflowError, ValueError, OSError):
        return None


_UNKNOWN_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "-", "?"})
_TRUE_WORDS = frozenset(
    {"true", "yes", "y", "1", "1.0", "pass", "passed", "success", "succeeded", "resolved", "solved", "correct"}
    | {"wahr", "vrai", "verdadero", "vero", "waar", "t", "ok", "✓", "✔", "✅"}
)
_FALSE_WORDS = frozenset(
    {"false", "no", "n", "0", "0.0", "fail", "failed", "failure", "unresolved", "unsolved", "incorrect"}
    | {"falsch", "faux", "falso", "onwaar", "f", "✗", "✘", "❌"}
)
"""As people and programs write it; spreadsheets write it in the language of their user."""

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

_ENDINGS = {word: status for word, status in _STATUS.items() if status is not Status.COMPLETED} | dict.fromkeys(
    ("skipped", "cancelled", "canceled"), Status.NOT_RUN
)
_NO_RESULT = frozenset({"error", "errored", "exception", "crash", "crashed", "unknown"})
"""Ends of a run that do not say whose fault it was."""

CellReader = Callable[[Any], Any]


def read_label(value: Any) -> str | None:
    """A part of a name, with numbers as people write them; None if it is empty."""
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
    raise ValueError("which is not a name")


def unless_unknown(reading: CellReader) -> CellReader:
    """A cell reader that returns None for empty cells and words such as `n/a`."""

    def read(value: Any) -> Any:
        if value is None or (isinstance(value, str) and value.strip().lower() in _UNKNOWN_WORDS):
            return None
        if isinstance(value, float) and isnan(value):
            return None
        return reading(value)

    return read


def read_count(value: Any) -> int:
    """A count; of a list, its length."""
    if isinstance(value, list):
        return len(value)
    _refuse_thousands(value)
    found = as_count(_parse_number(value))
    if found is None:
        raise ValueError("which is not a count")
    return found


def read_amount(value: Any) -> float:
    """A number. A comma is a decimal comma if it cannot separate thousands."""
    return _read_amount_as(value, "amount; write a number without its unit")


def read_dollars(value: Any) -> float:
    """An amount of US dollars, with or without a currency sign."""
    signed = _CURRENCY.fullmatch(value.strip()) if isinstance(value, str) else None
    return _read_amount_as(value if signed is None else signed["before"] or signed["after"], "amount of US dollars")


def read_bool(value: Any) -> bool:
    """A boolean; a score between 0 and 1 is none."""
    if isinstance(value, bool):
        return value
    word = str(value).strip().lower() if isinstance(value, str | int | float) else ""
    if word in _TRUE_WORDS:
        return True
    if word in _FALSE_WORDS:
        return False
    raise ValueError("which is neither a pass nor a failure; say 1 or 0, true or false, yes or no")


def read_outcome(value: Any) -> bool | None:
    """A boolean; None where a word says how the run ended, and not whether it passed."""
    word = _status_word(value)
    return None if word in _ENDINGS or word in _NO_RESULT else read_bool(value)


def read_ending(value: Any) -> Status | None:
    """How a run ended that has no result, where its outcome says so."""
    return _ENDINGS.get(_status_word(value))


_THRESHOLD = re.compile(r"(?P<column>.+?)\s*(?P<sign>>=|<=|>|<)\s*(?P<limit>\d+(\.\d+)?|\.\d+)")
_SIGNS = {">=": operator.ge, "<=": operator.le, ">": operator.gt, "<": operator.lt}


class Threshold(NamedTuple):
    """A score that is a pass from some value on, such as `score>=0.8`."""

    column: str
    sign: str
    limit: float

    def is_pass(self, value: Any) -> bool:
        """Whether a score is a pass; ValueError for a score in another unit."""
        score = read_amount(value)
        if self.limit < 1 < score:
            raise ValueError(
                f"which is above 1, while {self.limit:g} is a share; write where a pass begins in the same unit"
            )
        return bool(_SIGNS[self.sign](score, self.limit))


def parse_threshold(spec: str) -> Threshold | None:
    """The threshold that the user wrote; None for the name of a column."""
    found = _THRESHOLD.fullmatch(spec)
    return None if found is None else Threshold(found["column"], found["sign"], float(found["limit"]))


def read_time(value: Any) -> datetime:
    """A time: ISO text, or seconds or milliseconds since 1970."""
    found = parse_time(value)
    if found is None and isinstance(value, str):
        found = parse_time(_parse_number(value))
    if found is None:
        raise ValueError("which is not a moment; write it as 2026-11-15T09:30:00Z, or in seconds since 1970")
    return found


def read_time_or_unknown(value: Any) -> datetime | None:
    """A time; None for anything else, because a run without its time is still a run. A small number counts from some
    start, not from 1970.
    """
    number = _parse_number(value)
    if isinstance(number, int | float) and number < FIRST_SECONDS:
        return None
    try:
        return read_time(value)
    except ValueError:
        return None


def read_status(value: Any) -> Status:
    """How a run ended. `error` alone is refused, because it does not say whose error it was."""
    found = _STATUS.get(_status_word(value))
    if found is None:
        raise ValueError(f"which is none of {', '.join(each.value for each in Status)}")
    return found


def _status_word(value: Any) -> str:
    return str(value).strip().lower().replace("-", "_").replace(" ", "_")


def _read_amount_as(value: Any, noun: str) -> float:
    if isinstance(value, str) and "," in value:
        _refuse_thousands(value)
        if _DECIMAL_COMMA.fullmatch(value.strip()):
            value = value.replace(",", ".")
    found = as_amount(_parse_number(value))
    if found is None:
        raise ValueError(f"which is no {noun}")
    return found


def _refuse_thousands(value: Any) -> None:
    if isinstance(value, str) and _THOUSANDS.fullmatch(value.strip()):
        raise ValueError(
            "which may mean thousands or decimals; write thousands without a mark and decimals with a point"
        )


def _parse_number(value: Any) -> Any:
    if not isinstance(value, str):
        return value
    try:
        return int(value) if value.strip().isdecimal() and len(value) < 20 else float(value)
    except ValueError:
        return None
