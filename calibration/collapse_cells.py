"""Single tasks that collapse: how often the alarm is raised, and how often it is false."""

import numpy as np

from calibration.cells import Cell, Readings, Section, at_least, at_most, share_of
from calibration.rates import collapse_alarm, decide_together
from calibration.worlds import NULLS, World, draw, world
from outweigh.verdict.decision import Decision

DETECTED = "collapse detected"
FALSE_ALARM = "false alarm"


def collapse_readings(world: World, tasks: int, repeats: int, what: str, draws: int, seed: int) -> Readings:
    """How often the alarm about single tasks is raised, and how often the candidate is called regressed."""
    dice = np.random.default_rng(seed)
    experiments = [draw(world, tasks, repeats, dice) for _ in range(draws)]
    detected = sum(map(collapse_alarm, experiments))
    regressed = decide_together(experiments, with_cost=True).count(Decision.REGRESSED)
    return {what: share_of(detected, draws), Decision.REGRESSED.value: share_of(regressed, draws)}


def _collapse(number: int, tasks: int) -> Cell:
    return Cell(
        name=f"{number} of {tasks} tasks fall from 5/5 to 0/5",
        measure=collapse_readings,
        arguments=(world(f"{number} collapsed", effect_deviation=0.0, collapsed=number), tasks, 5, DETECTED),
        draws=500,
        promises=(at_least(DETECTED, 0.99),) if number > 1 else (),
    )


def _nothing(each: World, tasks: int, repeats: int) -> Cell:
    return Cell(
        name=f"{each.name}, {tasks} × {repeats}",
        measure=collapse_readings,
        arguments=(each, tasks, repeats, FALSE_ALARM),
        draws=2_000,
        promises=(at_most(FALSE_ALARM, 0.01), at_most(Decision.REGRESSED.value, 0.07)),
    )


COLLAPSE_SECTIONS = (
    Section(
        title="Tasks that collapse",
        words="Tasks that always passed never pass any more, among others that do not change. The alarm counts tasks "
        "whose drop has an exact p-value of at most .01 and compares the number with what chance would do, at 1 %. One "
        "collapse in many tasks may be chance, so nothing is promised for it.",
        cells=tuple(_collapse(number, tasks) for tasks in (20, 50, 100) for number in (1, 2, 3, 5)),
    ),
    Section(
        title="Alarms about tasks where none collapsed",
        words="The same alarm where every task is as it was. With fewer than five repeats it cannot be raised.",
        cells=tuple(
            _nothing(each, tasks, repeats) for each in NULLS[1:2] for tasks in (20, 50, 100) for repeats in (5, 10)
        ),
    ),
)
