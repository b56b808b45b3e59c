"""The order in which trials are run.

Seeded random blocks, so that neither time of day nor a warming cache favors an arm. Pure.
"""

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import TypeVar

from outweigh.model.run_record import Trial
from outweigh.model.shard import Shard

PlanItem = TypeVar("PlanItem")


@dataclass(frozen=True, slots=True, kw_only=True)
class PlannedRun:
    """A trial and its position in the order of the experiment."""

    trial: Trial
    block: int
    position: int


def run_id_of(trial: Trial, attempt: int) -> str:
    """The id of an attempt: readable, and unique within a store."""
    return f"{trial.task_id}/{trial.arm}/{trial.repeat}#{attempt}"


def plan_runs(
    tasks: Sequence[str],
    arms: Sequence[str],
    repeats: int | Mapping[str, int],
    seed: int,
    *,
    task_by_task: bool = False,
) -> tuple[PlannedRun, ...]:
    """Blocks of one task and repeat hold every arm in random order; the blocks are shuffled too.

    `repeats` is one number, or one for each arm: then a block lacks the arms that have no such repeat. With
    `task_by_task`, all blocks of a task come before the next task: a sequential verdict counts whole tasks.
    """
    rng = random.Random(seed)
    of_arm = dict.fromkeys(arms, repeats) if isinstance(repeats, int) else repeats
    blocks = _blocks(rng, tasks, max(of_arm[arm] for arm in arms), task_by_task=task_by_task)
    order = [
        (block, task, repeat, arm)
        for block, (task, repeat) in enumerate(blocks)
        for arm in _shuffled(rng, [arm for arm in arms if repeat <= of_arm[arm]])
    ]
    return tuple(
        PlannedRun(
            trial=Trial(task_id=task, arm=arm, repeat=repeat, seed=trial_seed(seed, task, arm, repeat)),
            block=block,
            position=position,
        )
        for position, (block, task, repeat, arm) in enumerate(order)
    )


def add_arm_runs(
    plan: Sequence[PlannedRun], arm: str, more: Mapping[str, Sequence[int]], seed: int
) -> tuple[PlannedRun, ...]:
    """The plan with more repeats of one arm, each in a random block of its task, so that they run among the others.

    `more` are the numbers of the repeats by task; those that the plan has already are not added twice.
    """
    rng = random.Random(seed)
    planned = {run.trial.key for run in plan}
    blocks: dict[int, list[PlannedRun]] = {}
    for run in plan:
        blocks.setdefault(run.block, []).append(run)
    of_task: dict[str, list[int]] = {}
    for number, runs in blocks.items():
        of_task.setdefault(runs[0].trial.task_id, []).append(number)
    for task, repeats in more.items():
        for repeat in repeats:
            trial = Trial(task_id=task, arm=arm, repeat=repeat, seed=trial_seed(seed, task, arm, repeat))
            if trial.key not in planned and task in of_task:
                block = rng.choice(of_task[task])
                place = rng.randrange(len(blocks[block]) + 1)
                blocks[block].insert(place, PlannedRun(trial=trial, block=block, position=0))
    order = [run for runs in blocks.values() for run in runs]
    return tuple(replace(run, position=position) for position, run in enumerate(order))


def shard_runs(plan: Sequence[PlannedRun], shard: Shard) -> tuple[PlannedRun, ...]:
    """The part of a plan that is one shard: whole blocks, so that arms are still compared side by side.

    Blocks are in random order already, so every so-manyth is a fair part of the tasks and of the repeats.
    """
    return tuple(run for run in plan if run.block % shard.count == shard.index - 1)


def plan_sha256(plan: Sequence[PlannedRun]) -> str:
    """A hash of all trials of a plan, their seeds and their order."""
    lines = (f"{run.block}\x1f{run.trial.seed}\x1f" + "\x1f".join(map(str, run.trial.key)) for run in plan)
    return sha256("\n".join(lines).encode()).hexdigest()


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
