"""One judge's answer about two runs side by side."""

from enum import StrEnum

from outweigh.record.cost import Cost
from outweigh.record.judgment import JudgeIdentity
from outweigh.record.run_record import Moment, Sha256
from outweigh.record.stored import Amount, Fraction, Name, Ordinal, RunId, Stored, require_finite
from outweigh.record.usage import Usage


class Choice(StrEnum):
    """Which of the two, by the place where it was shown."""

    FIRST = "first"
    SECOND = "second"
    TIE = "tie"


class ShownRun(Stored, frozen=True):
    """A run as it was put before the judge, which saw neither its arm nor its id."""

    run_id: RunId
    run_sha256: Sha256 | None
    arm: Name


class CriterionChoice(Stored, frozen=True):
    """Which run is better on one criterion; None means that the criterion does not apply to them."""

    criterion: Name
    weight: Amount
    choice: Choice | None
    evidence: str | None

    def __post_init__(self) -> None:
        """Only finite weights are stored."""
        require_finite("criterion", weight=self.weight)


class Preference(Stored, frozen=True, tag_field="schema", tag="outweigh.preference/1"):
    """One answer about two runs of a task and repeat, shown in this order. A pair is asked about in both orders.

    The judge chooses on every criterion, or gives each run a score on a scale of its own; which run is better follows
    from that. `stated` is the judge's own overall choice, which counts for nothing. `invalid_reason` marks an answer
    that could not be used; it is never a tie.
    """

    task_id: Name
    repeat: Ordinal
    first: ShownRun
    second: ShownRun
    judge: JudgeIdentity
    pass_index: Ordinal
    invalid_reason: str | None
    criteria: tuple[CriterionChoice, ...]
    first_score: float | None
    second_score: float | None
    stated: Choice | None
    confidence: Fraction | None
    attempts: Ordinal | None
    warnings: tuple[str, ...]
    usage: Usage
    cost: Cost
    judged_at: Moment | None
    duration_seconds: Amount | None

    def __post_init__(self) -> None:
        """Only finite numbers are stored, and of two different runs."""
        require_finite(
            "preference",
            first_score=self.first_score,
            second_score=self.second_score,
            confidence=self.confidence,
            duration_seconds=self.duration_seconds,
        )
        if self.first.arm == self.second.arm:
            raise ValueError(f"both runs are of arm {self.first.arm!r}; a preference is between two arms")
