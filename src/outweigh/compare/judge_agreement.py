"""How far the judges of two arms can be trusted: agreement with themselves and each other, their arithmetic, and
warnings where a judge or a rubric changed.
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from math import fsum
from typing import NamedTuple

from msgspec import Struct
from msgspec.structs import replace

from outweigh.compare.judge_calls import JudgeCallFact, match_anonymous_failures
from outweigh.compare.run_columns import is_stored
from outweigh.errors import quote_names
from outweigh.model.judgment import JudgeVersion, judge_version_of
from outweigh.score.judge_scores import NOTABLE_GAP, JudgeRules
from outweigh.score.run_score import Score
from outweigh.stats.agreement import MeasurementScale, TaskAlphas, alphas_by_task
from outweigh.stats.estimate import Estimate, Quantity, Unit, known, unknown, unknown_estimate
from outweigh.stats.jackknife import warn_of_few_tasks
from outweigh.stats.means import mean_interval

_PARTS = {"model": "model", "version": "version", "prompt_sha256": "prompt"}


def judge_drift_warnings(
    arms: Iterable[Sequence[Score]], asked: Iterable[JudgeCallFact], judge_rules: JudgeRules
) -> tuple[str, ...]:
    """Judges that changed while they judged, and judges that are shown but may not decide.

    `asked` is all that judges were asked, unusable answers included: who fails by a new rubric has changed, too.
    """
    # Nobody was asked about runs that are stored as columns.
    runs = [score for scores in arms if not is_stored(scores) for score in scores if score.counted]
    counted = {run.run_id for run in runs}
    facts = [fact for fact in asked if fact.run_id in counted]
    return (*_drifted(facts), *_rubrics(facts), *_objections(runs, judge_rules))


def unusable_judge_warnings(asked: Iterable[JudgeCallFact]) -> Iterator[str]:
    """Judges none of whose answers can be used: their rows in a table look like opinions, and there is none."""
    usable: dict[str, list[bool]] = defaultdict(list)
    for fact in asked:
        if not fact.replaced:
            usable[fact.judge.name].append(not fact.invalid)
    for name, answers in sorted(usable.items()):
        if not any(answers):
            count = "its only answer" if len(answers) == 1 else f"none of its {len(answers)} answers"
            can = "cannot" if len(answers) == 1 else "can"
            yield (
                f"judge {name!r} has no score: {count} {can} be used. `outweigh judge RUNS` says why, and with "
                "--retry-invalid it asks again."
            )


def _drifted(facts: Sequence[JudgeCallFact]) -> Iterator[str]:
    seen: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for fact in facts:
        for field in _PARTS:
            value = getattr(fact.judge, field)
            if value is not None or not fact.invalid:  # who did not answer did not say its version
                seen[fact.judge.name, field].add(value)
    changed: dict[str, list[str]] = defaultdict(list)
    for (name, field), values in sorted(seen.items()):
        if len(values) > 1:
            changed[name].append(f"{len(values)} {_PARTS[field]}s")
    for name, parts in changed.items():
        yield (
            f"judge {name!r} answered with {' and '.join(parts)}: these count as different judges, and only runs that "
            "have the same ones are compared."
        )


def _rubrics(facts: Sequence[JudgeCallFact]) -> Iterator[str]:
    seen: dict[tuple[str, str], set[str | None]] = defaultdict(set)
    for fact in facts:
        seen[fact.task_id, fact.judge.name].add(fact.judge.rubric_sha256)
    changed = dict.fromkeys(task for (task, _), rubrics in seen.items() if len(rubrics) > 1)
    if changed:
        yield (
            f"runs of task {quote_names(list(changed))} were judged by different rubrics, which makes different "
            "judges; usable answers by older ones still count."
        )


def _objections(runs: Sequence[Score], judge_rules: JudgeRules) -> Iterator[str]:
    tasks: dict[str, set[str]] = defaultdict(set)
    silenced: dict[tuple[str, str], set[str]] = defaultdict(set)
    for task, judge in {(run.task_id, judge_count.judge) for run in runs for judge_count in run.judge_counts}:
        tasks[judge.name].add(task)
        if (why := judge_rules.objection(judge)) is not None:
            silenced[judge.name, why].add(task)
    for (name, why), where in sorted(silenced.items()):
        about = "" if where == tasks[name] else f" about {quote_names(sorted(where))}"
        yield (
            f"judge {name!r} is shown but decides nothing{about}: {why}. `outweigh judge RUNS --calibrate LABELS` "
            "compares it with people."
        )


LEVEL = 0.95
BIAS_METHOD = "mean difference, Student t over tasks"


class JudgeSummary(Struct, frozen=True, kw_only=True):
    """One version of a judge: how many answers it gave for each arm, how many could not be used, and how it adds up.

    Tries that another one replaced are in its cost and in nothing else.
    `notable_gaps` of `stated_totals` are further than .02 from the sum of their parts. `retest` are the alphas between
    its own passes over the same runs.
    """

    judge_version: JudgeVersion
    answers: Mapping[str, int]
    invalid: Mapping[str, int]
    flagged: int
    stated_totals: int
    notable_gaps: int
    mean_gap: float | None
    retest: TaskAlphas
    cost_usd: Mapping[str, Quantity]


class JudgePair(Struct, frozen=True, kw_only=True):
    """Two judges over the runs that both have scored.

    `bias` is how much higher the first one scores: the mean over tasks of the mean difference on their runs.
    """

    first: JudgeVersion
    second: JudgeVersion
    alphas: TaskAlphas
    bias: Estimate


class PanelAgreement(Struct, frozen=True, kw_only=True):
    """All judges by version, and the agreement between them, of all together and of every two."""

    judges: tuple[JudgeSummary, ...]
    agreement: TaskAlphas
    pairs: tuple[JudgePair, ...]
    cost_usd: Mapping[str, Quantity]


def summarise_judges(arms: Mapping[str, Sequence[JudgeCallFact]]) -> PanelAgreement | None:
    """How the judges of some arms agree; None where no run was judged."""
    judge_versions: dict[JudgeVersion, dict[str, list[JudgeCallFact]]] = defaultdict(lambda: {arm: [] for arm in arms})
    for arm, facts in arms.items():
        for fact in facts:
            judge_versions[judge_version_of(fact.judge)][arm].append(fact)
    if not judge_versions:
        return None
    has_answered = {
        judge_version: any(not fact.invalid for fact in _flat(by_arm))
        for judge_version, by_arm in judge_versions.items()
    }
    for silent, judge_version in match_anonymous_failures(has_answered).items():
        for arm, facts in judge_versions.pop(silent).items():
            judge_versions[judge_version][arm].extend(facts)
    ordered = sorted(judge_versions.items(), key=lambda item: (item[0].name, item[0].sha256))
    opinions = {judge_version: _opinions(_flat(by_arm)) for judge_version, by_arm in ordered}
    return PanelAgreement(
        judges=tuple(_summary(judge_version, by_arm) for judge_version, by_arm in ordered),
        agreement=_alphas(list(opinions.values())),
        pairs=tuple(_pair(opinions, *two) for two in combinations(opinions, 2)),
        cost_usd={arm: _cost(facts) for arm, facts in arms.items()},
    )


def _summary(judge_version: JudgeVersion, by_arm: Mapping[str, Sequence[JudgeCallFact]]) -> JudgeSummary:
    standing = {arm: [fact for fact in of_arm if not fact.replaced] for arm, of_arm in by_arm.items()}
    facts = _flat(standing)
    gaps = [abs(fact.gap) for fact in facts if fact.gap is not None]
    return JudgeSummary(
        judge_version=judge_version,
        answers={arm: len(of_arm) for arm, of_arm in standing.items()},
        invalid={arm: sum(fact.invalid for fact in of_arm) for arm, of_arm in standing.items()},
        flagged=sum(fact.flagged for fact in facts),
        stated_totals=len(gaps),
        notable_gaps=sum(round(gap, 9) > NOTABLE_GAP for gap in gaps),
        mean_gap=sum(gaps) / len(gaps) if gaps else None,
        retest=retest(facts),
        cost_usd={arm: _cost(of_arm) for arm, of_arm in by_arm.items()},
    )


class RatedRun(NamedTuple):
    """A run, with the task it belongs to."""

    task_id: str
    run_id: str


def retest(facts: Iterable[JudgeCallFact]) -> TaskAlphas:
    """The agreement of a judge with itself: its passes as raters of the same runs."""
    passes: dict[int, list[JudgeCallFact]] = defaultdict(list)
    for fact in facts:
        passes[fact.pass_index].append(fact)
    return _alphas([_opinions(of_pass) for _, of_pass in sorted(passes.items())])


def _opinions(facts: Iterable[JudgeCallFact]) -> dict[RatedRun, float]:
    """A judge's score of every run, the mean of its passes."""
    rated: dict[RatedRun, list[float]] = defaultdict(list)
    for fact in facts:
        if fact.score is not None:
            rated[RatedRun(fact.task_id, fact.run_id)].append(fact.score)
    return {run: sum(scores) / len(scores) for run, scores in rated.items()}


