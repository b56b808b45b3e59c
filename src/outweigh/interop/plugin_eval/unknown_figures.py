"""What an exported result says about figures that are unknown: the format needs a number, so 0 stands there, and the
advisories of the case list the places.

The importer takes 0 in these places for unknown, so that what was exported says the same when it is imported again.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from outweigh.model.run_record import RunRecord

_MARK = "0 stands for what is unknown: "
_PLACE = re.compile(r"(with|without)\[(\d+)\]\.(costUsd|durationSeconds|turns)\b")


def describe_unknown(arms: Mapping[str, Sequence[RunRecord]]) -> str | None:
    """The advisory of a case about its runs; None if everything is known."""
    places = [
        f"{arm}[{number}].{name}"
        for arm, runs in arms.items()
        for number, run in enumerate(runs)
        for name, value in (
            ("costUsd", run.cost.usd),
            ("durationSeconds", run.duration_seconds),
            ("turns", run.step_count),
        )
        if value is None
    ]
    return f"{_MARK}{', '.join(places)}." if places else None


def without_unknown(run: Mapping[str, Any], arm: str, number: int, advisories: Sequence[Any]) -> dict[str, Any]:
    """A run without the zeros that stand for something unknown. Runs are counted from 0."""
    unknown = {
        name
        for advice in advisories
        if isinstance(advice, str) and advice.startswith(_MARK)
        for found_arm, found_number, name in _PLACE.findall(advice)
        if (found_arm, int(found_number)) == (arm, number)
    }
    return {name: None if name in unknown and not value else value for name, value in run.items()}


def is_about_unknown(advice: str) -> bool:
    """Whether an advisory is one of these, which only the importer needs."""
    return advice.startswith(_MARK)
