"""One judge's answer about one run."""

from outweigh.record.cost import Cost
from outweigh.record.stored import Amount, Fraction, Name, Ordinal, RunId, Stored, require_finite
from outweigh.record.usage import Usage


class JudgeIdentity(Stored, frozen=True):
    """Who judged, with what question. Judgments of different identities are never mixed silently."""

    name: Name
    model: str | None
    version: str | None
    rubric_sha256: str | None
    prompt_sha256: str | None


class CriterionScore(Stored, frozen=True):
    """One criterion's score; None means that the criterion does not apply to this run."""

    criterion: Name
    weight: Amount
    score: Fraction | None
    evidence: str | None

    def __post_init__(self) -> None:
        """Only finite weights are stored."""
        require_finite("criterion", weight=self.weight, score=self.score)


class Judgment(Stored, frozen=True, tag_field="schema", tag="outweigh.judgment/1"):
    """Criterion scores of one pass. `invalid_reason` marks an answer that could not be used; it is never a zero."""

    run_id: RunId
    judge: JudgeIdentity
    pass_index: Ordinal
    invalid_reason: str | None
    criteria: tuple[CriterionScore, ...]
    stated_total: float | None
    confidence: Fraction | None
    usage: Usage
    cost: Cost
    duration_seconds: Amount | None

    def __post_init__(self) -> None:
        """Only finite numbers are stored."""
        require_finite(
            "judgment",
            stated_total=self.stated_total,
            confidence=self.confidence,
            duration_seconds=self.duration_seconds,
        )
