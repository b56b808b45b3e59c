"""What judges say about a run, as numbers: one judgment, several passes of one judge, several judges under their
rules.

Scores are computed from the criteria, never taken from the total a judge states. A JudgeCount says which judge
answered how often, because only runs with the same counts can be compared.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from statistics import mean, median, pvariance
from typing import NamedTuple, Self

from msgspec import Struct, field
from msgspec.structs import replace

from outweigh.model.judgment import Calibration, JudgeIdentity, Judgment, judge_version_of
from outweigh.score.composite import GRADE_SCALES, grade
from outweigh.stats.estimate import Quantity, known, unknown

NOTABLE_GAP = 0.02
"""A stated total that is further from the sum of its parts than this is reported."""


def judgment_score(judgment: Judgment) -> Quantity:
    """Σ weight·score / Σ weight over the criteria that apply."""
    if judgment.invalid_reason is not None:
        return unknown(f"invalid judgment: {judgment.invalid_reason}")
    applying = [(item.weight, item.score) for item in judgment.criteria if item.score is not None]
    weight = sum(item_weight for item_weight, _ in applying)
    if weight == 0:
        return unknown("no criterion with a weight applies")
    return known(sum(item_weight * score for item_weight, score in applying) / weight)


def stated_gap(judgment: Judgment) -> Quantity:
    """How far the judge's own total lies above the sum of its parts."""
    score = judgment_score(judgment)
    if score.value is None:
        return score
    if judgment.stated_total is None:
        return unknown("the judge stated no total")
    return known(judgment.stated_total - score.value)


class JudgedOutcome(NamedTuple):
    """`passed` and `letter` are None where the score is unknown, or the rubric's grading is not recorded."""

    score: Quantity
    passed: bool | None
    letter: str | None


def judged_outcome(judgment: Judgment) -> JudgedOutcome:
    """judge_score ≥ pass_threshold, and the letter of the rubric's scale."""
    score, grading = judgment_score(judgment), judgment.grading
    if score.value is None or grading is None:
        return JudgedOutcome(score, None, None)
    # .6 of a hundred items may come out as .5999999999999999; a rounding error must not cost a pass.
    passed = round(score.value - grading.pass_threshold, 9) >= 0
    scale = GRADE_SCALES.get(grading.grade_scale)
    return JudgedOutcome(score, passed, None if scale is None else grade(score.value, scale))


MOST_PASSES = 5
MOST_VARIANCE = 0.15
MOST_RANGE = 0.3
LEAST_CONFIDENCE = 0.6


class Consensus(StrEnum):
    """How a judge's passes become one score."""

    MEAN = "mean"
    MEDIAN = "median"
    CONFIDENCE = "confidence"
    MAJORITY = "majority"


def consensus(judgments: Sequence[Judgment], kind: Consensus = Consensus.MEAN) -> Quantity:
    """One judge's score of one run. An invalid pass is absent; it is never a zero."""
    passes = _valid(judgments)
    if not passes:
        return unknown("no valid judgment")
    if len(passes) == 1:
        return known(passes[0][0])
    scores = [score for score, _ in passes]
    if kind is Consensus.MAJORITY:
        return judgment_score(_majority([each for each in judgments if judgment_score(each).value is not None]))
    if kind is Consensus.MEDIAN:
        return known(median(scores))
    weights = [confidence for _, confidence in passes if confidence is not None]
    # A pass without a confidence cannot be weighed against the others, and confidences of 0 weigh nothing.
    if kind is Consensus.CONFIDENCE and len(weights) == len(scores) and sum(weights) > 0:
        return known(sum(weight * score for weight, score in zip(weights, scores, strict=True)) / sum(weights))
    return known(mean(scores))


def _majority(passes: Sequence[Judgment]) -> Judgment:
    """A judgment whose criteria have the median of what the passes gave them, as if each were voted on by itself.

    A criterion that applies in fewer than half of the passes does not apply.
    """
    votes: dict[str, list[float]] = {}
    for judgment in passes:
        for item in judgment.criteria:
            votes.setdefault(item.criterion, []).extend(() if item.score is None else (item.score,))
    criteria = {item.criterion: item for judgment in passes for item in judgment.criteria}
    agreed = tuple(
        replace(item, score=median(votes[name]) if 2 * len(votes[name]) >= len(passes) else None)
        for name, item in criteria.items()
    )
    return replace(passes[0], criteria=agreed)


