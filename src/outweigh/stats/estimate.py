"""What every statistic returns: a number together with its doubts."""

from dataclasses import dataclass
from enum import StrEnum


class Unit(StrEnum):
    """What was counted as one independent observation."""

    TASK = "task"
    RUN = "run"
    PAIR = "pair"
    CLUSTER = "cluster"
    ITEM = "item"


@dataclass(frozen=True, slots=True, kw_only=True)
class Interval:
    """A confidence interval; an infinite end means that the data cannot bound that side."""

    low: float
    high: float
    level: float
    method: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Estimate:
    """A point with its interval. `None` means it cannot be known, and `warnings` says why."""

    point: float | None
    interval: Interval | None
    standard_error: float | None
    n: int
    unit: Unit
    method: str
    warnings: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Significance:
    """A p-value with what it was computed from. `None` means it cannot be known, and `warnings` says why."""

    p_value: float | None
    statistic: float | None
    n: int
    unit: Unit
    method: str
    warnings: tuple[str, ...]
