"""Repeats where they tell: what it would do to allot the runs of a task by how much its outcomes vary (Neyman).

`run --until-decided` gives every task the same number of repeats. These cells show why.
"""

from collections.abc import Callable

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibration.cells import Cell, Reading, Readings, Section
from calibration.worlds import NULLS, TRAP, WIN, World, world

TASKS, REPEATS = 50, 5
FIRST = 2
"""Runs of each arm from which the variance of a task is estimated."""
MOST = 15
RESOURCE_BY_TASK, RESOURCE_BY_RUN = 0.15, 0.4
"""The scatter of a log resource in all worlds, which is the same for every task."""

Shares = NDArray[np.float64]
Counts = NDArray[np.int_]
Allotment = Callable[[Counts, Counts, Shares, Shares], tuple[Shares, Counts]]
"""Task deltas and the number of runs of each arm, from passes counted up run by run and the true chances."""


def own_runs(before: Counts, after: Counts, _: Shares, __: Shares) -> tuple[Shares, Counts]:
    """By the variance of the task's own first runs; all runs count alike."""
    number = _allotted(before, after)
    return (_passed(after, number) - _passed(before, number)) / number, number


def own_runs_with_fixed_weights(before: Counts, after: Counts, _: Shares, __: Shares) -> tuple[Shares, Counts]:
    """The same, but the first runs weigh two fifths of a task's mean, whatever they showed."""
    later = np.maximum(_allotted(before, after) - FIRST, 1)
    weight = FIRST / REPEATS

    def mean(counts: Counts) -> Shares:
        first = counts[..., FIRST - 1]
        share: Shares = weight * first / FIRST + (1 - weight) * (_passed(counts, FIRST + later) - first) / later
        return share

    return mean(after) - mean(before), FIRST + later


def known_variance(before: Counts, after: Counts, chance: Shares, moved: Shares) -> tuple[Shares, Counts]:
    """By the true variance, which nobody knows."""
    number = _in_proportion(np.sqrt((chance * (1 - chance) + moved * (1 - moved)) / 2), least=1)
    return (_passed(after, number) - _passed(before, number)) / number, number


def _allotted(before: Counts, after: Counts) -> Counts:
    passes = before[..., FIRST - 1] + after[..., FIRST - 1]
    share = (passes + 1) / (2 * FIRST + 2)
    return _in_proportion(np.sqrt(share * (1 - share)), least=FIRST)


def _in_proportion(deviations: Shares, *, least: int) -> Counts:
    wanted = np.round(REPEATS * deviations / deviations.mean(axis=-1, keepdims=True))
    number: Counts = np.clip(wanted, least, MOST).astype(int)
    return number


def _passed(counts: Counts, number: Counts) -> Counts:
    """How many of the first so many runs passed."""
    chosen: Counts = np.take_along_axis(counts, number[..., None] - 1, axis=-1)[..., 0]
    return chosen


def repeat_readings(world: World, allot: Allotment, draws: int, seed: int) -> Readings:
    """Bias of the pass rate's delta in points, and variances of task deltas against those with equal repeats."""
    dice = np.random.default_rng(seed)
    logits = dice.normal(world.logit_mean, world.logit_deviation, (draws, TASKS))
    chance = _logistic(logits)
    moved = _logistic(logits + dice.normal(world.effect, world.effect_deviation, logits.shape))
    before, after = (_counted_up(share, dice) for share in (chance, moved))
    equal = (after[..., REPEATS - 1] - before[..., REPEATS - 1]) / REPEATS
    deltas, number = allot(before, after, chance, moved)
    off = 100 * (deltas.mean(axis=1) - (moved - chance).mean(axis=1))
    resource = [RESOURCE_BY_TASK**2 + RESOURCE_BY_RUN**2 * share for share in (np.mean(1 / number), 1 / REPEATS)]
    variances = [each.var(axis=1, ddof=1) for each in (deltas, equal)]
    ratio = float(variances[0].mean() / variances[1].mean())
    return {
        "bias, points": Reading(value=float(off.mean()), error=float(off.std() / draws**0.5), share=False),
        "runs of an arm": Reading(value=float(number.mean()), error=0.0, share=False),
        "variance, pass rate": Reading(value=ratio, error=ratio * float(variances[0].std() / draws**0.5), share=True),
        "variance, a resource": Reading(value=float(resource[0] / resource[1]), error=0.0, share=True),
    }


def _logistic(values: Shares) -> Shares:
    shares: Shares = 1 / (1 + np.exp(-values))
    return shares


def _counted_up(chance: Shares, dice: Generator) -> Counts:
    """Passes after each run of every task."""
    counts: Counts = (dice.random((*chance.shape, MOST + FIRST)) < chance[..., None]).cumsum(axis=-1)
    return counts


FAR_APART = world("win, most tasks nearly always or nearly never solved", logit_deviation=4.0, effect=0.8)
ALLOTMENTS: dict[str, Allotment] = {
    "by own first runs": own_runs,
    "by own first runs, fixed weights": own_runs_with_fixed_weights,
    "by the true variance": known_variance,
}
REPEAT_SECTIONS = (
    Section(
        title="Repeats by the variance of a task",
        words="What would happen if a task had more repeats the more its outcomes vary, five on average over 50 tasks "
        "(Neyman's allotment). Variances are of task deltas, in per cent of those with equal repeats. By a task's own "
        "first runs the delta is biased toward zero, so that losses are hidden too; with fixed weights it is not, and "
        "little or nothing is gained; and resources, which vary alike on all tasks, mostly lose. So every task gets "
        "the same number of repeats, and nothing is promised here.",
        cells=tuple(
            Cell(name=f"{each.name}, {name}", measure=repeat_readings, arguments=(each, allot), draws=2_000)
            for each in (NULLS[0], WIN, TRAP, FAR_APART)
            for name, allot in ALLOTMENTS.items()
        ),
    ),
)