def wants_another_pass(judgments: Sequence[Judgment]) -> bool:
    """Whether one judge's passes over one run disagree or doubt so much that it should be asked again.

    It is not asked a sixth time, and not again where no pass could be used.
    """
    passes = _valid(judgments)
    if not passes or len(judgments) >= MOST_PASSES:
        return False
    scores = [score for score, _ in passes]
    confidences = [confidence for _, confidence in passes if confidence is not None]
    unsure = bool(confidences) and mean(confidences) < LEAST_CONFIDENCE
    return unsure or _exceeds(max(scores) - min(scores), MOST_RANGE) or _exceeds(pvariance(scores), MOST_VARIANCE)


def _valid(judgments: Sequence[Judgment]) -> list[tuple[float, float | None]]:
    """Score and confidence of every pass that can be used."""
    return [
        (score, judgment.confidence) for judgment in judgments if (score := judgment_score(judgment).value) is not None
    ]


def _exceeds(value: float, limit: float) -> bool:
    """Strictly, and by more than a rounding error: .8 - .5 is not more than .3."""
    return round(value - limit, 9) > 0


def latest_answers(answers: Iterable[Judgment]) -> dict[int, Judgment]:
    """The answers of one judge to one question by the number of their pass.

    An answer that could not be used gives way to any later try; one that could be used stays.
    """
    passes: dict[int, Judgment] = {}
    for answer in answers:
        earlier = passes.get(answer.pass_index)
        if earlier is None or earlier.invalid_reason is not None:
            passes[answer.pass_index] = answer
    return passes


class HumanLabel(NamedTuple):
    """One person's label of a run, or of one criterion of it: a score from 0 to 1, or only whether it passes."""

    run_id: str
    criterion: str | None
    score: float | None
    passed: bool | None


class JudgeRule(Struct, frozen=True, kw_only=True):
    """What a suite says about one judge. Without `most_passes`, every run is judged `passes` times."""

    passes: int = 1
    most_passes: int | None = None
    consensus: Consensus = Consensus.MEAN
    minimum_alpha: float | None = None


DEFAULT_JUDGE_RULE = JudgeRule()


FEWEST_LABELLED_TASKS = 10
"""A judge decides only after people have labelled runs of so many tasks."""


class LabelAgreement(Struct, frozen=True, kw_only=True):
    """How far a judge agreed with people about runs of the same task, and on how many tasks that rests.

    It speaks for runs judged by these rubrics. `alpha` is None where it is unknown.
    """

    alpha: float | None
    tasks: int
    rubrics: frozenset[str] = frozenset()

    @classmethod
    def of(cls, calibration: Calibration) -> Self:
        """What a calibration says about the judge: its agreement with people within tasks, and no other figure."""
        within = calibration.overall.within
        return cls(
            alpha=None if within is None else within.value,
            tasks=0 if within is None else within.tasks or 0,
            rubrics=frozenset(calibration.rubrics),
        )

    def shortfall(self, least: float) -> str | None:
        """Why this is not the agreement that is demanded; None where it is."""
        demand = f"an alpha of {least:g} with human labels is required within tasks, and"
        if self.alpha is None:
            return (
                f"{demand} its labels cannot show one: label at least two runs of each of {FEWEST_LABELLED_TASKS} tasks"
            )
        if self.alpha < least:
            return f"its alpha with human labels is {self.alpha:.3f} within tasks, and {least:g} is required"
        if self.tasks < FEWEST_LABELLED_TASKS:
            return (
                f"its alpha with human labels is {self.alpha:.3f} within tasks, but rests on {self.tasks} tasks with "
                f"labelled runs that differ, and {FEWEST_LABELLED_TASKS} are needed"
            )
        return None

    def covers(self, rubric_sha256: str | None) -> bool:
        """Whether it says anything about a rubric; one that nobody recorded is covered only by others like it."""
        return not self.rubrics if rubric_sha256 is None else rubric_sha256 in self.rubrics