def _pair(
    opinions: Mapping[JudgeVersion, Mapping[RatedRun, float]], first: JudgeVersion, second: JudgeVersion
) -> JudgePair:
    return JudgePair(
        first=first,
        second=second,
        alphas=_alphas([opinions[first], opinions[second]]),
        bias=judge_bias(opinions[first], opinions[second]),
    )


def judge_bias(first: Mapping[RatedRun, float], second: Mapping[RatedRun, float]) -> Estimate:
    """How much higher the first rater scores the same runs; every task counts the same."""
    differences: dict[str, list[float]] = defaultdict(list)
    for run in first.keys() & second.keys():
        differences[run.task_id].append(first[run] - second[run])
    means = [fsum(of_task) / len(of_task) for _, of_task in sorted(differences.items())]
    if not means:
        return unknown_estimate("no run has both scores", n=0, unit=Unit.TASK, method=BIAS_METHOD, point=None)
    estimate = mean_interval(means, level=LEVEL, unit=Unit.TASK)
    few = () if estimate.interval is None else warn_of_few_tasks(len(means))
    return replace(estimate, method=BIAS_METHOD, warnings=(*estimate.warnings, *few))


def _alphas(raters: Sequence[Mapping[RatedRun, float]]) -> TaskAlphas:
    runs = sorted({run for rated in raters for run in rated})
    matrix = [[rated.get(run) for run in runs] for rated in raters] or [[]]
    return alphas_by_task(matrix, [run.task_id for run in runs], scale=MeasurementScale.ORDINAL, level=LEVEL)


def total_cost(costs: Sequence[float | None]) -> Quantity:
    """What all answers cost; unknown as soon as one is."""
    priced = [cost for cost in costs if cost is not None]
    missing = len(costs) - len(priced)
    return unknown(f"{missing} of {len(costs)} answers have no known cost") if missing else known(sum(priced))


def _cost(facts: Sequence[JudgeCallFact]) -> Quantity:
    return total_cost([fact.cost_usd for fact in facts])


def _flat(by_arm: Mapping[str, Sequence[JudgeCallFact]]) -> list[JudgeCallFact]:
    return [fact for facts in by_arm.values() for fact in facts]
