"""Looking again and again without a plan while tasks arrive: how often chance is called an improvement or a regression.

What planned looks do is in `look_cells`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from calibration.worlds import Draw, World, draw
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_rule import apply_rule, examine_candidate
from outweigh.verdict.evidence_settings import MINIMUM_TASKS

FIRM = (Decision.IMPROVED, Decision.REGRESSED)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stop:
    """The first firm decision and the number of tasks it took, or how it stood at the end."""

    decision: Decision
    tasks: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Looks:
    """Decisions of one rule over many looks; `stopped_after` is the mean number of tasks."""

    world: str
    rule: str
    repeats: int
    looks: int
    draws: int
    improved: float
    regressed: float
    stopped_after: float

    @property
    def firm(self) -> float:
        """The share of experiments that were ever called improved or regressed."""
        return self.improved + self.regressed


def look_schedule(tasks: int, looks: int) -> tuple[int, ...]:
    """Evenly spaced looks, the last one at all tasks."""
    return tuple(round(tasks * number / looks) for number in range(1, looks + 1))


def looks_rates(world: World, tasks: int, looks: int, repeats: int, draws: int, seed: int) -> list[Looks]:
    """The sequential rule, the ordinary rule used at every look, and the ordinary rule used once, on the same data."""
    dice = np.random.default_rng(seed)
    schedule = look_schedule(tasks, looks)
    rules: dict[str, tuple[tuple[int, ...], int | None]] = {
        "sequential": (schedule, tasks),
        "ordinary": (schedule, None),
        "once": (schedule[-1:], None),
    }
    stops: dict[str, list[Stop]] = {rule: [] for rule in rules}
    for _ in range(draws):
        experiment = draw(world, tasks, repeats, dice)
        for rule, (sizes, planned) in rules.items():
            stops[rule].append(first_firm(experiment, sizes, planned))
    return [_summary(world, rule, repeats, len(rules[rule][0]), stops[rule]) for rule in rules]


def first_firm(experiment: Draw, sizes: Sequence[int], planned_tasks: int | None) -> Stop:
    """Look after so many tasks each time, and stop at the first improvement or regression."""
    decision = Decision.INCONCLUSIVE
    for size in sizes:
        if size < MINIMUM_TASKS:
            continue
        gates = experiment.of_tasks(range(size)).gates()
        (finding,) = apply_rule([examine_candidate(gates, planned_tasks=planned_tasks)])
        decision = finding.decision
        if decision in FIRM:
            return Stop(decision=decision, tasks=size)
    return Stop(decision=decision, tasks=sizes[-1])


def _summary(world: World, rule: str, repeats: int, looks: int, stops: Sequence[Stop]) -> Looks:
    improved, regressed = (fmean(stop.decision is decision for stop in stops) for decision in FIRM)
    return Looks(
        world=world.name,
        rule=rule,
        repeats=repeats,
        looks=looks,
        draws=len(stops),
        improved=improved,
        regressed=regressed,
        stopped_after=fmean(stop.tasks for stop in stops),
    )
