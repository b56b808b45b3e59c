"""What a judge is asked about a run: weighted criteria, each on a scale of its own."""

from collections.abc import Iterator
from hashlib import sha256
from math import isfinite
from typing import Annotated, Literal, NamedTuple

import msgspec
from msgspec import Meta

from outweigh.task.spec import Name, Spec, Weight

Words = Annotated[str, Meta(min_length=1, max_length=20_000)]
Points = Annotated[float, Meta(gt=0, le=1e6)]
Share = Annotated[float, Meta(ge=0, le=1)]

SEPARATOR = "/"
"""Between a checklist's name and its item's; neither may hold one."""


class CriterionSpec(Spec, frozen=True, kw_only=True, tag_field="type"):
    """What all criteria have. With `na_when`, and only then, a judge may say that it does not apply.

    `evidence` demands that the judge says what its score rests on; left out, the rubric decides.
    """

    name: Name
    description: Words
    weight: Weight = 1.0
    na_when: Words | None = None
    evidence: bool | None = None


class BinaryCriterion(CriterionSpec, frozen=True, kw_only=True, tag="binary"):
    """Met or not."""


class ScaledCriterion(CriterionSpec, frozen=True, kw_only=True, tag="scaled"):
    """A number between `min` and `max`; `anchors` says in words what some of them mean."""

    min: float = 0.0
    max: float = 1.0
    anchors: dict[str, Words] = {}  # noqa: RUF012 - msgspec copies defaults

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

    name: Name
    description: Words
    points: Points = 1.0
    na_when: Words | None = None


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
    notes: Words | None = None

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

    def questions(self) -> tuple["Question", ...]:
        """Everything that a judge must answer, in the order of the rubric."""
        return tuple(question for criterion in self.criteria for question in self.questions_of(criterion))

    def questions_of(self, criterion: Criterion) -> tuple["Question", ...]:
        """The part of them that is about one criterion: one, or as many as a checklist has items."""
        return tuple(_questions(criterion, self.evidence if criterion.evidence is None else criterion.evidence))


class Question(NamedTuple):
    """The smallest thing that a judge scores: a criterion, or an item of a checklist."""

    id: str
    description: str
    low: float
    high: float
    only_ends: bool
    anchors: tuple[tuple[str, str], ...]
    na_when: str | None
    evidence: bool


def _questions(criterion: Criterion, evidence: bool) -> Iterator[Question]:
    match criterion:
        case BinaryCriterion(name=name, description=words, na_when=na_when):
            yield Question(name, words, 0.0, 1.0, True, (), na_when, evidence)
        case ScaledCriterion(name=name, description=words, na_when=na_when):
            anchors = tuple(sorted(criterion.anchors.items(), key=lambda anchor: _number(anchor[0])))
            yield Question(name, words, criterion.min, criterion.max, False, anchors, na_when, evidence)
        case ChecklistCriterion(name=name, items=items):
            for item in items:
                na_when = item.na_when or criterion.na_when
                place = f"{name}{SEPARATOR}{item.name}"
                yield Question(place, item.description, 0.0, item.points, False, (), na_when, evidence)


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return float("nan")
