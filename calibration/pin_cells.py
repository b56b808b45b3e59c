"""A pinned baseline that is checked every day for a year: how often it is called drifted, and after how many days."""

from dataclasses import dataclass
from math import log
from statistics import median

import numpy as np
from numpy.random import Generator

from calibration.cells import Cell, Reading, Readings, Section, at_least, at_most, share_of
from outweigh.compare.arm_drift import FALSE_ALARMS, weigh_drift
from outweigh.model.pin_check import CheckedRun
from outweigh.stats.distributions import t_quantile

YEAR, MONTH = 365, 30
# Ten points fewer at a pass rate of 57 %.
_TEN_POINTS = -0.5862


@dataclass(frozen=True, slots=True, kw_only=True)
class PinLife:
    """A pin of so many tasks and repeats, checked daily on a few tasks; after `begins` checks, runs are different.

    `logit` is what happens to the chance to pass, `resources` to the logs of time, tokens and dollars.
    """

    name: str
    tasks: int
    repeats: int
    per_check: int = 5
    begins: int = 0
    logit: float = 0.0
    resources: float = 0.0
    logit_mean: float = 0.4


STEADY = (
    PinLife(name="nothing changes, 50 × 5", tasks=50, repeats=5),
    PinLife(name="nothing changes, 30 × 1", tasks=30, repeats=1),
    PinLife(name="nothing changes, nearly all pass, 10 × 3", tasks=10, repeats=3, logit_mean=4.0),
)
DEARER = (
    PinLife(name="a fifth dearer and slower from the first check, 50 × 5", tasks=50, repeats=5, resources=log(1.2)),
    PinLife(
        name="a fifth dearer and slower after 100 checks, 50 × 5", tasks=50, repeats=5, begins=100, resources=log(1.2)
    ),
    PinLife(name="every run fails from the first check, 30 × 3", tasks=30, repeats=3, logit=-40.0),
)
WORSE = (
    PinLife(name="ten points lost from the first check, 50 × 5", tasks=50, repeats=5, logit=_TEN_POINTS),
    PinLife(name="ten points lost from the first check, 100 × 5", tasks=100, repeats=5, logit=_TEN_POINTS),
    PinLife(
        name="ten points lost from the first check, 100 × 5, 20 tasks a check",
        tasks=100,
        repeats=5,
        per_check=20,
        logit=_TEN_POINTS,
    ),
    PinLife(name="ten points lost after 100 checks, 100 × 5", tasks=100, repeats=5, begins=100, logit=_TEN_POINTS),
)


class _Runs:
    """The runs of one pin's tasks: some tasks are harder and longer, and one run in fifty runs away."""

    def __init__(self, life: PinLife, dice: Generator) -> None:
        self._life, self._dice = life, dice
        self._logits = dice.normal(life.logit_mean, 1.6, life.tasks)

    def draw(self, task: int, *, drifted: bool) -> CheckedRun:
        """One run. What tasks have in common cancels in the ratios, so none of it is drawn."""
        life, dice = self._life, self._dice
        chance = 1 / (1 + np.exp(-self._logits[task] - drifted * life.logit))
        shift = drifted * life.resources + (np.log(10) if dice.random() < 0.02 else 0.0)
        time, tokens = (shift + dice.normal(0, 0.4) for _ in range(2))
        cost = (time + tokens) / 2 + dice.normal(0, 0.2)
        logs = {"duration_seconds": time, "non_cache_tokens": tokens, "cost_usd": cost}
        return CheckedRun(
            task_id=str(task),
            passed=float(dice.random() < chance),
            ratios={metric: float(np.exp(value)) for metric, value in logs.items()},
        )


