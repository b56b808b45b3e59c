"""Half the tasks, as `suite prune` chooses them: what they keep of the t statistic, and the error rates on them."""

from math import sqrt

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from calibration.cells import FALSE_DECISIONS, Cell, Promise, Reading, Readings, Section, at_least, share_of
from calibration.rates import collapse_alarm
from calibration.worlds import NULLS, Draw, Runs, World, draw_logits, draw_on_tasks, world
from outweigh.stats.task_information import Counts, estimate_information
from outweigh.stats.task_selection import order_tasks, task_t
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate

OTHER_ARMS, OTHER_REPEATS, SAME_RUNS = "other arms", "other repeats", "the baseline's runs that judge"

STRENGTHS, AFFINITIES = 0.8, 0.8
"""How much arms differ on the whole, and how much an arm is better at some tasks than at others, as logits."""

UNEVEN = world("gains of agents that differ", logit_mean=0.5, logit_deviation=3.0, effect=0.6, effect_deviation=0.8)
USUAL = world("gains of agents that differ, tasks that differ less", effect=0.6, effect_deviation=0.8)
SIMILAR = world("gains of agents that differ, similar tasks", logit_deviation=0.8, effect=0.6, effect_deviation=0.8)
EXCHANGEABLE = world("gains of agents that differ, tasks that differ in nothing", logit_deviation=0.0, effect=0.6)
MOSTLY_PASSING = world("identical arms, most tasks pass", logit_mean=2.0, effect_deviation=0.0)


