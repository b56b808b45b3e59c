"""Rubrics: the weighted criteria by which judges score a run.

Rubrics that list requirements and categories, as ProjectScylla writes them, are converted.
"""

from collections.abc import Iterator
from hashlib import sha256
from math import isfinite
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from outweigh.model.base import SafeName, Spec, Weight

RubricText = Annotated[str, Meta(min_length=1, max_length=20_000)]
Points = Annotated[float, Meta(gt=0, le=1e6)]
Share = Annotated[float, Meta(ge=0, le=1)]

ITEM_SEPARATOR = "/"
"""Between a checklist's name and its item's; neither may hold one."""


class CriterionSpec(Spec, frozen=True, kw_only=True, tag_field="type"):
    """What all criteria have. With `na_when`, and only then, a judge may say that it does not apply.

    `evidence` demands that the judge says what its score rests on; left out, the rubric decides.
    """

    name: SafeName
    description: RubricText
    weight: Weight = 1.0
    na_when: RubricText | None = None
    evidence: bool | None = None


class BinaryCriterion(CriterionSpec, frozen=True, kw_only=True, tag="binary"):
    """Met or not."""


class ScaledCriterion(CriterionSpec, frozen=True, kw_only=True, tag="scaled"):
    """A number between `min` and `max`; `anchors` says in words what some of them mean."""

    min: float = 0.0
    max: float = 1.0
    anchors: dict[str, RubricText] = {}  # noqa: RUF012 - msgspec copies defaults

    def __post_init__(self) -> None:
        """A scale has two ends, and anchors lie between them."""
        if not (isfinite(self.min) and isfinite(self.max) and self.min < self.max):
            raise ValueError(f"criterion {self.name!r}: `min` must be less than `max`")
        for anchor in self.anchors:
            if not self.min <= _number(anchor) <= self.max:
                raise ValueError(
                    f"criterion {self.name!r}: the anchor {anchor!r} is no number from {self.min:g} to {self.max:g}"
                )


class ChecklistItem(Spec, frozen=True, kw_only=True):
    """One thing to look at, and what it is worth. Part of the points may be given for part of the thing."""

    name: SafeName
    description: RubricText
    points: Points = 1.0
    na_when: RubricText | None = None


class ChecklistCriterion(CriterionSpec, frozen=True, kw_only=True, tag="checklist"):
    """The share of the points that its items earn; items that do not apply leave both sides of the division."""

    items: Annotated[list[ChecklistItem], Meta(min_length=1, max_length=200)]

    def __post_init__(self) -> None:
        """Items are told apart by name."""
        if len({item.name for item in self.items}) < len(self.items):
            raise ValueError(f"criterion {self.name!r}: two of its `items` have the same name")


Criterion = BinaryCriterion | ScaledCriterion | ChecklistCriterion


