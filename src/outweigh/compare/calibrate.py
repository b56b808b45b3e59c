"""A judge compared with people: agreement beyond chance on whole runs and per criterion, and with itself."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.random import Generator

from outweigh.compare.judge_agreement import retest
from outweigh.compare.judge_calls import judge_call_fact
from outweigh.model.codec import evidence_sha256, record_digest
from outweigh.model.judgment import (
    AgreementInterval,
    AgreementMeasure,
    Calibration,
    JudgeAgreement,
    JudgeVersion,
    Judgment,
    judge_version_of,
)
from outweigh.score.judge_scores import NO_JUDGE_RULES, HumanLabel, JudgeRules, consensus
from outweigh.stats.agreement import MeasurementScale, cohen_kappa, krippendorff_alpha
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.proportions import wilson_interval

FEW_LABELS = 30


def label_warnings(runs: int, unused: int) -> Iterator[str]:
    """About the labels: `runs` of them are about whole runs, `unused` are about nothing that the judge judged."""
    if unused:
        yield f"{unused} labels name runs or criteria that this judge has no usable judgment of; they are not used."
    if runs == 0:
        yield (
            "no run is labelled as a whole, nor on all criteria that apply, so there is no overall agreement. Label "
            "whole runs by leaving the criterion empty."
        )
    elif runs < FEW_LABELS:
        yield f"only {runs} runs are labelled; with {FEW_LABELS} or more the intervals are worth reading."


def rubric_warnings(uncovered: int, mixed: int) -> Iterator[str]:
    """About rubrics: runs that none of the labels' rubrics covers, and labelled runs with answers by several."""
    if mixed:
        yield f"{mixed} labelled runs were judged by several rubrics; the answers by the latest one are compared."
    if uncovered:
        yield (
            f"{uncovered} runs were judged by rubrics of which no run is labelled. About these the judge counts as not "
            "compared with people; label some of them too."
        )


LEVEL = 0.95
PASS_THRESHOLD = 0.6
"""For judgments that do not say from which score on a run passes; rubrics have the same default."""


class _Unit(NamedTuple):
    """One thing that both looked at. Without a score of the person, only passing or not can be compared."""

    judge_score: float
    human_score: float | None
    judge_passed: bool
    human_passed: bool


def calibrate(
    judgments: Iterable[Judgment],
    labels: Sequence[HumanLabel],
    labels_sha256: str,
    *,
    seed: int,
    judge_rules: JudgeRules = NO_JUDGE_RULES,
) -> tuple[Calibration, ...]:
    """Compare every version of a judge with the labels; versions that judged no labelled run are left out."""
    people = _by_run(labels)
    judge_versions: dict[JudgeVersion, dict[str, list[Judgment]]] = defaultdict(lambda: defaultdict(list))
    for judgment in judgments:
        if judgment.invalid_reason is None:
            judge_versions[judge_version_of(judgment.judge)][judgment.run_id].append(judgment)
    ordered = sorted(judge_versions.items(), key=lambda item: (item[0].name, item[0].sha256))
    return tuple(
        _calibration(judge_version, runs, people, labels_sha256, seed, judge_rules)
        for judge_version, runs in ordered
        if runs.keys() & people.keys()
    )


def _calibration(
    judge_version: JudgeVersion,
    judged: Mapping[str, Sequence[Judgment]],
    people: Mapping[str, Mapping[str | None, HumanLabel]],
    labels_sha256: str,
    seed: int,
    judge_rules: JudgeRules,
) -> Calibration:
    runs = {run_id: _by_latest_rubric(passes) for run_id, passes in judged.items()}
    unlabelled = [passes for run_id, passes in runs.items() if run_id not in people]
    runs = {run_id: passes for run_id, passes in runs.items() if run_id in people}
    units: dict[str | None, list[_Unit]] = {None: []}
    used = 0
    for run_id in sorted(runs):
        for criterion, unit, counted in _units(runs[run_id], people[run_id], judge_rules):
            units.setdefault(criterion, []).append(unit)
            used += counted
    answers = [judgment for passes in runs.values() for judgment in passes]
    rubrics = {answer.judge.rubric_sha256 for answer in answers}
    unused = sum(map(len, people.values())) - used
    uncovered = sum(passes[0].judge.rubric_sha256 not in rubrics for passes in unlabelled)
    mixed = sum(len(judged[run_id]) > len(passes) for run_id, passes in runs.items())
    overall = _agreement(None, units.pop(None), seed)
    return Calibration(
        judge=judge_version,
        judge_sha256=judge_version.sha256,
        labels_sha256=labels_sha256,
        judgments_sha256=evidence_sha256(map(record_digest, answers)),
        seed=seed,
        overall=overall,
        criteria=tuple(_agreement(name, units[name], seed) for name in sorted(units, key=str)),
        retest=_measured(retest(map(judge_call_fact, answers), seed)),
        rubrics=tuple(sorted(filter(None, rubrics))),
        unused_labels=unused,
        warnings=(*label_warnings(overall.labels, unused), *rubric_warnings(uncovered, mixed)),
    )