def pin_readings(life: PinLife, days: int, draws: int, seed: int) -> Readings:
    """Live many pins; days are counted from the beginning of the drift, and one that is not found took all of them."""
    dice = np.random.default_rng(seed)
    alarms = [_first_alarm(life, days, dice) for _ in range(draws)]
    early = sum(alarm is not None and alarm <= life.begins for alarm in alarms)
    waits = [days - life.begins if alarm is None else alarm - life.begins for alarm in alarms]
    return {
        "alarm within the year": share_of(sum(alarm is not None for alarm in alarms), draws),
        "alarm before any drift": share_of(early, draws),
        "median days until found": Reading(value=float(median(waits)), error=0.0, share=False),
    }


def _first_alarm(life: PinLife, days: int, dice: Generator) -> int | None:
    runs = _Runs(life, dice)
    pinned = [runs.draw(task, drifted=False) for task in range(life.tasks) for _ in range(life.repeats)]
    turns = dice.permutation(life.tasks)
    checks = []
    for day in range(days):
        tasks = [int(turns[(day * life.per_check + place) % life.tasks]) for place in range(life.per_check)]
        checks.append([runs.draw(task, drifted=day >= life.begins) for task in tasks])
    return weigh_drift(pinned, checks, str(dice.integers(2**63))).alarm


def interval_readings(life: PinLife, days: int, draws: int, seed: int) -> Readings:
    """What a check did before: three t intervals at 99 % over the same few tasks, every day."""
    dice = np.random.default_rng(seed)
    alarms = sum(_any_interval(life, days, dice) for _ in range(draws))
    return {"alarm within the month": share_of(alarms, draws)}


def _any_interval(life: PinLife, days: int, dice: Generator) -> bool:
    runs, quantile = _Runs(life, dice), t_quantile(0.995, life.per_check - 1)
    then = np.mean(
        [[_figures(runs.draw(task, drifted=False)) for task in range(life.per_check)] for _ in range(life.repeats)], 0
    )
    for _ in range(days):
        deltas = np.array([_figures(runs.draw(task, drifted=False)) for task in range(life.per_check)]) - then
        errors = deltas.std(axis=0, ddof=1) / np.sqrt(life.per_check)
        if (np.abs(deltas.mean(axis=0)) > quantile * errors).any():
            return True
    return False


def _figures(run: CheckedRun) -> list[float]:
    return [float(run.passed or 0), run.ratios["duration_seconds"], run.ratios["non_cache_tokens"]]


PINS = Section(
    title="A pinned baseline, checked every day for a year",
    words="Five tasks a day are run again, once each, in turn. The checks are weighed together as one e-process. A pin "
    "that never drifts is called drifted in at most 5 % of its lives, however often it is checked. How soon a drift is "
    "found depends on the size of the pin too: ten points are little more than its own error at 50 × 5. Days are "
    "counted from the beginning of the drift; where it is not found within the year, that is the rest of the year.",
    cells=(
        *(
            Cell(
                name=life.name,
                measure=pin_readings,
                arguments=(life, YEAR),
                draws=120,
                promises=(at_most("alarm within the year", FALSE_ALARMS),),
            )
            for life in STEADY
        ),
        *(
            Cell(
                name=life.name,
                measure=pin_readings,
                arguments=(life, YEAR),
                draws=40,
                promises=(at_least("alarm within the year", 0.95), at_most("alarm before any drift", FALSE_ALARMS)),
            )
            for life in DEARER
        ),
        *(Cell(name=life.name, measure=pin_readings, arguments=(life, YEAR), draws=40) for life in WORSE),
    ),
)
INTERVALS = Section(
    title="The same checks by an interval each",
    words="What a check did before: a t interval at 99 % for each of three metrics, at every check of a month, over "
    "the same five tasks. Nothing changes in this world, and nothing is promised.",
    cells=(
        Cell(name=STEADY[0].name, measure=interval_readings, arguments=(STEADY[0], MONTH), draws=1_000),
        Cell(name=STEADY[1].name, measure=interval_readings, arguments=(STEADY[1], MONTH), draws=1_000),
    ),
)
PIN_SECTIONS = (PINS, INTERVALS)
