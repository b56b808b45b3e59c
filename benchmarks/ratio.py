"""What every benchmark returns."""

from dataclasses import dataclass
from typing import Literal

Better = Literal["lower", "higher"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Ratio:
    """Two measurements of one run, divided; a `target` of None means that the row is there to be read, not to be met.

    A ratio survives a slow or busy machine where seconds do not.
    """

    name: str
    measured: float
    target: float | None
    better: Better
    note: str

    @property
    def outcome(self) -> str:
        """Met, missed, or nothing to meet."""
        if self.target is None:
            return "no target"
        good_enough = self.measured <= self.target if self.better == "lower" else self.measured >= self.target
        return "met" if good_enough else "missed"

    @property
    def aim(self) -> str:
        """The target with its direction."""
        if self.target is None:
            return "–"
        return f"{'≤' if self.better == 'lower' else '≥'} {self.target:.3g}"
