"""A judge compared with people: agreement beyond chance on whole runs and per criterion, and with itself."""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple

from msgspec.structs import replace

from outweigh.compare.judge_agreement import RatedRun, judge_bias, retest
from outweigh.compare.judge_calls import judge_call_fact
from outweigh.model.codec import record_digest
from outweigh.model.evidence_hash import evidence_sha256_v1
from outweigh.model.judgment import (
    AgreementInterval,
    AgreementMeasure,
    Calibration,
    JudgeAgreement,
    JudgeVersion,
    Judgment,
    judge_version_of,
)
from outweigh.score.judge_scores import FEWEST_LABELLED_TASKS, NO_JUDGE_RULES, HumanLabel, JudgeRules, consensus
from outweigh.stats.agreement import MeasurementScale, TaskAlphas, alphas_by_task, cohen_kappa
from outweigh.stats.estimate import Estimate
from outweigh.stats.proportions import clustered_rate_interval


def label_warnings(runs: int, tasks: int, unused: int) -> Iterator[str]:
    """About the labels: `runs` whole runs of `tasks` have one, and `unused` are about nothing that was judged."""
    if unused:
        yield f"{unused} labels name runs or criteria that this judge has no usable judgment of; they are not used."
    if runs == 0:
        yield (
            "no run is labelled as a whole, nor on all criteria that apply, so there is no overall agreement. Label "
            "whole runs by leaving the criterion empty."
        )
    elif tasks < FEWEST_LABELLED_TASKS:
        yield (
            f"only {tasks} tasks have labelled runs. A judge that must agree with people decides after "
            f"{FEWEST_LABELLED_TASKS} tasks or more, with at least two labelled runs each."
        )


def rubric_warnings(uncovered: int, mixed: int) -> Iterator[str]:
    """About rubrics: runs that none of the labels' rubrics covers, and labelled runs with answers by several."""
    if mixed:
        yield f"{mixed} labelled runs were judged by several rubrics; the answers by the latest one are compared."
    if uncovered:
        yield (
            f"{uncovered} runs were judged by rubrics that have no labelled run. For these, the judge counts as not "
            "calibrated; label some of them too."
        )


LEVEL = 0.95
PASS_THRESHOLD = 0.6
"""For judgments that do not say from which score on a run passes; rubrics have the same default."""


class _Unit(NamedTuple):
    """One thing that both looked at. Without a score of the person, only passing or not can be compared."""

    run: RatedRun
    judge_score: float
    human_score: float | None
    judge_passed: bool
    human_passed: bool


def calibrate(
    judgments: Iterable[Judgment],
    labels: Sequence[HumanLabel],
    labels_sha256: str,
    *,
    tasks: Mapping[str, str],
    judge_rules: JudgeRules = NO_JUDGE_RULES,
) -> tuple[Calibration, ...]:
    """Compare every version of a judge with the labels; versions that judged no labelled run are left out.

    `tasks` names the task of every run that has a record; judgments of other runs are not used.
    """
    people = _by_run(labels)
    judge_versions: dict[JudgeVersion, dict[str, list[Judgment]]] = defaultdict(lambda: defaultdict(list))
    for judgment in judgments:
        if judgment.invalid_reason is None and judgment.run_id in tasks:
            judge_versions[judge_version_of(judgment.judge)][judgment.run_id].append(judgment)
    ordered = sorted(judge_versions.items(), key=lambda item: (item[0].name, item[0].sha256))
    return tuple(
        _calibration(judge_version, runs, people, tasks, labels_sha256, judge_rules)
        for judge_version, runs in ordered
        if runs.keys() & people.keys()
    )


def _calibration(
    judge_version: JudgeVersion,
    judged: Mapping[str, Sequence[Judgment]],
    people: Mapping[str, Mapping[str | None, HumanLabel]],
    tasks: Mapping[str, str],
    labels_sha256: str,
    judge_rules: JudgeRules,
) -> Calibration:
    runs = {run_id: _by_latest_rubric(passes) for run_id, passes in judged.items()}
    unlabelled = [passes for run_id, passes in runs.items() if run_id not in people]
    runs = {run_id: passes for run_id, passes in runs.items() if run_id in people}
    units: dict[str | None, list[_Unit]] = {None: []}
    used = 0
    for run_id in sorted(runs):
        run = RatedRun(tasks[run_id], run_id)
        for criterion, unit, counted in _units(run, runs[run_id], people[run_id], judge_rules):
            units.setdefault(criterion, []).append(unit)
            used += counted
    answers = [judgment for passes in runs.values() for judgment in passes]
    rubrics = {answer.judge.rubric_sha256 for answer in answers}
    unused = sum(map(len, people.values())) - used
    uncovered = sum(passes[0].judge.rubric_sha256 not in rubrics for passes in unlabelled)
    mixed = sum(len(judged[run_id]) > len(passes) for run_id, passes in runs.items())
    overall = _agreement(None, units.pop(None))
    passes = retest(judge_call_fact(answer, tasks[answer.run_id]) for answer in answers)
    return Calibration(
        judge=judge_version,
        judge_sha256=judge_version.sha256,
        labels_sha256=labels_sha256,
        judgments_sha256=evidence_sha256_v1(map(record_digest, answers)),
        seed=None,
        overall=overall,
        criteria=tuple(_agreement(name, units[name]) for name in sorted(units, key=str)),
        retest=_measured(passes.overall, passes.runs),
        rubrics=tuple(sorted(filter(None, rubrics))),
        unused_labels=unused,
        warnings=(
            *label_warnings(overall.labels, overall.accuracy.tasks or 0, unused),
            *rubric_warnings(uncovered, mixed),
        ),
    )


