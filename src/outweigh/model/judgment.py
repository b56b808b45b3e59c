"""What judges answered: about one run, about two runs side by side, and how far a judge agrees with people.

`JudgeVersion` is a judge's identity without the rubric: its name, model, version and prompt.
"""

from enum import StrEnum
from hashlib import sha256

import msgspec

from outweigh.model.base import Amount, Count, Fraction, Moment, Name, Ordinal, RunId, Sha256, Stored, require_finite
from outweigh.model.usage import Cost, Usage


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


class JudgeVersion(Stored, frozen=True):
    """A judge under one name, model, version and prompt. If one of them changes, it counts as another judge."""

    name: Name
    model: str | None
    version: str | None
    prompt_sha256: str | None

    @property
    def sha256(self) -> str:
        """The hash under which its calibration is stored."""
        return sha256(msgspec.json.encode(self, order="sorted")).hexdigest()


def judge_version_of(judge: JudgeIdentity) -> JudgeVersion:
    """The version of the judge that gave a judgment."""
    return JudgeVersion(name=judge.name, model=judge.model, version=judge.version, prompt_sha256=judge.prompt_sha256)


class AgreementInterval(Stored, frozen=True):
    """A confidence interval."""

    low: float
    high: float
    level: Fraction
    method: Name


class AgreementMeasure(Stored, frozen=True):
    """A number with its interval. `value` is None where it cannot be known, and `warnings` says why.

    `tasks` is how many tasks it rests on, which is what the interval is over. It is None in older calibrations, whose
    intervals take all runs to be independent.
    """

    value: float | None
    interval: AgreementInterval | None
    items: Count
    method: Name
    warnings: tuple[str, ...]
    tasks: Count | None = None

    def __post_init__(self) -> None:
        """Only finite numbers are stored."""
        require_finite("measured", value=self.value)


class JudgeAgreement(Stored, frozen=True):
    """A judge and people about the same things: whole runs (`criterion` None), or one criterion of them.

    `accuracy` and `kappa` are about passed or not. `alpha` is about scores where people gave scores throughout, and so
    are `between`, the alpha of the tasks' means, and `within`, the alpha among runs of the same task, which is what
    decides. `bias` is how much higher the judge scores. The last three are None in older calibrations.
    """

    criterion: Name | None
    labels: Count
    accuracy: AgreementMeasure
    kappa: AgreementMeasure
    alpha: AgreementMeasure
    between: AgreementMeasure | None = None
    within: AgreementMeasure | None = None
    bias: AgreementMeasure | None = None


class Calibration(Stored, frozen=True, tag_field="schema", tag="outweigh.calibration/1"):
    """One version of a judge against one file of labels. It says nothing about any other version.

    `overall.within` decides whether the judge may drive anything; `retest` is its agreement with itself, pass by pass.
    `rubrics` are those whose runs were labelled. `unused_labels` name runs or criteria that it did not judge. `seed` is
    of the resamples behind older intervals; those over tasks draw nothing.
    """

    judge: JudgeVersion
    judge_sha256: Sha256
    labels_sha256: Sha256
    judgments_sha256: Sha256
    seed: Count | None
    overall: JudgeAgreement
    criteria: tuple[JudgeAgreement, ...]
    retest: AgreementMeasure
    rubrics: tuple[str, ...]
    unused_labels: Count
    warnings: tuple[str, ...]
