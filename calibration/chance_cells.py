"""The chances that a verdict states, compared with what is true and with what a second experiment shows.

Pairs of arms differ by true effects that scatter around 0. A verdict takes every effect for equally likely beforehand;
where effects are small, that is too sure, and knowing how much they scatter mends it.
"""

from collections.abc import Sequence
from dataclasses import replace
from math import hypot, inf, sqrt
from statistics import stdev

import numpy as np
from numpy.typing import NDArray

from calibration.cells import Cell, Reading, Readings, Section, at_most
from calibration.truth import pass_delta
from calibration.worlds import world
from outweigh.verdict.decision import Chances
from outweigh.verdict.gate_result import chances_of
from outweigh.verdict.p_values import StudentPValues

Values = NDArray[np.float64]

MARGIN = 0.05
TENTHS = 10
FEWEST_FORECASTS = 0.01
"""A tenth of the scale with a smaller share of all forecasts is left out: it is too few to tell."""

SPREAD = "spread of effects, in standard errors"
BETTER, WORSE, REPEATED = "better: off by", "worse beyond margin: off by", "gain if repeated: off by"
KNOWING_SPREAD = "gain if repeated, with the spread known: off by"


def share_kept(spread: float, error: float) -> float:
    """How much of an effect is left when it is drawn towards 0, where true effects scatter by `spread` around it.

    Of the variance of effects that are seen with this standard error, it is the share that is not error.
    """
    return spread**2 / (spread**2 + error**2)


def forecast_with_spread(law: StudentPValues, kept: float) -> float:
    """The chance that an experiment repeated on as many other tasks shows a gain, where effects are drawn towards 0.

    What a second experiment shows scatters around the effect that is left with the variance (1 + kept) error². With an
    endless spread everything is kept, which is what a verdict states.
    """
    no_gain = StudentPValues(mean=kept * law.mean, error=sqrt(1 + kept) * law.error, df=law.df).above(0.0)
    return 0.5 if no_gain is None else 1 - no_gain


def student_law(deltas: Values) -> StudentPValues:
    """The t distribution of the mean of these task deltas."""
    tasks = len(deltas)
    return StudentPValues(mean=float(deltas.mean()), error=float(deltas.std(ddof=1)) / sqrt(tasks), df=tasks - 1)


def gap_by_tenth(stated: Values, came: Values) -> list[tuple[float, float]]:
    """For each tenth of the scale with enough forecasts: how much more often it came than stated, with its error."""
    places = np.minimum((TENTHS * stated).astype(int), TENTHS - 1)
    gaps = [(came - stated)[places == tenth] for tenth in range(TENTHS)]
    return [
        (float(gap.mean()), float(gap.std(ddof=1)) / sqrt(len(gap)))
        for gap in gaps
        if len(gap) > max(1, FEWEST_FORECASTS * len(stated))
    ]


def _largest_gap(stated: Sequence[float], came: Values) -> Reading:
    gap, error = max(gap_by_tenth(np.array(stated), came), key=lambda found: abs(found[0]), default=(0.0, inf))
    return Reading(value=abs(gap), error=error)


def _largest_gap_in_both_orders(stated: Sequence[float], came: Values) -> Reading:
    """The same where a forecast of a gain is one of a loss for the arms in the other order."""
    likelier = np.maximum(stated, 1 - np.array(stated))
    return _largest_gap(likelier.tolist(), np.where(np.array(stated) == likelier, came, 1 - came))


def sign_seen(deltas: Values) -> Values:
    """Whether each row shows a gain: 1, or 0; a tie is half of each."""
    means = deltas.mean(axis=1)
    return np.where(np.abs(means) < 1e-12, 0.5, (means > 0).astype(np.float64))


