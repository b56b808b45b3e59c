"""One judge's answer about one run."""

from outweigh.record.cost import Cost
from outweigh.record.run_record import Moment, Sha256
from outweigh.record.stored import Amount, Fraction, Name, Ordinal, RunId, Stored, require_finite
from outweigh.record.usage import Usage


class JudgeIdentity(Stored, frozen=True):
    """Who judged, with what question. Judgments of different identities are never mixed silently."""

    name: Name
    model: str | None
    version: str | None
    rubric_sha256: str | None
    prompt_sha256: str | None


class ItemScore(Stored, frozen=True):
    """Points for one item of a checklist; None means that the item does not apply to this run."""

    item: Name
    points: Amount | None
    most_points: Amount
    evidence: str | None

    def __post_init__(self) -> None:
        """Only finite points are stored, and no more than there are."""
        require_finite("item", points=self.points, most_points=self.most_points)
        if self.points is not None and self.points > self.most_points:
            raise ValueError(f"item {self.item!r} has {self.points:g} of {self.most_points:g} points")


class CriterionScore(Stored, frozen=True):
    """One criterion's score; None means that the criterion does not apply to this run. `items` are a checklist's."""

    criterion: Name
    weight: Amount
    score: Fraction | None
    evidence: str | None
    items: tuple[ItemScore, ...] = ()

    def __post_init__(self) -> None:
        """Only finite weights are stored."""
        require_finite("criterion", weight=self.weight, score=self.score)


class Grading(Stored, frozen=True):
    """How the rubric turns a score into a pass and a letter."""

    pass_threshold: Fraction
    grade_scale: Name


class Judgment(Stored, frozen=True, tag_field="schema", tag="outweigh.judgment/1"):
    """Criterion scores of one pass. `invalid_reason` marks an answer that could not be used; it is never a zero.

    `run_sha256` is the hash of the run's record, so that an answer is known to be about just this content. `attempts`
    is how often the judge was asked until it gave this answer; `usage` and `cost` are of all of them.
    """

    run_id: RunId
    run_sha256: Sha256 | None
    judge: JudgeIdentity
    pass_index: Ordinal
    invalid_reason: str | None
    criteria: tuple[CriterionScore, ...]
    grading: Grading | None
    stated_total: float | None
    confidence: Fraction | None
    attempts: Ordinal | None
    warnings: tuple[str, ...]
    usage: Usage
    cost: Cost
    judged_at: Moment | None
    duration_seconds: Amount | None

    def __post_init__(self) -> None:
        """Only finite numbers are stored."""
        require_finite(
            "judgment",
            stated_total=self.stated_total,
            confidence=self.confidence,
            duration_seconds=self.duration_seconds,
        )
