"""What scorers of Inspect say, as checks: full credit is a pass, and a value that is no share of it is unknown."""

from collections.abc import Mapping
from functools import lru_cache

from outweigh.adapters.importers.imported_run import outcome
from outweigh.ports.importers import ImportNotes
from outweigh.record.check_result import CheckResult
from outweigh.transcript.foreign import amount

LETTERS = {"C": 1.0, "I": 0.0, "P": 0.5, "N": 0.0}
"""Correct, incorrect, partial, no answer: what Inspect's accuracy makes of a grade."""

WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}

_NESTED = (dict, list)


def full_credit(value: object) -> bool | None:
    """Whether a score is all that can be had; None for one that is no share of it."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        value = LETTERS.get(value, WORDS.get(value.lower()))
    share = amount(value)
    return None if share is None or share > 1 else share == 1


def scored_checks(scores: Mapping[str, object], scorer: str | None, notes: ImportNotes) -> tuple[CheckResult, ...]:
    """A check for every scorer; only the one that decides is required, or all where none does."""
    found = []
    for key, value in scores.items():
        required = scorer is None or key == scorer
        if isinstance(value, _NESTED):
            check, warning = _check(key, value, None, required)
        else:
            check, warning = _known_check(key, value, str(value)[:200], required)
        if warning is not None:
            notes.warn(warning)
        found.append(check)
    return tuple(found)


def _check(key: str, value: object, shown: str | None, required: bool) -> tuple[CheckResult, str | None]:
    """A check, and what is to be said about its scorer."""
    passed, warning = full_credit(value), None
    if required and passed is None:
        warning = (
            f"scorer {key!r} gives values that are no share of full credit; whether such a sample succeeded is "
            "unknown. The values are kept."
        )
    elif required and passed is False and _partial(value):
        warning = f"scorer {key!r} gives partial credit; only full credit is counted as success here."
    return outcome(key, passed, shown, required=required), warning


_known_check = lru_cache(maxsize=1000, typed=True)(_check)
"""Most samples of a log have one of very few scores. `shown` tells those apart that are equal and not the same."""


def _partial(value: object) -> bool:
    share = LETTERS.get(value) if isinstance(value, str) else amount(value)
    return share is not None and 0 < share < 1
