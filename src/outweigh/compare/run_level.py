"""A ladder counted by single runs: every run of a tier once, whatever its task, as ProjectScylla's tables have it.

Runs of one task are not independent, so nothing here decides anything. It is there to be compared with what others
publish. A run's score and outcome are those that its source states, if it is imported from there.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import pairwise

import numpy as np
from msgspec import Struct

from outweigh.compare.judge_calls import JudgeCallFact
from outweigh.compare.judge_totals import StatedAgreement, compare_totals
from outweigh.score.run_score import Score
from outweigh.stats.estimate import (
    Alternative,
    Estimate,
    Quantity,
    Significance,
    Unit,
    known,
    unknown,
    unknown_estimate,
    unknown_significance,
)
from outweigh.stats.hypothesis_tests import adjust_holm, mann_whitney_test
from outweigh.stats.proportions import cliff_delta
from outweigh.stats.rank_tests import kruskal_wallis_test
from outweigh.stats.run_bootstrap import bca_interval
from outweigh.stats.sample import Description, Sample, describe


class Spread(Struct, frozen=True, kw_only=True):
    """A metric of single runs: its description, its quartiles, and the shape of its distribution (not corrected for
    the size of the sample).
    """

    description: Description
    first_quartile: float | None
    third_quartile: float | None
    skewness: float | None
    excess_kurtosis: float | None


class RunGroup(Struct, frozen=True, kw_only=True):
    """All runs of a tier, of an arm, or of everything.

    `consistency` is 1 less the coefficient of variation of the score, and at least 0. `cost_of_pass_usd` is the mean
    cost over the pass rate. `grades` counts the grades that the source states, and `modal_grade` is the most frequent
    of them, the first by alphabet if there are several.
    """

    runs: int
    pass_rate: Estimate
    score: Spread
    implementation_rate: Spread
    consistency: Quantity
    cost_usd: Spread
    total_cost_usd: Quantity
    cost_of_pass_usd: Quantity
    total_tokens: Spread
    grades: Mapping[str, int]
    modal_grade: str | None


class TierOfRuns(Struct, frozen=True, kw_only=True):
    """One tier: the number of its arms, and its runs."""

    number: int
    name: str
    arms: int
    runs: RunGroup


class StepByRuns(Struct, frozen=True, kw_only=True):
    """The runs of one tier beside those of a lower one: the difference of their means, Cliff's delta, and the
    Mann-Whitney test, alone and adjusted by Holm for all steps of the same metric.
    """

    metric: str
    lower: int
    upper: int
    runs: tuple[int, int]
    difference: float | None
    cliff_delta: float | None
    p_value: float | None
    adjusted_p_value: float | None


class RunLevel(Struct, frozen=True, kw_only=True):
    """Tiers, arms and everything, counted by runs. `score_of` says whose score it is: `stated` or `judge_score`.

    `omnibus` has the Kruskal-Wallis test of all tiers for each metric, `steps` each tier beside the one below, and the
    last beside the first. `judges` is how far the judges' stated totals agree.
    """

    score_of: str
    tiers: tuple[TierOfRuns, ...]
    arms: Mapping[str, RunGroup]
    everything: RunGroup
    omnibus: Mapping[str, Significance]
    steps: tuple[StepByRuns, ...]
    judges: StatedAgreement | None


class _Columns(Struct, frozen=True, kw_only=True):
    """The runs of a group as columns, in the order of the records, because the draws of a bootstrap depend on it."""

    runs: Sequence[Score]
    metrics: Mapping[str, Sample]


def count_by_runs(
    tiers: Mapping[str, int],
    names: Mapping[int, str],
    arms: Mapping[str, Sequence[Score]],
    calls: Iterable[JudgeCallFact] = (),
) -> RunLevel:
    """Count the runs of each tier. `tiers` has the tier of each arm, `names` what each tier is called, and `calls` are
    those of the judges.
    """
    stated = any(run.stated is not None and run.stated.score is not None for runs in arms.values() for run in runs)
    by_arm = {arm: _columns(arms[arm], stated=stated) for arm in tiers}
    by_tier = {
        number: _columns((run for arm, tier in tiers.items() if tier == number for run in arms[arm]), stated=stated)
        for number in dict.fromkeys(tiers.values())
    }
    return RunLevel(
        score_of="stated" if stated else "judge_score",
        tiers=tuple(
            TierOfRuns(
                number=number,
                name=names[number],
                arms=sum(tier == number for tier in tiers.values()),
                runs=_group(columns, interval=True),
            )
            for number, columns in by_tier.items()
        ),
        arms={arm: _group(columns, interval=False) for arm, columns in by_arm.items()},
        everything=_group(_columns((run for arm in tiers for run in arms[arm]), stated=stated), interval=False),
        omnibus={metric: _omnibus([_known(each.metrics[metric]) for each in by_tier.values()]) for metric in _COMPARED},
        steps=tuple(step for metric in _COMPARED for step in _steps(metric, by_tier)),
        judges=compare_totals(calls),
    )


_COMPARED = ("passed", "score", "implementation_rate")


def _columns(scores: Iterable[Score], *, stated: bool) -> _Columns:
    runs = sorted((score for score in scores if _counts(score)), key=lambda score: (score.source, score.line))
    return _Columns(
        runs=runs,
        metrics={
            "passed": _column([_passed(run) for run in runs]),
            "score": _column([_stated(run, "score") if stated else run.judge_score for run in runs]),
            "implementation_rate": _column([_stated(run, "implementation_rate") for run in runs]),
            "cost_usd": _column([run.cost_usd for run in runs]),
            "total_tokens": _column([run.total_tokens for run in runs]),
        },
    )


def _group(columns: _Columns, *, interval: bool) -> RunGroup:
    passes = _known(columns.metrics["passed"])
    spreads = {metric: spread_of(column) for metric, column in columns.metrics.items() if metric != "passed"}
    cost = spreads["cost_usd"].description
    grades = Counter(
        run.stated.grade for run in columns.runs if run.stated is not None and run.stated.grade is not None
    )
    return RunGroup(
        runs=len(columns.runs),
        pass_rate=_rate(passes, interval=interval),
        consistency=_consistency(spreads["score"].description),
        total_cost_usd=_total(cost),
        cost_of_pass_usd=_cost_of_pass(cost, passes),
        grades=dict(sorted(grades.items())),
        modal_grade=min(grades, key=lambda grade: (-grades[grade], grade)) if grades else None,
        **spreads,
    )


def _omnibus(groups: Sequence[Sample]) -> Significance:
    """The test of all tiers; tiers with one run have no spread of their own to be compared with."""
    size = sum(int(group.size) for group in groups)
    if any(group.size < 2 for group in groups):
        reason = "a tier has fewer than two runs with a value"
        return unknown_significance(reason, n=size, unit=Unit.RUN, method="Kruskal-Wallis")
    owners = np.repeat(np.arange(len(groups)), [group.size for group in groups])
    return kruskal_wallis_test(np.concatenate(groups), owners, unit=Unit.RUN)


def _steps(metric: str, by_tier: Mapping[int, _Columns]) -> list[StepByRuns]:
    numbers = list(by_tier)
    pairs = [*pairwise(numbers), *([(numbers[0], numbers[-1])] if len(numbers) > 2 else [])]
    values = {number: _known(columns.metrics[metric]) for number, columns in by_tier.items()}
    found = [_p_value(values[lower], values[upper]) for lower, upper in pairs]
    adjusted = adjust_holm(found).tolist()
    return [
        StepByRuns(
            metric=metric,
            lower=lower,
            upper=upper,
            runs=(int(values[lower].size), int(values[upper].size)),
            difference=_difference(values[lower], values[upper]),
            cliff_delta=cliff_delta(values[upper], values[lower], level=0.95, unit=Unit.RUN).point,
            p_value=p_value,
            adjusted_p_value=None if p_value is None else holm,
        )
        for (lower, upper), p_value, holm in zip(pairs, found, adjusted, strict=True)
    ]


def _difference(lower: Sample, upper: Sample) -> float | None:
    return float(upper.mean() - lower.mean()) if lower.size and upper.size else None


def _p_value(lower: Sample, upper: Sample) -> float | None:
    if min(lower.size, upper.size) < 2:
        return None
    return mann_whitney_test(lower, upper, alternative=Alternative.TWO_SIDED, unit=Unit.RUN).p_value


def _known(column: Sample) -> Sample:
    known_values: Sample = column[~np.isnan(column)]
    return known_values


def _counts(score: Score) -> bool:
    """Whether a run is in the table: each whose source states a result, and of others those that count."""
    return score.counted or score.stated is not None


def _passed(run: Score) -> float | None:
    if run.stated is not None and run.stated.passed is not None:
        return float(run.stated.passed)
    return run.passed


def _stated(run: Score, field: str) -> float | None:
    return None if run.stated is None else getattr(run.stated, field)


def _column(values: Sequence[float | None]) -> Sample:
    return np.array(values, dtype=np.float64)


def spread_of(column: Sample) -> Spread:
    """Describe a column of which NaN is unknown."""
    sample = _known(column)
    quartiles = np.percentile(sample, [25, 75]).tolist() if sample.size else [None, None]
    deviations = sample - sample.mean() if sample.size else sample
    variance = float((deviations**2).mean()) if sample.size else 0.0
    return Spread(
        description=describe(column),
        first_quartile=quartiles[0],
        third_quartile=quartiles[1],
        skewness=float((deviations**3).mean()) / variance**1.5 if variance > 0 else None,
        excess_kurtosis=float((deviations**4).mean()) / variance**2 - 3 if variance > 0 else None,
    )


def _rate(passes: Sample, *, interval: bool) -> Estimate:
    if interval and passes.size:
        return bca_interval(passes)
    reason = "an interval over runs is given for tiers" if passes.size else "whether runs pass is unknown"
    point = float(passes.mean()) if passes.size else None
    return unknown_estimate(reason, n=int(passes.size), unit=Unit.RUN, method="share of runs", point=point)


def _consistency(score: Description) -> Quantity:
    if score.mean is None or score.sample_std is None:
        return unknown("it takes two runs with a score")
    if score.mean == 0:
        return unknown("the mean score is 0, so its coefficient of variation is undefined")
    return known(max(0.0, 1 - score.sample_std / score.mean))


def _total(cost: Description) -> Quantity:
    if cost.mean is None or cost.unknown:
        return unknown(f"the cost of {cost.unknown} runs is unknown" if cost.unknown else "there is no run")
    return known(cost.mean * cost.count)


def _cost_of_pass(cost: Description, passes: Sample) -> Quantity:
    if cost.mean is None or not passes.size:
        return unknown("the cost, or whether runs pass, is unknown")
    if not passes.any():
        return unknown("no run passes, so no price buys a pass")
    return known(cost.mean / float(passes.mean()))
