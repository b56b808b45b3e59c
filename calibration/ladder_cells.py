"""Ladders of known effects: do the intervals of tiers hold the truth, and does a ladder without effects call any?

A draw is a study of 7 tiers with 3 configurations each, on 12 new tasks with 5 repeats. Its figures and contrasts come
from the functions that `outweigh ladder` uses, on means by task instead of records.
"""

from dataclasses import dataclass
from math import exp, hypot

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibration.cells import Cell, Readings, Section, at_least, at_most, share_of
from calibration.truth import mean_of_logistic
from outweigh.compare.ladder import DRAWS
from outweigh.compare.ladder_contrasts import ALPHA, Units
from outweigh.compare.ladder_figures import FIGURES, figures_of
from outweigh.compare.ladder_levels import relative_gain
from outweigh.stats.estimate import Estimate, Interval, Unit
from outweigh.stats.max_t import Contrast
from outweigh.stats.rank_tests import friedman_test

TIERS, CONFIGURATIONS, TASKS, REPEATS = 7, 3, 12, 5
LOGIT_MEAN, LOGIT_DEVIATION = 0.4, 1.6
EFFECT_DEVIATION = 0.4
"""How much the effect of a tier on the logit differs between tasks."""
SPREAD = (-0.15, 0.0, 0.15)
"""What the configurations of a tier add to its effect."""
JUDGE_DEVIATION = 0.1
TASK_COST, RUN_COST, COST_STEP = 0.5, 0.4, 0.1
"""The scatter of the logarithm of the cost between tasks and runs, and what each tier adds to it."""

Values = NDArray[np.float64]


@dataclass(frozen=True, slots=True, kw_only=True)
class LadderWorld:
    """The effect of every tier on the logit; `judged` ladders are ranked by composites, others by passes."""

    effects: tuple[float, ...]
    judged: bool

    def qualities(self) -> Values:
        """The true quality of every tier and configuration; judges are right on average, so it is the pass rate."""
        deviation = hypot(LOGIT_DEVIATION, EFFECT_DEVIATION)
        return np.array(
            [[mean_of_logistic(LOGIT_MEAN + effect + own, deviation) for own in SPREAD] for effect in self.effects]
        )

    def costs(self) -> Values:
        """The true mean cost of every tier."""
        return np.array([exp(COST_STEP * tier + (TASK_COST**2 + RUN_COST**2) / 2) for tier in range(TIERS)])


@dataclass(frozen=True, slots=True, kw_only=True)
class DrawnLadder:
    """Means by tier, configuration and task."""

    quality: Values
    passed: Values
    cost: Values


def draw_ladder(world: LadderWorld, dice: Generator) -> DrawnLadder:
    """One study on tasks that nobody has seen."""
    logits = dice.normal(LOGIT_MEAN, LOGIT_DEVIATION, TASKS)
    moved = np.array(world.effects)[:, None] + dice.normal(0, EFFECT_DEVIATION, (TIERS, TASKS))
    chances = 1 / (1 + np.exp(-(logits + moved[:, None, :] + np.array(SPREAD)[None, :, None])))
    runs = dice.random((REPEATS, *chances.shape)) < chances
    passed = runs.mean(axis=0)
    noise = dice.normal(0, JUDGE_DEVIATION, runs.shape).mean(axis=0)
    quality = (passed + chances + noise) / 2 if world.judged else passed
    steps = COST_STEP * np.arange(TIERS)[:, None, None]
    costs = np.exp(dice.normal(0, TASK_COST, TASKS) + steps + dice.normal(0, RUN_COST, runs.shape)).mean(axis=0)
    return DrawnLadder(quality=quality, passed=passed, cost=costs)


class _Tally:
    """How many intervals there were, and how many of them held the truth."""

    def __init__(self) -> None:
        self.held = self.made = 0

    def add(self, interval: Interval | None, truth: float) -> None:
        if interval is not None:
            self.made += 1
            self.held += interval.low <= truth <= interval.high

    def share(self, draws: int) -> float:
        """As hits among the draws, so that the error of the simulation counts studies and not intervals."""
        return draws * self.held / max(1, self.made)