def _by_latest_rubric(passes: Sequence[Judgment]) -> Sequence[Judgment]:
    """Answers by different rubrics are answers to different questions; the last one is what the judge is asked now."""
    last = max(passes, key=lambda judgment: (judgment.judged_at is not None, judgment.judged_at))
    return [judgment for judgment in passes if judgment.judge.rubric_sha256 == last.judge.rubric_sha256]


def _units(
    passes: Sequence[Judgment], labels: Mapping[str | None, HumanLabel], judge_rules: JudgeRules
) -> Iterator[tuple[str | None, _Unit, int]]:
    """Everything about one run that can be compared, with the number of labels that it took."""
    rule, threshold = judge_rules.rule(passes[0].judge), _threshold(passes)
    scores = {
        criterion: score
        for criterion in dict.fromkeys(item.criterion for judgment in passes for item in judgment.criteria)
        if (score := consensus([_only(judgment, criterion) for judgment in passes], rule.consensus).value) is not None
    }
    for criterion, label in labels.items():
        if criterion is not None and criterion in scores:
            yield criterion, _unit(scores[criterion], label, threshold), 1
    whole = consensus(passes, rule.consensus).value
    if whole is None:
        return
    if None in labels:
        yield None, _unit(whole, labels[None], threshold), 1
    elif (total := _human_total(passes[0], labels)) is not None:
        # Nobody labelled the run as a whole, but all its parts: people's total follows as the judge's does.
        yield None, _Unit(whole, total, whole >= threshold, total >= threshold), 0


def _unit(judged: float, label: HumanLabel, threshold: float) -> _Unit:
    passed = label.passed if label.passed is not None else (label.score or 0.0) >= threshold
    return _Unit(judged, label.score, judged >= threshold, passed)


def _human_total(judgment: Judgment, labels: Mapping[str | None, HumanLabel]) -> float | None:
    total = weight = 0.0
    for item in judgment.criteria:
        if item.score is None or item.weight == 0:
            continue
        label = labels.get(item.criterion)
        if label is None or label.score is None:
            return None
        total, weight = total + item.weight * label.score, weight + item.weight
    return total / weight if weight else None


def _only(judgment: Judgment, criterion: str) -> Judgment:
    """The judgment as if its rubric had this criterion alone."""
    criteria = tuple(replace(item, weight=1.0) for item in judgment.criteria if item.criterion == criterion)
    return replace(judgment, criteria=criteria)


def _threshold(passes: Sequence[Judgment]) -> float:
    grading = passes[0].grading
    return PASS_THRESHOLD if grading is None else grading.pass_threshold


def _agreement(criterion: str | None, units: Sequence[_Unit], seed: int) -> JudgeAgreement:
    rng = np.random.default_rng(seed)
    agreed = sum(unit.judge_passed == unit.human_passed for unit in units)
    judge, people = ([float(getattr(unit, who)) for unit in units] for who in ("judge_passed", "human_passed"))
    return JudgeAgreement(
        criterion=criterion,
        labels=len(units),
        accuracy=_measured(wilson_interval(agreed, len(units), level=LEVEL, unit=Unit.ITEM)),
        kappa=_measured(cohen_kappa(judge, people, level=LEVEL, rng=rng)),
        alpha=_measured(_alpha(units, rng)),
    )


def _alpha(units: Sequence[_Unit], rng: Generator) -> Estimate:
    scored = [unit.human_score for unit in units if unit.human_score is not None]
    if len(scored) == len(units):
        ratings = [[unit.judge_score for unit in units], scored]
        return krippendorff_alpha(ratings, scale=MeasurementScale.ORDINAL, level=LEVEL, rng=rng)
    ratings = [[float(unit.judge_passed) for unit in units], [float(unit.human_passed) for unit in units]]
    return krippendorff_alpha(ratings, scale=MeasurementScale.NOMINAL, level=LEVEL, rng=rng)


def _measured(estimate: Estimate) -> AgreementMeasure:
    interval = estimate.interval
    return AgreementMeasure(
        value=estimate.point,
        interval=None
        if interval is None
        else AgreementInterval(low=interval.low, high=interval.high, level=interval.level, method=interval.method),
        items=estimate.n,
        method=estimate.method,
        warnings=estimate.warnings,
    )


def _by_run(labels: Iterable[HumanLabel]) -> dict[str, dict[str | None, HumanLabel]]:
    found: dict[str, dict[str | None, HumanLabel]] = defaultdict(dict)
    for label in labels:
        found[label.run_id][label.criterion] = label
    return found
