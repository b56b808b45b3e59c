"""Rubrics of ProjectScylla as they are in its tests, which say more than its own schema allows."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from outweigh.adapters.suites.source_files import read_text, read_yaml
from outweigh.errors import UsageError
from outweigh.task.category_rubric import from_categories
from outweigh.task.rubric import Rubric

_LONGEST = 20_000
_SKILL_KEYS = ("skill_validation", "skill_source")


class ReadRubric(NamedTuple):
    """A rubric, and what is not in it."""

    rubric: Rubric
    notes: tuple[str, ...]


def read_rubric(source: Path, criteria: Path | None) -> ReadRubric:
    """A rubric file, with the page of criteria as notes for judges; UsageError where it is none."""
    table = read_yaml(source)
    if not isinstance(table, dict):
        raise UsageError(f"{source} holds no table; a rubric has `requirements` or `categories`.")
    notes = tuple(_skill_notes(table, source))
    table = {**table, "requirements": [_spelled_out(item) for item in _list(table.get("requirements"))]}
    rubric, scale_notes = _with_known_letters(table, source)
    words, criteria_notes = _criteria(criteria)
    return ReadRubric(msgspec.structs.replace(rubric, notes=words), (*notes, *scale_notes, *criteria_notes))


def _list(value: object) -> list[Any]:
    """What is no list is left for the rubric's own reader to refuse."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _spelled_out(requirement: Any) -> Any:
    """Criteria below a requirement become lines of its description: a judge gives one score for them all."""
    if not isinstance(requirement, dict):
        return requirement
    kept = {key: value for key, value in requirement.items() if key not in (*_SKILL_KEYS, "criteria")}
    points = requirement.get("criteria", [])
    if not isinstance(points, list) or not all(isinstance(point, str) for point in points):
        return {**kept, "criteria": points}
    if points and isinstance(kept.get("description"), str):
        kept["description"] = "\n".join((kept["description"], *(f"- {point}" for point in points)))
    return kept


def _with_known_letters(table: dict[str, Any], source: Path) -> tuple[Rubric, tuple[str, ...]]:
    """Letters by an unknown scale are left out; they follow from the score and decide nothing."""
    try:
        return from_categories(table), ()
    except ValueError as fault:
        grading = table.get("grading")
        if not isinstance(grading, dict) or "grade_scale" not in grading:
            raise _refusal(fault, source) from None
    try:
        plain = {key: value for key, value in grading.items() if key != "grade_scale"}
        rubric = from_categories({**table, "grading": plain})
    except ValueError as fault:
        raise _refusal(fault, source) from None
    return rubric, (f"{source}: `grading.grade_scale` is none that is known here; letters follow the usual scale.",)


def _refusal(fault: ValueError, source: Path) -> UsageError:
    return UsageError(f"{source}: {fault}. Mend it there, and read the suite again.")


def _skill_notes(table: dict[str, Any], source: Path) -> Iterator[str]:
    requirements = [item for item in _list(table.get("requirements")) if isinstance(item, dict)]
    skilled = [str(item.get("id")) for item in requirements if any(key in item for key in _SKILL_KEYS)]
    if skilled:
        yield f"{source}: skills that {', '.join(skilled)} name for a judge are left out; judges have no tools here."


def _criteria(source: Path | None) -> tuple[str | None, tuple[str, ...]]:
    words = read_text(source).strip() if source is not None else ""
    if len(words) <= _LONGEST:
        return words or None, ()
    return words[:_LONGEST], (f"{source} is longer than {_LONGEST:,} characters; judges see the beginning.",)
