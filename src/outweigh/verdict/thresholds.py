"""What the composite policy tolerates."""

from dataclasses import dataclass, fields
from math import isfinite

from outweigh.errors import UsageError


@dataclass(frozen=True, slots=True, kw_only=True)
class Thresholds:
    """Net gain that counts, per-task drop that is too much, and whether any lost check is one."""

    min_composite_gain: float = 0.01
    regression_composite_drop: float = 0.05
    objective_drop_is_regression: float = 1.0

    def __post_init__(self) -> None:
        """A threshold is a finite number of at least 0; the last is a switch."""
        for field in fields(self):
            value = getattr(self, field.name)
            if not isfinite(value) or value < 0:
                raise UsageError(f"threshold {field.name} must be a number of at least 0, not {value}.")
        if self.objective_drop_is_regression not in (0, 1):
            raise UsageError("threshold objective_drop_is_regression is a switch: 1 (on) or 0 (off).")