def ladder_readings(world: LadderWorld, draws: int, seed: int) -> Readings:
    """Coverage of all kinds of intervals, and how often anything is called."""
    dice = np.random.default_rng(seed)
    qualities, costs = world.qualities(), world.costs()
    rates = qualities.mean(axis=1)
    names = ("quality of tiers", "quality of configurations", "cost of a pass", "uplift", "each contrast")
    tallies = {name: _Tally() for name in names}
    together = omnibus = better = called = 0
    for draw in range(draws):
        drawn = draw_ladder(world, dice)
        tiers = drawn.quality.mean(axis=1)
        for tier in range(TIERS):
            figures = _figures(drawn, tier)
            tallies["quality of tiers"].add(figures["composite"].interval, rates[tier])
            tallies["cost of a pass"].add(figures["cost_of_pass_usd"].interval, costs[tier] / rates[tier])
            if tier:
                gain = relative_gain(tiers[tier], tiers[0], None)
                tallies["uplift"].add(gain.interval, rates[tier] / rates[0] - 1)
            for own in range(CONFIGURATIONS):
                estimate = _mean(drawn.quality[tier, own])
                tallies["quality of configurations"].add(estimate.interval, qualities[tier, own])
        pairs, contrasts = contrast_tiers(tiers, seed + draw)
        truths = [rates[upper] - rates[lower] for upper, lower in pairs]
        for contrast, truth in zip(contrasts, truths, strict=True):
            tallies["each contrast"].add(contrast.interval, truth)
        together += all(_holds(contrast, truth) for contrast, truth in zip(contrasts, truths, strict=True))
        shown = [contrast for contrast in contrasts if contrast.adjusted is not None and contrast.adjusted <= ALPHA]
        called += bool(shown)
        better += any(contrast.is_positive for contrast in shown)
        p_value = friedman_test(tiers.T, unit=Unit.TASK).p_value
        omnibus += p_value is not None and p_value <= ALPHA
    return {
        **{name: share_of(tally.share(draws), draws) for name, tally in tallies.items()},
        "all contrasts together": share_of(together, draws),
        "omnibus": share_of(omnibus, draws),
        "some tier called better": share_of(better, draws),
        "some tier called": share_of(called, draws),
    }


def contrast_tiers(tiers: Values, seed: int) -> tuple[list[tuple[int, int]], tuple[Contrast, ...]]:
    """Steps and contrasts to the first tier as one family, from means by tier and task."""
    numbers = range(len(tiers))
    pairs = [*zip(numbers[1:], numbers[:-1], strict=True), *((number, 0) for number in numbers[2:])]
    units = Units(None, tiers.shape[1])
    differences = [units.influences(tiers[upper] - tiers[lower]) for upper, lower in pairs]
    return pairs, units.test(differences, draws=DRAWS, seed=seed).contrasts


def _holds(contrast: Contrast, truth: float) -> bool:
    inside = contrast.simultaneous
    return inside is None or inside.low <= truth <= inside.high


def _figures(drawn: DrawnLadder, tier: int) -> dict[str, Estimate]:
    unknown = np.full(drawn.cost.shape[-1], np.nan)
    known = {"composite": drawn.quality, "passed": drawn.passed, "cost_usd": drawn.cost}
    values = {metric: known[metric][tier].mean(axis=0) if metric in known else unknown for metric in FIGURES.values()}
    return figures_of(values, None, (), {})


def _mean(column: Values) -> Estimate:
    unknown = np.full(column.shape, np.nan)
    values = {metric: column if metric == "composite" else unknown for metric in FIGURES.values()}
    return figures_of(values, None, (), {})["composite"]


RISING = (0.0, 0.2, 0.4, 0.6, 0.8, 1.0, 1.2)
MIXED = (0.0, 0.5, 0.5, -0.5, 0.0, 1.0, -0.3)
NO_EFFECT = (0.0,) * TIERS
_HELD = tuple(
    promise
    for name in ("quality of tiers", "quality of configurations", "uplift", "each contrast", "all contrasts together")
    for promise in (at_least(name, 0.93), at_most(name, 0.975))
)
_NOTHING_CALLED = (at_most("omnibus", 0.06), at_most("some tier called better", 0.05))
LADDER_SECTIONS = (
    Section(
        title="Ladders: 7 tiers, 3 configurations each, 12 tasks, 5 repeats",
        words="Do the intervals of `outweigh ladder` hold the truth, each by itself and all contrasts together "
        "(max-t), and how often does a ladder call a tier? Effects are on the logit and differ between tasks (0.4); "
        "tasks are new in every draw. Judged ladders are ranked by composites, the others by passes. Where nothing has "
        "an effect, whatever is called is wrong.",
        cells=tuple(
            Cell(
                name=f"{name}, {'judged' if judged else 'checks alone'}",
                measure=ladder_readings,
                arguments=(LadderWorld(effects=effects, judged=judged),),
                draws=2_000,
                promises=(*_HELD, *(_NOTHING_CALLED if effects == NO_EFFECT else ())),
            )
            for name, effects in (("no effect", NO_EFFECT), ("rising by tier", RISING), ("up and down", MIXED))
            for judged in (False, True)
        ),
    ),
)
