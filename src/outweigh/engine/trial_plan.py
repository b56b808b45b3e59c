"""The order in which trials are run.

Seeded random blocks, so that neither time of day nor a warming cache favors an arm. Pure.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TypeVar

from outweigh.model.run_record import Trial

PlanItem = TypeVar("PlanItem")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A trial and its position in the order of the experiment."""

    trial: Trial
    block: int
    position: int


def plan_runs(
    tasks: Sequence[str], arms: Sequence[str], repeats: int, seed: int, *, task_by_task: bool = False
) -> tuple[PlannedRun, ...]:
    """Blocks of one task and repeat hold every arm in random order; the blocks are shuffled too.

    With `task_by_task`, all blocks of a task come before the next task: a sequential verdict counts whole tasks.
    """
    rng = random.Random(seed)
    blocks = _blocks(rng, tasks, repeats, task_by_task=task_by_task)
    order = [(block, task, repeat, arm) for block, (task, repeat) in enumerate(blocks) for arm in _shuffled(rng, arms)]
    return tuple(
        PlannedRun(
            trial=Trial(task_id=task, arm=arm, repeat=repeat, seed=trial_seed(seed, task, arm, repeat)),
            block=block,
            position=position,
        )
        for position, (block, task, repeat, arm) in enumerate(order)
    )


def trial_seed(seed: int, task: str, arm: str, repeat: int) -> int:
    """The seed of a trial; the same trial has the same seed in every order of running."""
    text = "\x1f".join((str(seed), task, arm, str(repeat)))
    return int.from_bytes(sha256(text.encode()).digest()[:6])


def _blocks(rng: random.Random, tasks: Sequence[str], repeats: int, *, task_by_task: bool) -> list[tuple[str, int]]:
    numbers = range(1, repeats + 1)
    if task_by_task:
        return [(task, repeat) for task in _shuffled(rng, tasks) for repeat in numbers]
    return _shuffled(rng, [(task, repeat) for task in tasks for repeat in numbers])


def _shuffled(rng: random.Random, items: Sequence[PlanItem]) -> list[PlanItem]:
    return rng.sample(list(items), len(items))