def kept_readings(world: World, tasks: int, arms: int, repeats: int, how: str, draws: int, seed: int) -> Readings:
    """What half the tasks keep of the t statistic of the pass rates; beside it, a random half, and the best."""
    dice = np.random.default_rng(seed)
    found: dict[str, list[tuple[float, float]]] = {"kept": [], "at random": [], "at best": []}
    for _ in range(draws):
        experiment, chosen, chances = _choose_half(world, tasks, arms, repeats, how, dice)
        before, after = (each.mean(axis=0) for each in experiment.passes)
        deltas = after - before
        whole = task_t(deltas)
        found["kept"].append((whole, task_t(deltas[chosen])))
        found["at random"].append((whole, task_t(deltas[dice.permutation(tasks)[: tasks // 2]])))
        most_open = np.argsort(-chances * (1 - chances), kind="stable")[: tasks // 2]
        found["at best"].append((whole, task_t(deltas[most_open])))
    return {name: _slope(pairs) for name, pairs in found.items()}


def _slope(pairs: list[tuple[float, float]]) -> Reading:
    """The regression of one t statistic on the other through 0, with its standard error."""
    whole, part = (np.array(column) for column in zip(*pairs, strict=True))
    squares = float((whole**2).sum())
    slope = float((whole * part).sum()) / squares
    return Reading(value=slope, error=sqrt(float(((whole * part - slope * whole**2) ** 2).sum())) / squares)


def chosen_readings(world: World, tasks: int, arms: int, repeats: int, how: str, draws: int, seed: int) -> Readings:
    """The decisions about a candidate on the half of the tasks that was chosen, and on all of them."""
    dice = np.random.default_rng(seed)
    names = ("improved", "regressed", "improved on all tasks", "regressed on all tasks")
    hits = dict.fromkeys(names, 0)
    for _ in range(draws):
        experiment, chosen, _ = _choose_half(world, tasks, arms, repeats, how, dice)
        for each, where in ((experiment.of_tasks(chosen), ""), (experiment, " on all tasks")):
            decision = _decide(each)
            for said in (Decision.IMPROVED, Decision.REGRESSED):
                hits[f"{said.value}{where}"] += decision is said
    return {name: share_of(number, draws) for name, number in hits.items()}


def _decide(experiment: Draw) -> Decision:
    (finding,) = apply_rule([examine_candidate(experiment.gates())])
    collapsed = finding.decision is not Decision.REGRESSED and collapse_alarm(experiment)
    return Decision.REGRESSED if collapsed else finding.decision


def _choose_half(
    world: World, tasks: int, arms: int, repeats: int, how: str, dice: Generator
) -> tuple[Draw, NDArray[np.intp], Runs]:
    """An experiment that judges, half of its tasks as runs choose them that are not in it (or wrongly are), and the
    baseline's true chances.
    """
    logits = draw_logits(world, tasks, dice)
    if how == OTHER_REPEATS:
        (both,) = draw_on_tasks(world, logits, 2 * repeats, 1, dice)
        choosing = [each[::2] for each in both.passes]
        experiment = _every_other_repeat(both)
    else:
        (experiment,) = draw_on_tasks(world, logits, repeats, 1, dice)
        choosing = [_other_arm(logits, repeats, dice) for _ in range(arms)]
    if how == SAME_RUNS:
        choosing = [experiment.passes[0]]
    passes: Counts = np.array([each.sum(axis=0) for each in choosing]).T.astype(np.intp)
    runs: Counts = np.full(passes.shape, len(choosing[0]), dtype=np.intp)
    order = order_tasks(estimate_information(passes, runs), np.ones(tasks), [None] * tasks)
    return experiment, order.keep(tasks // 2), 1 / (1 + np.exp(-logits))


def _other_arm(logits: Runs, repeats: int, dice: Generator) -> Runs:
    mine = logits + dice.normal(0, STRENGTHS) + dice.normal(0, AFFINITIES, len(logits))
    return (dice.random((repeats, len(logits))) < 1 / (1 + np.exp(-mine))).astype(np.float64)


def _every_other_repeat(both: Draw) -> Draw:
    def half(pair: tuple[Runs, Runs]) -> tuple[Runs, Runs]:
        return pair[0][1::2], pair[1][1::2]

    return Draw(
        passes=half(both.passes),
        times=half(both.times),
        tokens=half(both.tokens),
        costs=half(both.costs),
        families=both.families,
    )


def _kept(world: World, arms: int, repeats: int, how: str, *promises: Promise) -> Cell:
    by = f"{arms} other arms × {repeats}" if how == OTHER_ARMS else f"{repeats} other repeats of both arms"
    return Cell(
        name=f"{world.name}: by {by}",
        measure=kept_readings,
        arguments=(world, 80, arms, repeats, how),
        draws=400,
        promises=promises,
    )


def _false(world: World, how: str, *promises: Promise) -> Cell:
    return Cell(
        name=f"{world.name}: by {how}",
        measure=chosen_readings,
        arguments=(world, 80, 4, 5, how),
        draws=1_500,
        promises=promises,
    )


_ENOUGH = at_least("kept", 0.85)

CHOSEN_SECTIONS = (
    Section(
        title="Tasks that were chosen",
        words="40 of 80 tasks are chosen as `suite prune` does, by runs that do not judge, and a candidate is compared "
        "with a baseline on them. The arms that choose differ from each other and from both, on the whole and task by "
        "task. *Kept* is how much of the t statistic of all tasks is left (the slope through 0 over all draws), *at "
        "random* the same for tasks drawn at random, and *at best* for the tasks that someone would choose who "
        "knows how often the baseline passes each of them in truth, but not which way the candidate differs. Most "
        "public suites are like the first rows: most tasks are nearly always or nearly never solved. Where tasks "
        "differ less, nothing is promised, because little can be had: the choice is near the best one, and where tasks "
        "differ in nothing, no choice beats chance. `suite prune` then advises against it.",
        cells=(
            _kept(UNEVEN, 11, 5, OTHER_ARMS, _ENOUGH),
            _kept(UNEVEN, 6, 3, OTHER_ARMS, _ENOUGH),
            _kept(UNEVEN, 4, 3, OTHER_ARMS, _ENOUGH),
            _kept(UNEVEN, 11, 1, OTHER_ARMS, _ENOUGH),
            _kept(UNEVEN, 2, 5, OTHER_ARMS),
            _kept(UNEVEN, 0, 5, OTHER_REPEATS),
            _kept(USUAL, 11, 5, OTHER_ARMS),
            _kept(USUAL, 4, 3, OTHER_ARMS),
            _kept(SIMILAR, 11, 5, OTHER_ARMS),
            _kept(SIMILAR, 4, 3, OTHER_ARMS),
            _kept(EXCHANGEABLE, 11, 5, OTHER_ARMS),
        ),
    ),
    Section(
        title="Error rates on chosen tasks",
        words="Identical arms on the 40 tasks of 80 that 4 other arms, or the other repeats of the same arms, chose, "
        "with 5 repeats that judge. The last two rows are what goes wrong where the runs that choose also judge: the "
        "tasks on which the baseline's runs look undecided are those on which it was unlucky, so an identical "
        "candidate looks better. `suite prune` writes down which runs chose, and no verdict counts them.",
        cells=(
            _false(NULLS[0], OTHER_ARMS, *FALSE_DECISIONS),
            _false(NULLS[1], OTHER_ARMS, *FALSE_DECISIONS),
            _false(MOSTLY_PASSING, OTHER_ARMS, *FALSE_DECISIONS),
            _false(NULLS[0], OTHER_REPEATS, *FALSE_DECISIONS),
            _false(MOSTLY_PASSING, OTHER_REPEATS, *FALSE_DECISIONS),
            _false(NULLS[0], SAME_RUNS),
            _false(MOSTLY_PASSING, SAME_RUNS),
        ),
    ),
)
