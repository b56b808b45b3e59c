"""The order of runs where arms inherit the best of lower tiers: tier by tier, in stages. Pure.

A stage begins when the arms that its inheriting arms are built on are chosen. Tiers that are chosen from are repeated
as often again, in the stage of the first arm that inherits from them, and only those repeats are reported. One arm of
the first tier is in every block of every stage, so that a drift over time shows.
"""

import random
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from outweigh.engine.trial_plan import PlannedRun, trial_seed
from outweigh.model.run_record import Trial
from outweigh.model.tiers import InheritSpec


@dataclass(frozen=True, slots=True, kw_only=True)
class StagedArms:
    """The arms of a suite in their order, with what the order of running depends on.

    `tiers` has None for an arm without a tier; `inherits` are the inheriting arms; `repeats` is how often each arm is
    run for one purpose, and `baseline` the suite's.
    """

    tiers: Mapping[str, int | None]
    inherits: Mapping[str, InheritSpec]
    repeats: Mapping[str, int]
    baseline: str

    def candidates(self, arm: str) -> tuple[str, ...]:
        """The arms that an inheriting arm may be built on."""
        return tuple(name for name, tier in self.tiers.items() if tier in self.inherits[arm].best_of)

    @property
    def choosing_repeats(self) -> dict[str, int]:
        """How many repeats of each arm are only for choosing: those of tiers that are chosen from, and held out."""
        tiers = {tier for spec in self.inherits.values() if spec.held_out for tier in spec.best_of}
        return {arm: self.repeats[arm] for arm, tier in self.tiers.items() if tier in tiers}

    @property
    def anchor(self) -> str | None:
        """The arm of the first tier that is in every block: the baseline where it is one of them, else the first."""
        known = [tier for tier in self.tiers.values() if tier is not None]
        first = [arm for arm, tier in self.tiers.items() if known and tier == min(known)]
        return self.baseline if self.baseline in first else next(iter(first), None)


@dataclass(frozen=True, slots=True, kw_only=True)
class TierStage:
    """Runs that are made among each other: the repeats of each arm, and the arms that must be chosen for first."""

    repeats: Mapping[str, Sequence[int]]
    inheriting: tuple[str, ...]


def plan_stages(arms: StagedArms) -> tuple[TierStage, ...]:
    """The stages in their order; a single one where no arm inherits."""
    stage_of = _stages_of_arms(arms)
    numbered: Counter[str] = Counter()
    stages = []
    for stage in range(max(stage_of.values(), default=0) + 1):
        counts = {arm: arms.repeats[arm] for arm in arms.tiers if stage_of[arm] == stage}
        counts |= {
            arm: number for arm, number in arms.choosing_repeats.items() if _held_out(arm, arms, stage_of) == stage
        }
        if arms.inherits and (anchor := arms.anchor) is not None:
            counts[anchor] = max((*counts.values(), counts.get(anchor, 0)))
        repeats = {
            arm: range(numbered[arm] + 1, numbered[arm] + counts[arm] + 1) for arm in arms.tiers if arm in counts
        }
        numbered.update(counts)
        inheriting = tuple(arm for arm in arms.inherits if stage_of[arm] == stage)
        stages.append(TierStage(repeats=repeats, inheriting=inheriting))
    return tuple(stages)


def _stages_of_arms(arms: StagedArms) -> dict[str, int]:
    """All arms of a tier are in one stage, and no tier is in an earlier one than a tier below it."""
    stages: dict[int | None, int] = {None: 0}
    reached = 0
    for tier in sorted({tier for tier in arms.tiers.values() if tier is not None}):
        for arm, spec in arms.inherits.items():
            if arms.tiers[arm] == tier:
                reached = max(reached, 1 + max((stages.get(below, 0) for below in spec.best_of), default=0))
        stages[tier] = reached
    return {arm: stages[tier] for arm, tier in arms.tiers.items()}


def _held_out(arm: str, arms: StagedArms, stage_of: Mapping[str, int]) -> int | None:
    """The stage of the held-out repeats of an arm: that of the first arm that inherits from its tier."""
    tier = arms.tiers[arm]
    return min((stage_of[name] for name, spec in arms.inherits.items() if tier in spec.best_of), default=None)


def plan_stage_runs(tasks: Sequence[str], stages: Sequence[TierStage], seed: int) -> tuple[tuple[PlannedRun, ...], ...]:
    """The runs of every stage. Blocks of one task hold one repeat of every arm of the stage, in random order."""
    planned: list[tuple[PlannedRun, ...]] = []
    block = position = 0
    for number, stage in enumerate(stages):
        rng = random.Random(trial_seed(seed, "stage", str(number), 0))
        runs = []
        for task, trials in _shuffled_blocks(rng, tasks, stage):
            for arm, repeat in trials:
                trial = Trial(task_id=task, arm=arm, repeat=repeat, seed=trial_seed(seed, task, arm, repeat))
                runs.append(PlannedRun(trial=trial, block=block, position=position))
                position += 1
            block += 1
        planned.append(tuple(runs))
    return tuple(planned)


def _shuffled_blocks(
    rng: random.Random, tasks: Sequence[str], stage: TierStage
) -> Iterable[tuple[str, list[tuple[str, int]]]]:
    most = max(map(len, stage.repeats.values()), default=0)
    blocks = [(task, place) for task in tasks for place in range(most)]
    rng.shuffle(blocks)
    for task, place in blocks:
        trials = [(arm, numbers[place]) for arm, numbers in stage.repeats.items() if place < len(numbers)]
        rng.shuffle(trials)
        yield task, trials