def chance_readings(spread: float, tasks: int, repeats: int, draws: int, seed: int) -> Readings:
    """How far chances of the pass rate lie from what is true, and from what as many other tasks show.

    True effects scatter by `spread` on the logit scale; each task has an effect of its own besides.
    """
    dice, usual = np.random.default_rng(seed), world("pairs of arms")
    effects = dice.normal(0.0, spread, draws)
    first, second = (_deltas(effects, tasks, repeats, dice) for _ in range(2))
    grid = np.linspace(-4.5 * spread, 4.5 * spread, 401)
    truth = np.interp(effects, grid, [pass_delta(replace(usual, effect=float(effect))) for effect in grid])

    varied = first.std(axis=1) > 0
    laws = [student_law(deltas) for deltas in first[varied]]
    stated = [chances_of(law, MARGIN) for law in laws]
    truth, again, spread_of_truth = truth[varied], sign_seen(second[varied]), stdev(truth)
    error = hypot(*(law.error for law in laws)) / sqrt(len(laws))
    kept = share_kept(spread_of_truth, error)
    return {
        SPREAD: Reading(value=spread_of_truth / error, error=0.0, share=False),
        BETTER: _largest_gap_in_both_orders(_all(stated, "better"), (truth > 0).astype(np.float64)),
        WORSE: _largest_gap(_all(stated, "worse_beyond_margin"), (truth < -MARGIN).astype(np.float64)),
        REPEATED: _largest_gap_in_both_orders(_all(stated, "gain_if_repeated"), again),
        KNOWING_SPREAD: _largest_gap_in_both_orders([forecast_with_spread(law, kept) for law in laws], again),
    }


def _deltas(effects: Values, tasks: int, repeats: int, dice: np.random.Generator) -> Values:
    """Task deltas of the pass rate: one row for each pair of arms."""
    usual = world("pairs of arms")
    ease = dice.normal(usual.logit_mean, usual.logit_deviation, (len(effects), tasks))
    moved = ease + effects[:, None] + dice.normal(0.0, usual.effect_deviation, ease.shape)
    before, after = (dice.binomial(repeats, 1 / (1 + np.exp(-logits))) / repeats for logits in (ease, moved))
    deltas: Values = after - before
    return deltas


def _all(stated: Sequence[Chances], name: str) -> list[float]:
    return [getattr(chances, name) for chances in stated]


def _cell(spread: float, tasks: int, *promised: str) -> Cell:
    return Cell(
        name=f"effects scatter by {spread:g} on the logit scale, {tasks} × 5",
        measure=chance_readings,
        arguments=(spread, tasks, 5),
        draws=60_000,
        promises=tuple(at_most(name, 0.05) for name in (*promised, KNOWING_SPREAD)),
    )


CHANCE_SECTIONS = (
    Section(
        title="Chances: P(better)",
        words="Pairs of arms whose true effects on the pass rate scatter around 0. A verdict on one set of tasks "
        "states how likely the candidate is better, how likely it is worse by more than five points, and how likely an "
        "experiment of the same size on other tasks shows a gain; a tie counts half. Forecasts are sorted into "
        "tenths (0 to 10 %, and so on); *off by* is the largest difference, over all tenths with at least 1 % of the "
        "forecasts, between what was stated and how often it came. A verdict takes every effect for equally likely "
        "beforehand. So 5 points are promised where effects scatter by 2 standard errors or more, and for the loss "
        "beyond the margin by 4. Where they scatter less, chances are too sure. *With the spread known*, effects are "
        "drawn towards 0 by as much as their spread says, and 5 points are promised throughout.",
        cells=(
            *(_cell(spread, 20) for spread in (0.1, 0.25, 0.5)),
            _cell(1.0, 20, BETTER, REPEATED),
            _cell(2.0, 20, BETTER, WORSE, REPEATED),
            *(_cell(spread, 100) for spread in (0.1, 0.25)),
            _cell(0.5, 100, BETTER, REPEATED),
            _cell(1.0, 100, BETTER, WORSE, REPEATED),
        ),
    ),
)
