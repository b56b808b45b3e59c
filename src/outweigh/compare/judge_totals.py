"""How far judges agree about single runs by the totals that they stated, as ProjectScylla publishes it.

The agreement that is shown elsewhere is of scores computed from criteria, and knows tasks (judge_agreement.py).
"""

from collections.abc import Iterable
from itertools import combinations

import numpy as np
from msgspec import Struct

from outweigh.compare.judge_calls import JudgeCallFact
from outweigh.stats.agreement import MeasurementScale, krippendorff_alpha
from outweigh.stats.hypothesis_tests import average_ranks
from outweigh.stats.sample import Sample, has_no_spread

_DIGITS = 9
"""A total is kept as a score and the gap to it, so their sum may be off in the last digit; ranks would notice."""


class TotalsOfTwo(Struct, frozen=True, kw_only=True):
    """Two judges over the runs for which both stated a total; None where nothing varies, or there is one run."""

    first: str
    second: str
    runs: int
    spearman: float | None
    pearson: float | None
    mean_absolute_difference: float | None


class StatedAgreement(Struct, frozen=True, kw_only=True):
    """Every two judges, and Krippendorff's alpha of all of them on the interval scale."""

    pairs: tuple[TotalsOfTwo, ...]
    alpha: float | None


def compare_totals(calls: Iterable[JudgeCallFact]) -> StatedAgreement | None:
    """Compare what judges stated; a judge that was asked again is another rater. None with fewer than two raters."""
    stated: dict[str, dict[str, float]] = {}
    tasks: dict[str, str] = {}
    for call in calls:
        if call.score is not None and call.gap is not None and not call.replaced:
            name = call.judge.name if call.pass_index == 1 else f"{call.judge.name}, pass {call.pass_index}"
            stated.setdefault(name, {})[call.run_id] = round(call.score + call.gap, _DIGITS)
            tasks[call.run_id] = call.task_id
    if len(stated) < 2:
        return None
    ratings = np.array([[totals.get(run, np.nan) for run in tasks] for totals in stated.values()])
    alpha = krippendorff_alpha(ratings, list(tasks.values()), scale=MeasurementScale.INTERVAL, level=0.95)
    return StatedAgreement(
        pairs=tuple(
            _compare(one, other, ratings[first], ratings[second])
            for (first, one), (second, other) in combinations(enumerate(stated), 2)
        ),
        alpha=alpha.point,
    )


def _compare(one: str, other: str, first: Sample, second: Sample) -> TotalsOfTwo:
    both = ~np.isnan(first) & ~np.isnan(second)
    mine, theirs = first[both], second[both]
    varied = mine.size > 1 and not has_no_spread(mine) and not has_no_spread(theirs)
    return TotalsOfTwo(
        first=one,
        second=other,
        runs=int(mine.size),
        spearman=_correlation(average_ranks(mine), average_ranks(theirs)) if varied else None,
        pearson=_correlation(mine, theirs) if varied else None,
        mean_absolute_difference=float(np.abs(mine - theirs).mean()) if mine.size else None,
    )


def _correlation(one: Sample, other: Sample) -> float:
    a, b = one - one.mean(), other - other.mean()
    return float((a * b).sum() / np.sqrt((a**2).sum() * (b**2).sum()))
