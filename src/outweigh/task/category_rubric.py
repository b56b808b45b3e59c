"""Rubrics as seed 003's project writes them: a list of requirements, a table of categories, or both."""

from typing import Literal

import msgspec

from outweigh.task.rubric import (
    BinaryCriterion,
    ChecklistCriterion,
    ChecklistItem,
    Criterion,
    Points,
    Rubric,
    ScaledCriterion,
    Share,
    Words,
)
from outweigh.task.spec import Name, Spec, Weight

_SCALES = {
    "seed": {"A": 0.95, "B": 0.85, "C": 0.75, "D": 0.65},
    "s_scale": {"S": 1.0, "A": 0.8, "B": 0.6, "C": 0.4, "D": 0.2},
}


class Requirement(Spec, frozen=True, kw_only=True):
    """One requirement; `scoring` says what some scores between 0 and 1 mean."""

    id: Name
    description: Words
    weight: Weight = 1.0
    evaluation: Literal["binary", "scaled"] = "binary"
    scoring: dict[float, Words] = {}  # noqa: RUF012 - msgspec copies defaults


class CategoryItem(Spec, frozen=True, kw_only=True):
    """One thing to check within a category."""

    id: Name
    check: Words
    points: Points = 1.0
    na_condition: Words | None = None


class Category(Spec, frozen=True, kw_only=True):
    """A category with items, whether they are counted or felt, or a single impression of its description."""

    weight: Weight = 1.0
    description: Words | None = None
    scoring_type: Literal["checklist", "subjective"] | None = None
    items: list[CategoryItem] = []  # noqa: RUF012


class Grading(Spec, frozen=True, kw_only=True):
    """From which score on a run passes, and the letters."""

    pass_threshold: Share = 0.6
    grade_scale: dict[str, float] | None = None


class CategoryRubric(Spec, frozen=True, kw_only=True):
    """The whole file."""

    requirements: list[Requirement] = []  # noqa: RUF012
    categories: dict[Name, Category] = {}  # noqa: RUF012
    grading: Grading = Grading()


def from_categories(table: object) -> Rubric:
    """The same questions as a rubric of ours; where both styles are used, every criterion keeps its own weight."""
    foreign = msgspec.convert(table, CategoryRubric, str_keys=True)
    criteria: list[Criterion] = [_requirement(requirement) for requirement in foreign.requirements]
    criteria += [_category(name, category) for name, category in foreign.categories.items()]
    return msgspec.convert(
        {
            "criteria": msgspec.to_builtins(criteria),
            "pass_threshold": foreign.grading.pass_threshold,
            "grade_scale": _scale(foreign.grading.grade_scale),
        },
        Rubric,
    )


def _requirement(requirement: Requirement) -> Criterion:
    if requirement.evaluation == "binary":
        return BinaryCriterion(name=requirement.id, description=requirement.description, weight=requirement.weight)
    return ScaledCriterion(
        name=requirement.id,
        description=requirement.description,
        weight=requirement.weight,
        anchors={f"{score:g}": words for score, words in requirement.scoring.items()},
    )


def _category(name: str, category: Category) -> Criterion:
    if not category.items:
        return ScaledCriterion(name=name, description=category.description or name, weight=category.weight)
    items = [
        ChecklistItem(name=item.id, description=item.check, points=item.points, na_when=item.na_condition)
        for item in category.items
    ]
    return ChecklistCriterion(name=name, description=category.description or name, weight=category.weight, items=items)


def _scale(stated: dict[str, float] | None) -> str:
    if stated is None:
        return "seed"
    letters = {letter: threshold for letter, threshold in stated.items() if letter != "F"}
    for name, scale in _SCALES.items():
        if letters == scale:
            return name
    raise msgspec.ValidationError(
        f"`grading.grade_scale` is neither of the scales that outweigh knows, which are {_SCALES}; leave it out"
    )
