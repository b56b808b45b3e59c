"""Worlds that the method of planning was chosen in: groups of tasks, runaways, uneven scatter.

Whether it works elsewhere is checked in `unseen_worlds`.
"""

from dataclasses import dataclass
from math import log
from typing import Protocol

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from outweigh.verdict.evidence_settings import PASS_RATE, evidence_settings
from outweigh.verdict.gate_tests_on_arrays import SimulatedGate
from outweigh.verdict.pilot_gates import gates_without_pilot
from outweigh.verdict.run_scatter import PilotRuns

Values = NDArray[np.float64]
GATES = (PASS_RATE, "duration", "non_cache_tokens", "cost")
LIMITS = gates_without_pilot(GATES, evidence_settings()).limits
TRUTH_TASKS = 200_000


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanWorld:
    """How tasks and runs behave; effects are of the candidate, resources are logs."""

    name: str
    effect: float = 0.4
    effect_deviation: float = 0.4
    log_change: float = log(0.9)
    """Of time and tokens, and so of dollars."""
    logit_mean: float = 0.4
    logit_deviation: float = 1.6
    hard_share: float = 0.0
    """The share of tasks whose logit is lower by 7."""
    size_deviation: float = 0.5
    arm_deviation: float = 0.15
    run_deviation: float = 0.4
    uneven: float = 0.0
    """How much the log of the scatter of runs differs between tasks."""
    correlation: float = 0.0
    passing_saves: float = 0.0
    """By how much the log of a run's time and tokens is lower where it passes."""
    runaways: float = 0.0
    """The share of runs in both arms that take eight times as much."""
    skewed_effects: bool = False
    """Whether most tasks gain a little and a few lose much."""

    def draw(self, experiments: int, tasks: int, repeats: int, dice: Generator) -> "PlanDraw":
        """Run many experiments."""
        return draw_plan_world(self, experiments, tasks, repeats, dice)


PLAN_WORLDS = (
    PlanWorld(name="small win", effect=0.3),
    PlanWorld(name="pure gain", effect=0.5, log_change=0.0),
    PlanWorld(name="saving alone", effect=0.0, log_change=log(0.85)),
    PlanWorld(name="noisy runs", effect=0.6, log_change=log(0.85), run_deviation=0.7, arm_deviation=0.3),
    PlanWorld(
        name="quiet runs",
        effect=0.25,
        log_change=log(0.95),
        run_deviation=0.2,
        arm_deviation=0.05,
        effect_deviation=0.1,
    ),
    PlanWorld(name="time and tokens correlated, passing saves time", correlation=0.9, passing_saves=0.5),
    PlanWorld(name="most tasks pass", effect=0.7, logit_mean=2.5, logit_deviation=1.2),
    PlanWorld(name="easy and hard tasks", effect=0.8, logit_mean=3.0, logit_deviation=0.7, hard_share=0.5),
    PlanWorld(name="runaways in both arms", effect=0.5, log_change=log(0.85), runaways=0.03),
    PlanWorld(name="tasks of very different size", size_deviation=1.2),
    PlanWorld(name="few tasks lose much", effect=0.5, effect_deviation=1.2, skewed_effects=True),
    PlanWorld(name="tasks that scatter unevenly", uneven=0.6, arm_deviation=0.25),
)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class PlanDraw:
    """Many experiments: experiments × repeats × tasks for both arms of each gate, baseline first; resources as logs."""

    arms: tuple[tuple[Values, Values], ...]

    def gates(self) -> list[SimulatedGate]:
        """What the rule decides about."""
        (before, after), *resources = self.arms
        repeats = before.shape[1]
        passes = before.sum(axis=1).astype(np.int64), after.sum(axis=1).astype(np.int64)
        gates = [
            SimulatedGate(limits=LIMITS[0], benefits=(passes[1] - passes[0]) / repeats, passes=passes, runs=repeats)
        ]
        for limits, (ours, theirs) in zip(LIMITS[1:], resources, strict=True):
            amounts = np.exp(ours).mean(axis=1), np.exp(theirs).mean(axis=1)
            gates.append(
                SimulatedGate(limits=limits, benefits=ours.mean(axis=1) - theirs.mean(axis=1), amounts=amounts)
            )
        return gates

    def pilot(self, place: int) -> PilotRuns:
        """One of the experiments as a pilot."""
        repeats, tasks = self.arms[0][0].shape[1:]
        owners = np.tile(np.arange(tasks), repeats)
        values = [np.stack([gate[arm][place].ravel() for gate in self.arms], axis=1) for arm in range(2)]
        return PilotRuns(gates=GATES, values=(values[0], values[1]), owners=(owners, owners), tasks=tasks)


def draw_plan_world(world: PlanWorld, experiments: int, tasks: int, repeats: int, dice: Generator) -> PlanDraw:
    """Run many experiments in a world."""
    per_task, per_run = (experiments, 1, tasks), (experiments, repeats, tasks)
    logits = dice.normal(world.logit_mean, world.logit_deviation, per_task)
    logits = logits - 7 * (dice.random(per_task) < world.hard_share)
    scatter = 1 - dice.gamma(1.0, 1.0, per_task) if world.skewed_effects else dice.standard_normal(per_task)
    moved = logits + world.effect + world.effect_deviation * scatter
    passes = [(dice.random(per_run) < 1 / (1 + np.exp(-chance))).astype(np.float64) for chance in (logits, moved)]
    sizes = dice.normal(0, world.size_deviation, (2, *per_task))
    uneven = np.exp(dice.normal(0, world.uneven, per_task))
    resources: list[list[Values]] = [[], [], []]
    for passed, change in zip(passes, (0.0, world.log_change), strict=True):
        by_task = world.arm_deviation * _pair(world.correlation, per_task, dice)
        by_run = world.run_deviation * uneven * _pair(world.correlation, per_run, dice)
        time, tokens = sizes + by_task + by_run + change - world.passing_saves * passed
        cost = (time + tokens) / 2 + dice.normal(0, 0.2, per_run)
        away = log(8) * (dice.random(per_run) < world.runaways)
        for values, resource in zip(resources, (time, tokens, cost), strict=True):
            values.append(resource + away)
    return PlanDraw(arms=((passes[0], passes[1]), *((values[0], values[1]) for values in resources)))


def _pair(correlation: float, shape: tuple[int, ...], dice: Generator) -> Values:
    first, second = dice.standard_normal((2, *shape))
    return np.stack([first, correlation * first + np.sqrt(1 - correlation**2) * second])


class DrawnWorld(Protocol):
    """A world that experiments can be drawn from."""

    @property
    def name(self) -> str:
        """What the cells call it."""

    def draw(self, experiments: int, tasks: int, repeats: int, dice: Generator) -> PlanDraw:
        """Run many experiments."""


def true_effects(world: DrawnWorld) -> dict[str, float]:
    """What the candidate does, as a plan takes it: points of the pass rate, logs of the ratios of resources."""
    large = world.draw(1, TRUTH_TASKS, 1, np.random.default_rng(0))
    return {name: float((after - before).mean()) for name, (before, after) in zip(GATES, large.arms, strict=True)}
