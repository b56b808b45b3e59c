"""A change to the worse at a known step: how often the search names it, and what it costs beside testing every step."""

from dataclasses import dataclass

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibration.cells import Cell, Promise, Readings, Section, at_least, at_most, mean_of, share_of
from outweigh.stats.change_point import find_change
from outweigh.verdict.culprit_search import (
    DEFAULT_ERROR,
    CulpritResult,
    SearchEnd,
    SearchLimits,
    next_round,
    search_limits,
)

TASKS, REPEATS = 20, 5
BREAKS, SHIFT, NOTHING, TWO_BREAKS = "breaks", "shift", "nothing", "two breaks"
BROKEN_SHARE, RATE_BEFORE, RATE_AFTER = 0.25, 0.8, 0.1

Rates = NDArray[np.float64]
Counts = NDArray[np.int64]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class SteppedWorld:
    """The pass rate of every task at every step, and the steps, from 1, that changed any."""

    rates: Rates
    culprits: tuple[int, ...]


def draw_world(kind: str, steps: int, dice: Generator) -> SteppedWorld:
    """Tasks of mixed difficulty; what happens at a random step, or at two, is the kind of world."""
    odds = dice.normal(0.4, 1.6, TASKS)
    rates = np.tile(1 / (1 + np.exp(-odds)), (steps + 1, 1))
    number = {NOTHING: 0, TWO_BREAKS: 2}.get(kind, 1)
    culprits = tuple(sorted(int(step) + 1 for step in dice.choice(steps, number, replace=False)))
    if kind in (BREAKS, TWO_BREAKS):
        hit = dice.random(TASKS) < BROKEN_SHARE * number
        hit[dice.integers(TASKS)] = True
        rates[:, hit] = np.maximum(rates[:, hit], RATE_BEFORE)
        owners = dice.integers(0, number, TASKS)
        for place, culprit in enumerate(culprits):
            rates[culprit:, hit & (owners == place)] = RATE_AFTER
    elif kind == SHIFT:
        fall = dice.normal(1.5, 0.4, TASKS)
        rates[culprits[0] :] = 1 / (1 + np.exp(-(odds - fall)))
    return SteppedWorld(rates=rates, culprits=culprits)


def search_world(world: SteppedWorld, limits: SearchLimits, dice: Generator) -> tuple[CulpritResult, int]:
    """Search until the end; also how many runs that took."""
    passes, runs = np.zeros(world.rates.shape, dtype=np.int64), np.zeros(world.rates.shape, dtype=np.int64)
    while not isinstance(asked := next_round(passes, runs, limits), CulpritResult):
        for step, task in asked.runs:
            runs[step, task] += 1
            passes[step, task] += dice.random() < world.rates[step, task]
    return asked, int(runs.sum())


def likeliest_of_all(world: SteppedWorld, dice: Generator) -> int:
    """The likeliest step when every step is tested at all repeats of every task."""
    passes = dice.binomial(REPEATS, world.rates)
    return find_change(passes, np.full(passes.shape, REPEATS)).best


def culprit_readings(kind: str, steps: int, draws: int, seed: int) -> Readings:
    """How often the search names the culprit, another step, or none, and its runs as a share of testing every step."""
    dice, limits = np.random.default_rng(seed), search_limits(steps + 1, TASKS, REPEATS, error=DEFAULT_ERROR)
    shares: list[float] = []
    right = wrong = several = none = tested = 0
    for _ in range(draws):
        world = draw_world(kind, steps, dice)
        result, runs = search_world(world, limits, dice)
        shares.append(runs / (world.rates.shape[0] * TASKS * REPEATS))
        right += result.step is not None and result.step in world.culprits
        wrong += result.step is not None and result.step not in world.culprits
        several += result.end is SearchEnd.SEVERAL
        none += result.end in (SearchEnd.NO_DIFFERENCE, SearchEnd.BETTER)
        tested += likeliest_of_all(world, dice) in world.culprits
    found = {"right": right, "wrong": wrong, "several": several, "no loss found": none, "right by every step": tested}
    return {name: share_of(hits, draws) for name, hits in found.items()} | {"runs": mean_of(shares, share=True)}


_WRONG = at_most("wrong", DEFAULT_ERROR)
_FOUND = (at_least("right", 0.9), _WRONG, at_most("runs", 0.5))


def _cell(kind: str, words: str, steps: int, draws: int, *promises: Promise) -> Cell:
    return Cell(
        name=f"{words}, {steps} steps",
        measure=culprit_readings,
        arguments=(kind, steps),
        draws=draws,
        promises=promises,
    )


CULPRIT_SECTIONS = (
    Section(
        title="Which step made it worse",
        words=f"A sequence of set-ups over {TASKS} tasks that an ordinary run makes {REPEATS} times each. *A quarter "
        "breaks*: at one step a quarter of the tasks falls from 80 % or more to 10 %. *All fall*: every task loses 1.5 "
        "in its log odds. *Runs* are those of the search as a share of testing every step at all repeats, and "
        "*right by every step* is how often the likeliest step is the right one after that. *No loss found* and what "
        f"is missing to 100 % end without a name. The stated error is {100 * DEFAULT_ERROR:g} %.",
        cells=(
            _cell(BREAKS, "a quarter breaks", 4, 2_000, *_FOUND),
            _cell(BREAKS, "a quarter breaks", 8, 2_000, *_FOUND),
            _cell(BREAKS, "a quarter breaks", 16, 2_000, *_FOUND),
            _cell(SHIFT, "all fall by 1.5", 8, 2_000, *_FOUND),
            _cell(NOTHING, "nothing changes", 4, 2_000, _WRONG),
            _cell(TWO_BREAKS, "two steps break a quarter each", 8, 2_000, _WRONG),
        ),
    ),
)