def _by_latest_rubric(passes: Sequence[Judgment]) -> Sequence[Judgment]:
    """Answers by different rubrics are answers to different questions; the last one is what the judge is asked now."""
    last = max(passes, key=lambda judgment: (judgment.judged_at is not None, judgment.judged_at))
    return [judgment for judgment in passes if judgment.judge.rubric_sha256 == last.judge.rubric_sha256]


def _units(
    run: RatedRun, passes: Sequence[Judgment], labels: Mapping[str | None, HumanLabel], judge_rules: JudgeRules
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
            yield criterion, _unit(run, scores[criterion], label, threshold), 1
    whole = consensus(passes, rule.consensus).value
    if whole is None:
        return
    if None in labels:
        yield None, _unit(run, whole, labels[None], threshold), 1
    elif (total := _human_total(passes[0], labels)) is not None:
        # Nobody labelled the run as a whole, but all its parts: people's total follows as the judge's does.
        yield None, _Unit(run, whole, total, whole >= threshold, total >= threshold), 0


def _unit(run: RatedRun, judged: float, label: HumanLabel, threshold: float) -> _Unit:
    passed = label.passed if label.passed is not None else (label.score or 0.0) >= threshold
    return _Unit(run, judged, label.score, judged >= threshold, passed)


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


def _agreement(criterion: str | None, units: Sequence[_Unit]) -> JudgeAgreement:
    tasks = [unit.run.task_id for unit in units]
    judge, people = ([float(getattr(unit, who)) for unit in units] for who in ("judge_passed", "human_passed"))
    same = [unit.judge_passed == unit.human_passed for unit in units]
    alphas = _alphas(units, tasks)
    return JudgeAgreement(
        criterion=criterion,
        labels=len(units),
        accuracy=_measured(clustered_rate_interval(same, tasks, level=LEVEL), len(units)),
        kappa=_measured(cohen_kappa(judge, people, tasks, level=LEVEL), len(units)),
        alpha=_measured(alphas.overall, alphas.runs),
        between=_measured(alphas.between, alphas.runs),
        within=_measured(alphas.within, alphas.runs),
        bias=_measured(_bias(units), len(units)),
    )


def _alphas(units: Sequence[_Unit], tasks: Sequence[str]) -> TaskAlphas:
    """Of scores, or of passing or not where people gave no scores."""
    scored = [unit.human_score for unit in units if unit.human_score is not None]
    if len(scored) == len(units):
        ratings = [[unit.judge_score for unit in units], scored]
        return alphas_by_task(ratings, tasks, scale=MeasurementScale.ORDINAL, level=LEVEL)
    ratings = [[float(unit.judge_passed) for unit in units], [float(unit.human_passed) for unit in units]]
    return alphas_by_task(ratings, tasks, scale=MeasurementScale.NOMINAL, level=LEVEL)


def _bias(units: Sequence[_Unit]) -> Estimate:
    """How much higher the judge scores than people do, where people gave scores."""
    scored = [unit for unit in units if unit.human_score is not None]
    judge = {unit.run: unit.judge_score for unit in scored}
    return judge_bias(judge, {unit.run: unit.human_score or 0.0 for unit in scored})


def _measured(estimate: Estimate, items: int) -> AgreementMeasure:
    interval = estimate.interval
    return AgreementMeasure(
        value=estimate.point,
        interval=None
        if interval is None
        else AgreementInterval(low=interval.low, high=interval.high, level=interval.level, method=interval.method),
        items=items,
        method=estimate.method,
        warnings=estimate.warnings,
        tasks=estimate.n,
    )


def _by_run(labels: Iterable[HumanLabel]) -> dict[str, dict[str | None, HumanLabel]]:
    found: dict[str, dict[str | None, HumanLabel]] = defaultdict(dict)
    for label in labels:
        found[label.run_id][label.criterion] = label
    return found
