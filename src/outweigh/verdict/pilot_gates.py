"""The gates of a pilot that an experiment can be planned for, and their runs."""

from collections.abc import Sequence

import numpy as np
from msgspec import Struct

from outweigh.compare.arm_table import ArmTable, Column
from outweigh.compare.comparison import Comparison
from outweigh.compare.task_alignment import align_tasks
from outweigh.stats.sample import has_no_spread
from outweigh.verdict.evidence_settings import COST_OF_PASS, GATED_METRICS, EffectScale, EvidenceSettings
from outweigh.verdict.gate_sample import GateSample
from outweigh.verdict.gate_tests_on_arrays import GateLimits, limits_of
from outweigh.verdict.run_scatter import PilotRuns
from outweigh.verdict.unusable import sample_gates


class PlannedGates(Struct, frozen=True, kw_only=True):
    """What to simulate, and what to know about gates that cannot be or were unknown in the pilot."""

    limits: tuple[GateLimits, ...]
    notes: tuple[str, ...]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the gates."""
        return tuple(limit.name for limit in self.limits)


def gates_of_pilot(comparison: Comparison, settings: EvidenceSettings, metric: str) -> PlannedGates:
    """The gates that will decide, as far as the pilot's runs show how they vary; the metric itself in any case."""
    kept, notes = [], []
    for sample in sample_gates(comparison, settings):
        name = sample.gated.name
        if sample.equal:
            continue  # nothing is used of it in either arm, so it keeps no experiment from a decision
        if name == COST_OF_PASS:
            notes.append(f"gate {name} is left out of the simulation; it follows from passes and cost.")
        elif len(sample.benefits) < 2 or has_no_spread(sample.benefits, 1.0):
            reason = sample.unknown or "no two tasks show how it varies"
            notes.append(
                f"gate {name} is left out of the simulation: {reason}. While it is unknown nothing is decided improved."
            )
        else:
            kept.append(sample)
            if sample.unknown is not None:
                notes.append(f"gate {name} is unknown in the pilot: {sample.unknown}.")
    names = [sample.gated.name for sample in kept]
    if metric not in names:
        kept.append(_bare_gate(metric, settings))
    return PlannedGates(limits=tuple(limits_of(sample) for sample in kept), notes=tuple(notes))


def gates_without_pilot(names: Sequence[str], settings: EvidenceSettings) -> PlannedGates:
    """The named gates, held to what the settings say."""
    return PlannedGates(limits=tuple(limits_of(_bare_gate(name, settings)) for name in names), notes=())


def _bare_gate(name: str, settings: EvidenceSettings) -> GateSample:
    return GateSample(
        gated=GATED_METRICS[name],
        margin=settings.margin(name),
        tolerance=settings.tolerance(name),
        tasks=(),
        benefits=np.zeros(0),
        families=None,
        noise=None,
        unknown=None,
    )


def pilot_runs(comparison: Comparison, gates: Sequence[str]) -> PilotRuns:
    """The runs that know every gate, of tasks where both arms have such runs."""
    tables = comparison.baseline_table, comparison.candidate_table
    values = [_values(table, gates) for table in tables]
    known = [np.isfinite(columns).all(axis=1) for columns in values]
    rows = align_tasks(*tables)
    counts = [
        np.bincount(table.task_of[whole], minlength=len(table.tasks))[rows[:, arm]]
        for arm, (table, whole) in enumerate(zip(tables, known, strict=True))
    ]
    shared = rows[(counts[0] > 0) & (counts[1] > 0)]
    chosen, owners = [], []
    for arm, (table, whole) in enumerate(zip(tables, known, strict=True)):
        places = np.full(len(table.tasks), -1, dtype=np.intp)
        places[shared[:, arm]] = np.arange(len(shared))
        keep = whole & (places[table.task_of] >= 0)
        chosen.append(values[arm][keep])
        owners.append(places[table.task_of][keep])
    return PilotRuns(
        gates=tuple(gates), values=(chosen[0], chosen[1]), owners=(owners[0], owners[1]), tasks=len(shared)
    )


def _values(table: ArmTable, gates: Sequence[str]) -> Column:
    columns = []
    for name in gates:
        gated = GATED_METRICS[name]
        column = table.columns[gated.metric]
        if gated.scale is EffectScale.RATIO:
            # A zero has no logarithm, and its run tells nothing about ratios.
            column = np.log(np.where(column > 0, column, np.nan))
        columns.append(column)
    found: Column = np.stack(columns, axis=1)
    return found
