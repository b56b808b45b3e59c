"""Plans that come true: what a plan promises against what happens, and what follows from following `needs`."""

import dataclasses
from collections.abc import Iterable, Iterator, Sequence
from math import sqrt

import numpy as np
from msgspec.structs import replace
from numpy.random import Generator

from calibration.cells import Cell, Promise, Reading, Readings, Section, at_least, at_most, mean_of, share_of
from calibration.plan_worlds import LIMITS, PLAN_WORLDS, DrawnWorld, true_effects
from calibration.rates import decide
from calibration.unseen_worlds import SEEN_LATER, UNSEEN_WORLDS
from calibration.worlds import NULLS, PURE_GAIN, SMALL_WIN, TRAP, Draw, World, draw
from outweigh.model.look_plan import plan_even_looks
from outweigh.stats.variance import TaskMoments, summarize_runs
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_settings import evidence_settings
from outweigh.verdict.experiment_plan import ExperimentPlanner
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.looks_on_arrays import decide_at_looks
from outweigh.verdict.planned_experiment import OfferedSizes, PlannedDesign
from outweigh.verdict.possible_populations import populations_of_pilot
from outweigh.verdict.required_sample import tasks_for_a_decision
from outweigh.verdict.rule_on_arrays import CURRENT_RULE, decide_many

EXPERIMENTS = 2_000
SIZES = (((10, 5), (50, 5)), ((20, 3), (100, 3)), ((40, 3), (50, 5)))
"""Tasks and repeats of a pilot, and of the experiment that is planned from it."""
IN_THE_RANGE, IN_A_DOUBTFUL_RANGE = 0.75, 0.5
OUT_OF_REACH = {"runs that go in circles", "runs cut off by a cap"}
"""Worlds for which nothing but the range is promised, and less of that."""
MOST_TASKS = 1_000


def plan_readings(
    world: DrawnWorld, pilot: tuple[int, int], planned: tuple[int, int], draws: int, seed: int
) -> Readings:
    """Plans from so many pilots, and how often experiments of the planned size are then called improved."""
    dice = np.random.default_rng(seed)
    experiments = world.draw(EXPERIMENTS, *planned, dice)
    realised = share_of(int(decide_many(experiments.gates()).decided[Decision.IMPROVED].sum()), EXPERIMENTS)
    promised, inside = [], 0
    for planner in _planners(world, pilot, draws, dice):
        (size,) = planner.sizes(OfferedSizes(tasks=planned[:1], repeats=planned[1:]))
        promised.append(size.improved.value)
        low, high = size.improved.low, size.improved.high
        inside += low is not None and high is not None and low <= realised.value <= high
    mean = mean_of(promised, share=True)
    off = Reading(value=abs(mean.value - realised.value), error=sqrt(mean.error**2 + realised.error**2))
    return {"promised": mean, "realised": realised, "off by": off, "in the range": share_of(inside, draws)}


def _planners(world: DrawnWorld, pilot: tuple[int, int], draws: int, dice: Generator) -> Iterator[ExperimentPlanner]:
    """One for each of so many pilots, for the true effects."""
    effects, pilots = true_effects(world), world.draw(draws, *pilot, dice)
    for place in range(draws):
        populations = populations_of_pilot(pilots.pilot(place), dice)
        yield ExperimentPlanner(populations, LIMITS, effects, CURRENT_RULE, None, place)


def look_readings(
    world: DrawnWorld, pilot: tuple[int, int], planned: tuple[int, int], draws: int, seed: int
) -> Readings:
    """The share of the tasks that planned looks use: as plans from so many pilots foresee it, and as it is."""
    dice = np.random.default_rng(seed)
    tasks, repeats = planned
    looks = plan_even_looks([str(task) for task in range(tasks)], repeats)
    used = decide_at_looks(world.draw(EXPERIMENTS // 4, *planned, dice).gates(), looks, CURRENT_RULE).tasks / tasks
    design = PlannedDesign(tasks=tasks, repeats=repeats, cost_usd=None, improved=0.0)
    foreseen = mean_of(
        [planner.looks(design).stated.tasks / tasks for planner in _planners(world, pilot, draws, dice)], share=True
    )
    realised = mean_of(used.tolist(), share=True)
    off = Reading(value=abs(foreseen.value - realised.value), error=sqrt(foreseen.error**2 + realised.error**2))
    return {"foreseen": foreseen, "used": realised, "off by": off}


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
                TaskMoments(means=values / values.mean(), variances=moments.variances, counts=moments.counts)
                for moments, values in zip(noise, amounts, strict=True)
            )
            total = replace(total, noise=(relative[0], relative[1]))
        gates.append(replace(gate, noise=(noise[0], noise[1]), total=total))
    return gates


def _cells(worlds: Iterable[DrawnWorld], sizes: Sequence[tuple[tuple[int, int], tuple[int, int]]]) -> tuple[Cell, ...]:
    return tuple(
        Cell(
            name=f"{world.name}, pilot {pilot[0]} × {pilot[1]}, planned {planned[0]} × {planned[1]}",
            measure=plan_readings,
            arguments=(world, pilot, planned),
            draws=60,
            promises=tuple(_promises(world)),
        )
        for world in worlds
        for pilot, planned in sizes
    )


def _promises(world: DrawnWorld) -> Iterator[Promise]:
    reached = world.name not in OUT_OF_REACH
    if reached:
        yield at_most("off by", 0.05)
    yield at_least("in the range", IN_THE_RANGE if reached else IN_A_DOUBTFUL_RANGE)


PLANS = Section(
    title="Plans that come true",
    words="Four gates. Each cell is a pilot of so many tasks × repeats and an experiment that is planned from it, for "
    "the true effects, which are stated. *Promised* is the mean over pilots of the chance of `improved`, *realised* is "
    "the share of experiments that are. *In the range* is the share of pilots whose range holds the realised rate. "
    "The method of planning was chosen in other worlds, which are in the next table; these twelve are drawn in "
    "another way than plans simulate. Two of them break the promise, and nothing is promised about them but the range: "
    "where one run in fifty goes in circles a small pilot may meet none, and plans promise too much; where failing "
    "runs end at a cap they promise too little.",
    cells=_cells(UNSEEN_WORLDS, SIZES),
)
CHOSEN_IN = Section(
    title="Plans in the worlds that their method was chosen in",
    words="The same in the worlds that were looked at while the method was chosen, from pilots of 20 tasks. From "
    "pilots of 10 tasks, plans promise 20 points too much where a few tasks are repaired.",
    cells=_cells((*PLAN_WORLDS, *SEEN_LATER), SIZES[1:2]),
)
LOOKS_FORESEEN = Section(
    title="Planned looks as plans foresee them",
    words="The share of the planned tasks that `run --until-decided` uses, as plans from pilots of 20 × 3 foresee it "
    "on average, and as it is.",
    cells=tuple(
        Cell(
            name=f"{world.name}, planned 80 × 3",
            measure=look_readings,
            arguments=(world, (20, 3), (80, 3)),
            draws=20,
            promises=(at_most("off by", 0.05),),
        )
        for world in UNSEEN_WORLDS[::3]
    ),
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
PLAN_SECTIONS = (PLANS, CHOSEN_IN, LOOKS_FORESEEN, FOLLOWED)
