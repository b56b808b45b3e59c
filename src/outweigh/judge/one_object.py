"""The one JSON object that an answer must be: what is anything else, or could mean two things, is complained about."""

import json
import re
from collections.abc import Mapping
from typing import Any

LONGEST_ANSWER = 1_000_000
# Many models put JSON between three backticks. Only where nothing else is there, it is clear which object is meant.
_BACKTICKS = re.compile(r"\s*```(?:json)?\s*\n(.*)\n\s*```\s*", re.DOTALL | re.IGNORECASE)


class UnusableAnswerError(ValueError):
    """Says what is wrong with an answer, in words for the judge."""


def one_object(text: str) -> Mapping[str, Any]:
    """The object, with nothing before or after it, no key twice, and only numbers that JSON knows."""
    if len(text) > LONGEST_ANSWER:
        raise UnusableAnswerError(f"it is longer than {LONGEST_ANSWER:,} characters.")
    inside = _BACKTICKS.fullmatch(text)
    try:
        value = json.loads(inside[1] if inside else text, object_pairs_hook=_unique, parse_constant=_no_number)
    except RecursionError:
        raise UnusableAnswerError("it is nested too deeply.") from None
    except json.JSONDecodeError as fault:
        raise UnusableAnswerError(f"it is not one JSON object and nothing else ({fault}).") from None
    except UnusableAnswerError:
        raise
    except ValueError:  # Python reads no whole number of thousands of digits
        raise UnusableAnswerError("a number in it is too large.") from None
    if not isinstance(value, dict):
        raise UnusableAnswerError("it is not a JSON object.")
    return value


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    table = dict(pairs)
    if len(table) < len(pairs):
        raise UnusableAnswerError("an object in it has the same key twice.")
    return table


def _no_number(name: str) -> float:
    raise UnusableAnswerError(f"{name} is not a number in JSON.")
