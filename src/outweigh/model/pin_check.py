"""A check of a pinned baseline as it is stored with the pin: the runs it made, in figures, and what it found."""

from math import log
from typing import Literal

import msgspec

from outweigh.model.base import Moment

PASSED = "passed"


class CheckedRun(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One run of a check in figures. Resources are ratios to the pinned runs of the task (their geometric mean), at
    equal prices, so that a later change of prices is no drift. What is unknown is left out.
    """

    task_id: str
    passed: float | None
    ratios: dict[str, float]

    def value(self, metric: str) -> float | None:
        """The figure that runs of a task are compared by: passed, or the log of a ratio."""
        if metric == PASSED:
            return self.passed
        ratio = self.ratios.get(metric)
        return None if ratio is None else log(ratio)


class PinCheck(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One check of a pin: the runs it made, and what they say together with those of all earlier checks.

    `evidence` is the evidence for drift by metric and over all of them; version 1 had neither that nor `outcomes`.
    """

    schema: Literal["outweigh.pin_check/1", "outweigh.pin_check/2"] = "outweigh.pin_check/2"
    checked_at: Moment
    drifted: bool
    findings: tuple[str, ...]
    runs: int
    outcomes: tuple[CheckedRun, ...] = ()
    evidence: dict[str, float] = {}
