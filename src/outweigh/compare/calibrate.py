"""A judge against people: agreement beyond chance on whole runs and criterion by criterion, and with itself."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

import numpy as np
from msgspec.structs import replace
from numpy.random import Generator

from outweigh.compare.judge_panel import retest
from outweigh.compare.label import Label
from outweigh.compare.pass_fact import fact_of
from outweigh.record.calibration import Agreement, Calibration, Measured, Range
from outweigh.record.digest import evidence_sha256, record_digest
from outweigh.record.judgment import Judgment
from outweigh.record.voice import Voice, voice_of
from outweigh.score.consensus import consensus
from outweigh.score.jury import NO_RULES, Jury
from outweigh.stats.agreement import Scale, krippendorff_alpha
from outweigh.stats.estimate import Estimate, Unit
from outweigh.stats.kappa import cohen_kappa
from outweigh.stats.proportion import wilson_interval

LEVEL = 0.95
PASS_THRESHOLD = 0.6
"""For judgments that do not say from which score on a run passes; rubrics have the same default."""
FEW_LABELS = 30


class _Unit(NamedTuple):
    """One thing that both looked at. Without a score of the person, only passing or not can be compared."""

    judge_score: float
    human_score: float | None
    judge_passed: bool
    human_passed: bool


def calibrate(
    judgments: Iterable[Judgment], labels: Sequence[Label], labels_sha256: str, *, seed: int, jury: Jury = NO_RULES
) -> tuple[Calibration, ...]:
    """Compare every voice among the judgments with the labels; voices that judged no labelled run are left out."""
    labelled = {label.run_id for label in labels}
    voices: dict[Voice, dict[str, list[Judgment]]] = defaultdict(lambda: defaultdict(list))
    for judgment in judgments:
        if judgment.run_id in labelled and judgment.invalid_reason is None:
            voices[voice_of(judgment.judge)][judgment.run_id].append(judgment)
    ordered = sorted(voices.items(), key=lambda item: (item[0].name, item[0].sha256))
    return tuple(_calibration(voice, runs, labels, labels_sha256, seed, jury) for voice, runs in ordered)


def _calibration(
    voice: Voice,
    runs: Mapping[str, Sequence[Judgment]],
    labels: Sequence[Label],
    labels_sha256: str,
    seed: int,
    jury: Jury,
) -> Calibration:
    people = _by_run(labels)
    units: dict[str | None, list[_Unit]] = {None: []}
    used = 0
    for run_id in sorted(runs):
        for criterion, unit, counted in _units(runs[run_id], people[run_id], jury):
            units.setdefault(criterion, []).append(unit)
            used += counted
    answers = [judgment for passes in runs.values() for judgment in passes]
    overall = _agreement(None, units.pop(None), seed)
    return Calibration(
        judge=voice,
        judge_sha256=voice.sha256,
        labels_sha256=labels_sha256,
        judgments_sha256=evidence_sha256(map(record_digest, answers)),
        seed=seed,
        overall=overall,
        criteria=tuple(_agreement(name, units[name], seed) for name in sorted(units, key=str)),
        retest=_measured(retest(map(fact_of, answers), seed)),
        rubrics=tuple(sorted({rubric for answer in answers if (rubric := answer.judge.rubric_sha256)})),
        unused_labels=len(labels) - used,
        warnings=tuple(_warnings(overall, len(labels) - used)),
    )


def _units(
    passes: Sequence[Judgment], labels: Mapping[str | None, Label], jury: Jury
) -> Iterator[tuple[str | None, _Unit, int]]:
    """Everything about one run that can be compared, with the number of labels that it took."""
    rule, threshold = jury.rule(passes[0].judge), _threshold(passes)
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


def _unit(judged: float, label: Label, threshold: float) -> _Unit:
    passed = label.passed if label.passed is not None else (label.score or 0.0) >= threshold
    return _Unit(judged, label.score, judged >= threshold, passed)


def _human_total(judgment: Judgment, labels: Mapping[str | None, Label]) -> float | None:
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


def _agreement(criterion: str | None, units: Sequence[_Unit], seed: int) -> Agreement:
    rng = np.random.default_rng(seed)
    agreed = sum(unit.judge_passed == unit.human_passed for unit in units)
    judge, people = ([float(getattr(unit, who)) for unit in units] for who in ("judge_passed", "human_passed"))
    return Agreement(
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
        return krippendorff_alpha(ratings, scale=Scale.ORDINAL, level=LEVEL, rng=rng)
    ratings = [[float(unit.judge_passed) for unit in units], [float(unit.human_passed) for unit in units]]
    return krippendorff_alpha(ratings, scale=Scale.NOMINAL, level=LEVEL, rng=rng)


def _measured(estimate: Estimate) -> Measured:
    interval = estimate.interval
    return Measured(
        value=estimate.point,
        interval=None
        if interval is None
        else Range(low=interval.low, high=interval.high, level=interval.level, method=interval.method),
        items=estimate.n,
        method=estimate.method,
        warnings=estimate.warnings,
    )


def _by_run(labels: Iterable[Label]) -> dict[str, dict[str | None, Label]]:
    found: dict[str, dict[str | None, Label]] = defaultdict(dict)
    for label in labels:
        found[label.run_id][label.criterion] = label
    return found


def _warnings(overall: Agreement, unused: int) -> Iterator[str]:
    if unused:
        yield f"{unused} labels name runs or criteria that this judge has no usable judgment of; they are not used."
    if overall.labels == 0:
        yield (
            "no run is labelled as a whole, nor on all criteria that apply, so there is no overall agreement. Label "
            "whole runs by leaving the criterion empty."
        )
    elif overall.labels < FEW_LABELS:
        yield f"only {overall.labels} runs are labelled; with {FEW_LABELS} or more the intervals are worth reading."
