"""A ladder counted by single runs: every run of a tier once, whatever its task, as ProjectScylla's tables have it.

Runs of one task are not independent, so nothing here decides anything. It is there to be compared with what others
publish. A run's score and outcome are those that its source states, if it is imported from there.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

import numpy as np
from msgspec import Struct

from outweigh.score.run_score import Score
from outweigh.stats.estimate import Estimate, Quantity, Unit, known, unknown, unknown_estimate
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


class RunLevel(Struct, frozen=True, kw_only=True):
    """Tiers, arms and everything, counted by runs. `score_of` says whose score it is: `stated` or `judge_score`."""

    score_of: str
    tiers: tuple[TierOfRuns, ...]
    arms: Mapping[str, RunGroup]
    everything: RunGroup


def count_by_runs(tiers: Mapping[str, int], names: Mapping[int, str], arms: Mapping[str, Sequence[Score]]) -> RunLevel:
    """Count the runs of each tier. `tiers` has the tier of each arm, `names` what each tier is called."""
    stated = any(
        score.stated is not None and score.stated.score is not None for each in arms.values() for score in each
    )
    groups: dict[int, list[Score]] = {}
    for arm, number in tiers.items():
        groups.setdefault(number, []).extend(arms[arm])
    return RunLevel(
        score_of="stated" if stated else "judge_score",
        tiers=tuple(
            TierOfRuns(
                number=number,
                name=names[number],
                arms=sum(tier == number for tier in tiers.values()),
                runs=_group(scores, stated=stated, interval=True),
            )
            for number, scores in groups.items()
        ),
        arms={arm: _group(arms[arm], stated=stated, interval=False) for arm in tiers},
        everything=_group((score for arm in tiers for score in arms[arm]), stated=stated, interval=False),
    )


def _group(scores: Iterable[Score], *, stated: bool, interval: bool) -> RunGroup:
    # In the order of the records: draws of a bootstrap depend on it.
    runs = sorted((score for score in scores if _counts(score)), key=lambda score: (score.source, score.line))
    passed = _column([_passed(run) for run in runs])
    known_passes = passed[~np.isnan(passed)]
    score = spread_of(_column([_stated_score(run) if stated else run.judge_score for run in runs]))
    cost = spread_of(_column([run.cost_usd for run in runs]))
    grades = Counter(run.stated.grade for run in runs if run.stated is not None and run.stated.grade is not None)
    return RunGroup(
        runs=len(runs),
        pass_rate=_rate(known_passes, interval=interval),
        score=score,
        consistency=_consistency(score.description),
        cost_usd=cost,
        total_cost_usd=_total(cost.description),
        cost_of_pass_usd=_cost_of_pass(cost.description, known_passes),
        total_tokens=spread_of(_column([run.total_tokens for run in runs])),
        grades=dict(sorted(grades.items())),
        modal_grade=min(grades, key=lambda grade: (-grades[grade], grade)) if grades else None,
    )


def _counts(score: Score) -> bool:
    """Whether a run is in the table: each whose source states a result, and of others those that count."""
    return score.counted or score.stated is not None


def _passed(run: Score) -> float | None:
    if run.stated is not None and run.stated.passed is not None:
        return float(run.stated.passed)
    return run.passed


def _stated_score(run: Score) -> float | None:
    return None if run.stated is None else run.stated.score


def _column(values: Sequence[float | None]) -> Sample:
    return np.array(values, dtype=np.float64)


def spread_of(column: Sample) -> Spread:
    """Describe a column of which NaN is unknown."""
    sample = column[~np.isnan(column)]
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
