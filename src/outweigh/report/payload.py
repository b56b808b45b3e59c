"""What the JSON contracts share."""

from math import isfinite
from typing import Any

from outweigh.compare.arm_summary import ArmSummary

Payload = dict[str, Any]


def finite(value: float | None) -> float | None:
    """JSON has no infinity; what is not finite is null."""
    return value if value is not None and isfinite(value) else None


def never_passes(arm: ArmSummary) -> bool:
    """Whether the arm's runs are known never to have passed."""
    return arm.pass_rate.value == 0 and arm.metrics["passed"].unknown == 0
