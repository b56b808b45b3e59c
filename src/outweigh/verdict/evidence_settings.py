"""The promises of the evidence policy: its error rates, gates and margins. Stored with every verdict."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import get_close_matches
from math import isfinite

from outweigh.errors import UsageError
from outweigh.verdict.gated_metric import GATED

MINIMUM_TASKS = 6
UNPAIRED_TOLERANCE = 0.05
UNKNOWN_TOLERANCE = 0.05


@dataclass(frozen=True, slots=True, kw_only=True)
class ErrorRates:
    """How often each kind of mistake may happen, all one-sided.

    The alarms add up to 8 % at the very worst. Resources are only overspent beyond a margin and single tasks are
    tested exactly, so identical arms are called regressed less often; docs/calibration.md has the measured rates.
    """

    non_inferiority: float
    superiority: float
    pass_rate_alarm: float
    resource_alarm: float
    task_alarm: float


PROMISED = ErrorRates(
    non_inferiority=0.05, superiority=0.02, pass_rate_alarm=0.05, resource_alarm=0.02, task_alarm=0.01
)


@dataclass(frozen=True, slots=True, kw_only=True)
class EvidenceSettings:
    """Which gates, with which margins, over which population. `planned_tasks` is set for a sequential verdict."""

    gates: tuple[str, ...] | None
    margins: Mapping[str, float]
    fixed_suite: bool
    planned_tasks: int | None
    seed: int

    def margin(self, gate: str) -> float:
        """The margin of a gate: the user's own or the default."""
        return self.margins.get(gate, GATED[gate].margin)


def evidence_settings(
    *,
    gates: Sequence[str] | None = None,
    margins: Mapping[str, float] | None = None,
    fixed_suite: bool = False,
    planned_tasks: int | None = None,
    seed: int = 0,
) -> EvidenceSettings:
    """Check what the user asked for. No gates means the default: all, cost only where an arm knows it."""
    for name in (*(gates or ()), *(margins or {})):
        if name not in GATED:
            near = get_close_matches(name, GATED, n=1)
            hint = f" Did you mean {near[0]}?" if near else ""
            raise UsageError(f"policy evidence has no gate {name!r}; it has {', '.join(GATED)}.{hint}")
    for name, margin in (margins or {}).items():
        if not isfinite(margin) or not 0 < margin < 1:
            raise UsageError(f"margin {name} must lie between 0 and 1 (0.05 is five points, or 5 %), not {margin}.")
    if fixed_suite and planned_tasks is not None:
        raise UsageError("--sequential counts tasks and --infer runs counts runs of fixed tasks; use one of them.")
    if foreign := [name for name in margins or {} if gates is not None and name not in gates]:
        raise UsageError(f"margin {foreign[0]} belongs to a gate that is left out; name the gate too, or drop it.")
    if gates is not None and len(set(gates)) < len(gates):
        raise UsageError("a gate is named twice.")
    return EvidenceSettings(
        gates=None if gates is None else tuple(gates),
        margins=dict(margins or {}),
        fixed_suite=fixed_suite,
        planned_tasks=planned_tasks,
        seed=seed,
    )
