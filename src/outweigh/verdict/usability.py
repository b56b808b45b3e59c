"""What makes evidence unusable: reasons to say nothing at all, each with its way out."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.delta import align_tasks
from outweigh.compare.families import families_of
from outweigh.stats.sample import has_no_spread
from outweigh.verdict.confounding import cost_confounded
from outweigh.verdict.evidence_settings import (
    MINIMUM_TASKS,
    UNKNOWN_TOLERANCE,
    UNPAIRED_TOLERANCE,
    EvidenceSettings,
)
from outweigh.verdict.gate_sample import GateSample, sample_gate
from outweigh.verdict.gated_metric import GATED, JUDGE_SCORE, PASS_RATE, Scale

MINIMUM_FAMILIES = 5


def gates_of(comparison: Comparison, settings: EvidenceSettings) -> tuple[GateSample, ...]:
    """The gates asked for, each with its deltas or with the reason why it cannot be judged."""
    baseline, candidate = comparison.baseline_table, comparison.candidate_table
    families = None if settings.fixed_suite else families_of(comparison.baseline_table, comparison.candidate_table)
    gates = [
        _checked(sample_gate(GATED[name], settings.margin(name), baseline, candidate, families), comparison, settings)
        for name in _gate_names(comparison, settings)
    ]
    return tuple(_with_way_out(gate, gates, comparison) for gate in gates)


def unusable(comparison: Comparison, gates: Sequence[GateSample], settings: EvidenceSettings) -> Iterator[str]:
    """Everything that forbids a conclusion."""
    shared, all_tasks = len(align_tasks(comparison.baseline_table, comparison.candidate_table)), len(comparison.tasks)
    if shared < MINIMUM_TASKS:
        yield f"{shared} tasks have counted runs in both arms; no conclusion rests on fewer than {MINIMUM_TASKS}"
    if all_tasks - shared > UNPAIRED_TOLERANCE * all_tasks:
        yield f"{all_tasks - shared} of {all_tasks} tasks have counted runs in one arm only; run them in both"
    families = None if settings.fixed_suite else families_of(comparison.baseline_table, comparison.candidate_table)
    if families is not None and len(set(families.values())) < MINIMUM_FAMILIES:
        yield (
            f"the tasks come from {len(set(families.values()))} families, which is too few to speak of other families; "
            "add families, or ask about this suite only with --infer runs"
        )
    if families is not None and settings.planned_tasks is not None:
        yield "a sequential verdict counts tasks, and these come in families; decide once, without --sequential"
    for gate in gates:
        if gate.unknown is not None:
            yield f"gate {gate.gated.name} is unknown: {gate.unknown}"


def watched_pass_rate(comparison: Comparison, settings: EvidenceSettings) -> GateSample:
    """The pass rate as a gate, whether or not it was asked for: a loss of passes is never out of sight."""
    families = None if settings.fixed_suite else families_of(comparison.baseline_table, comparison.candidate_table)
    sample = sample_gate(
        GATED[PASS_RATE],
        settings.margin(PASS_RATE),
        comparison.baseline_table,
        comparison.candidate_table,
        families,
    )
    return _checked(sample, comparison, settings)


def dropped_tasks(gate: GateSample, comparison: Comparison) -> tuple[str, ...]:
    """Tasks that both arms ran and that this gate cannot compare: its metric is missing or 0 there."""
    shared = align_tasks(comparison.baseline_table, comparison.candidate_table)
    kept = set(gate.tasks)
    names = (comparison.baseline_table.tasks[place] for place in shared[:, 0].tolist())
    return tuple(name for name in names if name not in kept)


def _gate_names(comparison: Comparison, settings: EvidenceSettings) -> tuple[str, ...]:
    """Without a wish: all gates but those for wishes, and cost only where an arm knows any.

    A candidate that hides its cost from a baseline that states its own must not escape the gate by it.
    """
    if settings.gates is not None:
        return settings.gates
    known = any(arm.known_per_task("cost_usd").sum() > 0 for arm in _tables(comparison))
    return tuple(name for name, gated in GATED.items() if not gated.only_when_named and (name != "cost" or known))


def _tables(comparison: Comparison) -> tuple[ArmTable, ArmTable]:
    return comparison.baseline_table, comparison.candidate_table


def _checked(gate: GateSample, comparison: Comparison, settings: EvidenceSettings) -> GateSample:
    return replace(gate, unknown=_why_unknown(gate, comparison, settings))


def _why_unknown(gate: GateSample, comparison: Comparison, settings: EvidenceSettings) -> str | None:
    baseline, candidate = comparison.baseline_table, comparison.candidate_table
    lacking = _what_is_lacking(gate, comparison)
    if lacking is not None:
        return lacking
    if settings.fixed_suite:
        return _why_no_run_noise(gate)
    if gate.gated.scale is Scale.RATIO and len(gate.benefits) > 1 and has_no_spread(gate.benefits, 1.0):
        return "every task shows the very same ratio, so the data do not show how far it could be off"
    return cost_confounded(baseline, candidate) if gate.gated.name == "cost" else None


def _what_is_lacking(gate: GateSample, comparison: Comparison) -> str | None:
    """Runs, or whole tasks, that do not know the metric; too many to look away from."""
    ignorant = [arm.name for arm in _tables(comparison) if _too_unknown(arm, gate.gated.metric)]
    if ignorant:
        return f"more than {UNKNOWN_TOLERANCE:.0%} of the runs of {' and '.join(ignorant)} {_unheard(gate, comparison)}"
    shared = len(align_tasks(*_tables(comparison)))
    if shared - len(gate.benefits) > UNPAIRED_TOLERANCE * shared:
        metric = JUDGE_SCORE if gate.gated.name == JUDGE_SCORE else gate.gated.metric
        return f"{shared - len(gate.benefits)} of {shared} tasks have no {metric} to compare (missing or 0)"
    return None


def _unheard(gate: GateSample, comparison: Comparison) -> str:
    """What the runs do not know; of passes and judges, who could tell."""
    if gate.gated.name == JUDGE_SCORE:
        return (
            "have no score of judges that may decide and have scored every run of the task; ask them with "
            "`outweigh judge`, or see the warnings"
        )
    lacking = f"do not know {gate.gated.metric}"
    if gate.gated.name != PASS_RATE:
        return lacking
    judged = any(arm.known_per_task("deciding_judge_score").sum() > 0 for arm in _tables(comparison))
    by_judges = f", or go by what judges say with --gates {JUDGE_SCORE}, which asks something else"
    return f"{lacking}; give their tasks checks{by_judges if judged else ''}"


def _with_way_out(gate: GateSample, gates: Sequence[GateSample], comparison: Comparison) -> GateSample:
    """Of a resource that nobody knows: the gates that can decide without it, a weaker question that is called so."""
    known = [other.gated.name for other in gates if other.unknown is None]
    if gate.gated.scale is not Scale.RATIO or PASS_RATE not in known or _what_is_lacking(gate, comparison) is None:
        return gate
    *first, last = [other.gated.name for other in gates if other.unknown is not None]
    silent = f"{', '.join(first)} and {last}" if first else last
    way_out = f"--gates {','.join(known)} decides without it, and says nothing about {silent}"
    return replace(gate, unknown=f"{gate.unknown}; {way_out}")


def _why_no_run_noise(gate: GateSample) -> str | None:
    if gate.noise is None or not len(gate.benefits):
        return "no task has runs in both arms"
    if min(int(arm.counts.min()) for arm in gate.noise) < 2:
        return "--infer runs needs at least 2 runs of every task in both arms"
    if not max(float(arm.variances.max()) for arm in gate.noise) > 0:
        return "no task shows any difference between its runs, so run noise cannot be estimated"
    return None


def _too_unknown(arm: ArmTable, metric: str) -> bool:
    unknown = int(np.isnan(arm.columns[metric]).sum())
    return not len(arm.runs) or unknown > UNKNOWN_TOLERANCE * len(arm.runs)