class JudgeRules(Struct, frozen=True, kw_only=True):
    """Rules by judge, and the agreement with human labels by the hash of the judge's version."""

    rules: Mapping[str, JudgeRule] = field(default_factory=dict)
    agreements: Mapping[str, Sequence[LabelAgreement]] = field(default_factory=dict)

    def rule(self, judge: JudgeIdentity) -> JudgeRule:
        """The suite's rule for a judge, or the default."""
        return self.rules.get(judge.name, DEFAULT_JUDGE_RULE)

    def objection(self, judge: JudgeIdentity) -> str | None:
        """Why a judge is shown but decides nothing; None where it may decide. The worst that it has shown counts."""
        least = self.rule(judge).minimum_alpha
        if least is None:
            return None
        shown = self.agreements.get(judge_version_of(judge).sha256, ())
        covering = [agreement for agreement in shown if agreement.covers(judge.rubric_sha256)]
        demand = f"an alpha of {least:g} with human labels is required within tasks, and"
        if not shown:
            return f"{demand} it was not calibrated"
        if not covering:
            return f"{demand} no run that was judged by this rubric was labelled"
        covering.sort(key=lambda agreement: (agreement.alpha is not None, agreement.alpha))
        return next(filter(None, (agreement.shortfall(least) for agreement in covering)), None)


NO_JUDGE_RULES = JudgeRules()


AS_OFTEN_AS_NEEDED = 0


class JudgeCount(NamedTuple):
    """A judge and how many of its passes count. Two runs are comparable where these are the same for all judges.

    The missing pass may be just the one that disagreed. So where a rule says how often a judge answers, a count with
    fewer answers is not `complete` and comparable with nothing. Where a judge is asked until its answers agree, all
    runs whose answers agree have the same count.
    """

    judge: JudgeIdentity
    passes: int
    complete: bool = True


class JudgeOpinion(NamedTuple):
    """One judge's score of a run, with how many of its passes are in it."""

    judge_count: JudgeCount
    score: float


class PanelScore(NamedTuple):
    """The mean over judges of each judge's consensus, and what each of them says."""

    score: Quantity
    opinions: tuple[JudgeOpinion, ...]

    @property
    def judge_counts(self) -> frozenset[JudgeCount]:
        """Who gave a valid answer how often."""
        return frozenset(opinion.judge_count for opinion in self.opinions)


NOT_JUDGED = PanelScore(unknown("no valid judgment"), ())


def panel_score(judgments: Iterable[Judgment], judge_rules: JudgeRules = NO_JUDGE_RULES) -> PanelScore:
    """Bring a judge's passes together first, then the judges, so that an extra pass does not outvote another judge."""
    passes: dict[JudgeIdentity, list[Judgment]] = defaultdict(list)
    for judgment in judgments:
        passes[judgment.judge].append(judgment)
    opinions = {
        judge: opinion
        for judge, answers in passes.items()
        if (opinion := consensus(answers, judge_rules.rule(judge).consensus).value) is not None
    }
    if not opinions:
        return NOT_JUDGED
    counted = tuple(
        JudgeOpinion(_judge_count(judge, passes[judge], judge_rules.rules.get(judge.name)), opinion)
        for judge, opinion in opinions.items()
    )
    return PanelScore(known(sum(opinions.values()) / len(opinions)), counted)


def _judge_count(judge: JudgeIdentity, answers: Sequence[Judgment], rule: JudgeRule | None) -> JudgeCount:
    valid = {answer.pass_index for answer in answers if judgment_score(answer).value is not None}
    if rule is None:
        return JudgeCount(judge, len(valid))
    if rule.most_passes is None or rule.most_passes == rule.passes:
        return JudgeCount(judge, len(valid), complete=valid >= set(range(1, rule.passes + 1)))
    if _settled(answers, valid, rule, rule.most_passes):
        return JudgeCount(judge, AS_OFTEN_AS_NEEDED)
    return JudgeCount(judge, len(valid), complete=False)


def _settled(answers: Sequence[Judgment], valid: set[int], rule: JudgeRule, most_passes: int) -> bool:
    """Whether an adaptive judge was asked as often as its rule wants, and every answer could be used."""
    complete = valid == set(range(1, len(answers) + 1)) and len(answers) >= rule.passes
    return complete and (len(answers) >= most_passes or not wants_another_pass(answers))
