"""Plans that come true: what a plan promises against what happens, and what follows from following `needs`."""

import dataclasses
from collections.abc import Iterable
from math import sqrt

import numpy as np
from msgspec.structs import replace

from calibration.cells import Cell, Promise, Reading, Readings, Section, at_least, at_most, mean_of, share_of
from calibration.plan_worlds import LIMITS, PLAN_WORLDS, PlanWorld, draw_plan_world, true_effects
from calibration.rates import decide
from calibration.worlds import NULLS, PURE_GAIN, SMALL_WIN, TRAP, Draw, World, draw
from outweigh.stats.variance import summarize_runs
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.experiment_plan import SETS, ExperimentPlanner
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.planned_experiment import OfferedSizes
from outweigh.verdict.required_sample import tasks_for_a_decision
from outweigh.verdict.rule_on_arrays import decide_many
from outweigh.verdict.task_population import fit_population

EXPERIMENTS = 2_000
PILOTS = ((10, 5), (20, 3), (40, 3))
PLANNED = ((50, 5), (100, 3))
MOST_TASKS = 1_000


def plan_readings(
    world: PlanWorld, pilot: tuple[int, int], planned: tuple[int, int], draws: int, seed: int
) -> Readings:
    """Plans from so many pilots, and how often experiments of the planned size are then called improved."""
    dice = np.random.default_rng(seed)
    experiments = draw_plan_world(world, EXPERIMENTS, *planned, dice)
    realised = share_of(int(decide_many(experiments.gates()).decided[Decision.IMPROVED].sum()), EXPERIMENTS)
    effects, pilots = true_effects(world), draw_plan_world(world, draws, *pilot, dice)
    promised, inside = [], 0
    for place in range(draws):
        population = fit_population(pilots.pilot(place), 1 + SETS, dice)
        planner = ExperimentPlanner(population, LIMITS, effects, None, seed + place)
        (size,) = planner.sizes(OfferedSizes(tasks=planned[:1], repeats=planned[1:]))
        promised.append(size.improved.value)
        low, high = size.improved.low, size.improved.high
        inside += low is not None and high is not None and low <= realised.value <= high
    mean = mean_of(promised, share=True)
    off = Reading(value=abs(mean.value - realised.value), error=sqrt(mean.error**2 + realised.error**2))
    return {"promised": mean, "realised": realised, "off by": off, "in the range": share_of(inside, draws)}


def needs_readings(world: World, tasks: int, repeats: int, draws: int, seed: int) -> Readings:
    """Add as many tasks as `needs` says to inconclusive experiments, and decide again."""
    dice = np.random.default_rng(seed)
    asked: list[int] = []
    decided = tried = 0
    while len(asked) < draws and tried < 20 * draws:
        tried += 1
        whole = draw(world, MOST_TASKS, repeats, dice)
        start = _first(whole, tasks)
        if decide(start) is not Decision.INCONCLUSIVE:
            continue
        more, _ = tasks_for_a_decision(_with_noise(start), evidence_settings(seed=tried))
        asked.append(min(MOST_TASKS - tasks, MOST_TASKS if more is None else more))
        decided += decide(_first(whole, tasks + asked[-1])) is not Decision.INCONCLUSIVE
    return {"decided after following it": share_of(decided, len(asked)), "tasks asked for": mean_of(asked)}


def _first(whole: Draw, tasks: int) -> Draw:
    parts = {
        name: tuple(arm[:, :tasks] for arm in getattr(whole, name)) for name in ("passes", "times", "tokens", "costs")
    }
    return dataclasses.replace(whole, **parts)


def _with_noise(experiment: Draw) -> list[GateSample]:
    """The gates with each task's amounts, from which further tasks are drawn."""
    gates = []
    for gate, arms in zip(experiment.gates(), (experiment.passes, experiment.times, experiment.tokens), strict=True):
        repeats, tasks = arms[0].shape
        owners = np.tile(np.arange(tasks), repeats)
        noise = tuple(summarize_runs(arm.ravel(), owners, tasks) for arm in arms)
        total = gate.total
        if total is not None:
            amounts = [np.exp(arm).mean(axis=0) for arm in arms]
            relative = tuple(
                replace(moments, means=values / values.mean()) for moments, values in zip(noise, amounts, strict=True)
            )
            total = replace(total, noise=(relative[0], relative[1]))
        gates.append(replace(gate, noise=(noise[0], noise[1]), total=total))
    return gates


def _cells(worlds: Iterable[PlanWorld], *promises: Promise) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            name=f"{world.name}, pilot {pilot[0]} × {pilot[1]}, planned {planned[0]} × {planned[1]}",
            measure=plan_readings,
            arguments=(world, pilot, planned),
            draws=60,
            promises=promises,
        )
        for world in worlds
        for pilot, planned in zip(PILOTS, (PLANNED[0], PLANNED[1], PLANNED[0]), strict=True)
    )


PLANS = Section(
    title="Plans that come true",
    words="Four gates. Each cell is a pilot of so many tasks × repeats and an experiment that is planned from it, for "
    "the true effects, which are stated. *Promised* is the mean over pilots of the chance of `improved`, *realised* is "
    "the share of experiments that are. *In the range* is the share of pilots whose range holds the realised rate. "
    "The worlds are drawn in another way than plans simulate.",
    cells=_cells(PLAN_WORLDS[:8], at_most("off by", 0.05), at_least("in the range", 0.6)),
)
HEAVY_TAILS = Section(
    title="Plans where a few tasks or runs matter most",
    words="The same where a small pilot may not meet what decides: runs that take eight times as much, tasks whose "
    "size, scatter or loss is far beyond the others'. Plans promise too much here, and nothing is promised about them "
    "but the range.",
    cells=_cells(PLAN_WORLDS[8:], at_least("in the range", 0.5)),
)
FOLLOWED = Section(
    title="Following `needs`",
    words="Three gates. Experiments that end inconclusive get as many more tasks as `needs` asks for, and are decided "
    "again. It asks for enough to be decided in 80 % whether the arms are alike or not, so experiments with a real "
    "difference are decided more often.",
    cells=tuple(
        Cell(
            name=f"{world.name}, from {tasks} × 5",
            measure=needs_readings,
            arguments=(world, tasks, 5),
            draws=100,
            promises=(at_least("decided after following it", 0.7),),
        )
        for world in (NULLS[0], SMALL_WIN, PURE_GAIN, TRAP)
        for tasks in (20, 50)
    ),
)
PLAN_SECTIONS = (PLANS, HEAVY_TAILS, FOLLOWED)
