"""What a study shows about its own noise: arms of one fingerprint are one configuration, so they may differ by chance
alone.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_summary import ArmSummary
from outweigh.compare.arm_table import ArmTable
from outweigh.compare.ladder_contrasts import ALPHA
from outweigh.compare.task_alignment import align_tasks
from outweigh.stats.estimate import Unit
from outweigh.stats.means import mean_interval


class ReplicateNoise(Struct, frozen=True, kw_only=True):
    """How far the replicates of one configuration lie apart.

    Ranges are the lowest and the highest value, None where one is unknown. Of all `pairs` of replicates, `called` are
    those whose quality differs by a t test over tasks at 5 %, each of them wrongly.
    """

    name: str
    arms: tuple[str, ...]
    pass_rate: tuple[float, float] | None
    quality: tuple[float, float] | None
    cost_of_pass_usd: tuple[float, float] | None
    pairs: int
    called: int


def replicate_noise(
    configurations: Mapping[str, Sequence[str]],
    summaries: Mapping[str, ArmSummary],
    tables: Mapping[str, ArmTable],
    basis: str,
) -> tuple[ReplicateNoise, ...]:
    """The noise of every configuration that has replicates."""
    return tuple(
        ReplicateNoise(
            name=name,
            arms=tuple(arms),
            pass_rate=_range([summaries[arm].pass_rate.value for arm in arms]),
            quality=_range([summaries[arm].metrics[basis].mean for arm in arms]),
            cost_of_pass_usd=_range([summaries[arm].cost_of_pass_usd.value for arm in arms]),
            pairs=len(arms) * (len(arms) - 1) // 2,
            called=sum(_differ(tables[one], tables[other], basis) for one, other in combinations(arms, 2)),
        )
        for name, arms in configurations.items()
        if len(arms) > 1
    )


def _range(values: Sequence[float | None]) -> tuple[float, float] | None:
    known = [value for value in values if value is not None]
    return (min(known), max(known)) if len(known) == len(values) else None


def _differ(one: ArmTable, other: ArmTable, basis: str) -> bool:
    rows = align_tasks(one, other)
    deltas = other.mean_per_task(basis)[rows[:, 1]] - one.mean_per_task(basis)[rows[:, 0]]
    inside = mean_interval(deltas[~np.isnan(deltas)], level=1 - ALPHA, unit=Unit.TASK).interval
    return inside is not None and (inside.low > 0 or inside.high < 0)