class Rubric(Spec, frozen=True, kw_only=True):
    """What judges score a task's runs by. `notes` is for judges alone, on top of what the agent was asked."""

    criteria: Annotated[list[Criterion], Meta(min_length=1, max_length=200)]
    evidence: bool = True
    pass_threshold: Share = 0.6
    grade_scale: Literal["seed", "s_scale"] = "seed"
    notes: RubricText | None = None

    def __post_init__(self) -> None:
        """Criteria are told apart by name, and some of them must count."""
        if len({criterion.name for criterion in self.criteria}) < len(self.criteria):
            raise ValueError("two of the `criteria` have the same name")
        if not any(criterion.weight for criterion in self.criteria):
            raise ValueError("all `criteria` have the weight 0, so nothing could be scored")

    @property
    def sha256(self) -> str:
        """The same rubric has the same hash, in whatever file and order of keys it is written."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()

    def questions(self) -> tuple["RubricQuestion", ...]:
        """Everything that a judge must answer, in the order of the rubric."""
        return tuple(question for criterion in self.criteria for question in self.questions_of(criterion))

    def questions_of(self, criterion: Criterion) -> tuple["RubricQuestion", ...]:
        """The part of them that is about one criterion: one, or as many as a checklist has items."""
        return tuple(_questions(criterion, self.evidence if criterion.evidence is None else criterion.evidence))


class RubricQuestion(NamedTuple):
    """The smallest thing that a judge scores: a criterion, or an item of a checklist."""

    id: str
    description: str
    low: float
    high: float
    only_ends: bool
    anchors: tuple[tuple[str, str], ...]
    na_when: str | None
    evidence: bool


def _questions(criterion: Criterion, evidence: bool) -> Iterator[RubricQuestion]:
    match criterion:
        case BinaryCriterion(name=name, description=words, na_when=na_when):
            yield RubricQuestion(name, words, 0.0, 1.0, True, (), na_when, evidence)
        case ScaledCriterion(name=name, description=words, na_when=na_when):
            anchors = tuple(sorted(criterion.anchors.items(), key=lambda anchor: _number(anchor[0])))
            yield RubricQuestion(name, words, criterion.min, criterion.max, False, anchors, na_when, evidence)
        case ChecklistCriterion(name=name, items=items):
            for item in items:
                na_when = item.na_when or criterion.na_when
                place = f"{name}{ITEM_SEPARATOR}{item.name}"
                yield RubricQuestion(place, item.description, 0.0, item.points, False, (), na_when, evidence)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")


_GRADE_SCALES = {
    "seed": {"A": 0.95, "B": 0.85, "C": 0.75, "D": 0.65},
    "s_scale": {"S": 1.0, "A": 0.8, "B": 0.6, "C": 0.4, "D": 0.2},
}


class CategoryRequirement(Spec, frozen=True, kw_only=True):
    """One requirement; `scoring` says what some scores between 0 and 1 mean."""

    id: SafeName
    description: RubricText
    weight: Weight = 1.0
    evaluation: Literal["binary", "scaled"] = "binary"
    scoring: dict[float, RubricText] = {}  # noqa: RUF012 - msgspec copies defaults


class CategoryItem(Spec, frozen=True, kw_only=True):
    """One thing to check within a category."""

    id: SafeName
    check: RubricText
    points: Points = 1.0
    na_condition: RubricText | None = None


class Category(Spec, frozen=True, kw_only=True):
    """A category with items, whether they are counted or felt, or a single impression of its description."""

    weight: Weight = 1.0
    description: RubricText | None = None
    scoring_type: Literal["checklist", "subjective"] | None = None
    items: list[CategoryItem] = []  # noqa: RUF012


class CategoryGrading(Spec, frozen=True, kw_only=True):
    """From which score on a run passes, and the letters."""

    pass_threshold: Share = 0.6
    grade_scale: dict[str, float] | None = None


class CategoryRubric(Spec, frozen=True, kw_only=True):
    """The whole file."""

    requirements: list[CategoryRequirement] = []  # noqa: RUF012
    categories: dict[SafeName, Category] = {}  # noqa: RUF012
    grading: CategoryGrading = CategoryGrading()


def rubric_from_categories(table: object) -> Rubric:
    """The same questions as a rubric of ours; where both styles are used, every criterion keeps its own weight."""
    foreign = msgspec.convert(table, CategoryRubric, str_keys=True)
    criteria: list[Criterion] = [_requirement(requirement) for requirement in foreign.requirements]
    criteria += [_category(name, category) for name, category in foreign.categories.items()]
    return msgspec.convert(
        {
            "criteria": msgspec.to_builtins(criteria),
            "pass_threshold": foreign.grading.pass_threshold,
            "grade_scale": _grade_scale(foreign.grading.grade_scale),
        },
        Rubric,
    )


def _requirement(requirement: CategoryRequirement) -> Criterion:
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


def _grade_scale(stated: dict[str, float] | None) -> str:
    if stated is None:
        return "seed"
    letters = {letter: threshold for letter, threshold in stated.items() if letter != "F"}
    for name, scale in _GRADE_SCALES.items():
        if letters == scale:
            return name
    raise msgspec.ValidationError(
        f"`grading.grade_scale` is neither of the scales that outweigh knows, which are {_GRADE_SCALES}; leave it out"
    )
