"""What makes evidence unusable: reasons to decide nothing (too few tasks, unknown metrics, confounded resources), each
with a remedy.
"""

from collections.abc import Iterator, Mapping, Sequence, Set

import numpy as np
from msgspec.structs import replace

from outweigh.compare.arm_table import NO_FALSE_TRIGGER, TRIGGER_RECALL, ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import task_families
from outweigh.compare.run_columns import count_reasons
from outweigh.compare.task_alignment import align_tasks, count_shared_tasks
from outweigh.model.pricing import PRICES_NOT_INSTALLED
from outweigh.stats.sample import has_no_spread
from outweigh.verdict.confounding import cost_confounded, dollars_confounded, order_confounded
from outweigh.verdict.evidence_settings import (
    COST_OF_PASS,
    GATED_METRICS,
    JUDGE_SCORE,
    MINIMUM_TASKS,
    PASS_RATE,
    TRIGGER_GATES,
    UNKNOWN_TOLERANCE,
    UNPAIRED_TOLERANCE,
    EffectScale,
    EvidenceSettings,
)
from outweigh.verdict.gate_sample import Families, GateSample, sample_cost_of_pass, sample_gate, sample_worth

MINIMUM_FAMILIES = 5


def sample_gates(comparison: Comparison, settings: EvidenceSettings) -> tuple[GateSample, ...]:
    """The gates asked for, each with its deltas or with the reason why it cannot be judged."""
    baseline, candidate = comparison.baseline_table, comparison.candidate_table
    families, then_and_now = _families(comparison, settings), _then_and_now(comparison, settings)
    gates = [
        _checked(_sample(name, baseline, candidate, families, settings), comparison, settings, then_and_now)
        for name in _gate_names(comparison, settings)
    ]
    return tuple(_with_remedy(gate, gates, comparison) for gate in gates)


def _sample(
    name: str, baseline: ArmTable, candidate: ArmTable, families: Families | None, settings: EvidenceSettings
) -> GateSample:
    take = sample_cost_of_pass if name == COST_OF_PASS else sample_gate
    gated, tolerance = GATED_METRICS[name], settings.tolerance(name)
    return take(gated, settings.margin(name), baseline, candidate, families, tolerance)


def sample_worth_gate(comparison: Comparison, settings: EvidenceSettings) -> GateSample | None:
    """What the candidate is worth more, per task; None where nobody says what a solved task is worth."""
    if settings.value_usd is None:
        return None
    families = _families(comparison, settings)
    gate = sample_worth(settings.value_usd, *_tables(comparison), families)
    arms = [arm.name for arm in _tables(comparison) if _too_unknown(arm, "passed") or _too_unknown(arm, "cost_usd")]
    lacking = f"more than {UNKNOWN_TOLERANCE:.0%} of the runs of {' and '.join(arms)} have no passed or cost_usd"
    confounded = _unanchored(comparison, settings) or cost_confounded(*_tables(comparison))
    return replace(gate, unknown=lacking if arms else confounded)


def unusable_reasons(comparison: Comparison, gates: Sequence[GateSample], settings: EvidenceSettings) -> Iterator[str]:
    """Everything that forbids a conclusion."""
    shared, all_tasks = count_shared_tasks(comparison.baseline_table, comparison.candidate_table), len(comparison.tasks)
    if shared < MINIMUM_TASKS and not settings.fixed_suite:
        yield f"{shared} tasks have counted runs in both arms; a conclusion needs at least {MINIMUM_TASKS}"
    elif not shared:
        yield "no task has counted runs in both arms; run the same tasks in both"
    if all_tasks - shared > UNPAIRED_TOLERANCE * all_tasks:
        yield f"{all_tasks - shared} of {all_tasks} tasks have counted runs in one arm only; run them in both"
    families = _families(comparison, settings)
    if families is not None and len(set(families.values())) < MINIMUM_FAMILIES:
        yield (
            f"the tasks come from {len(set(families.values()))} families, too few to generalise to other families; "
            "add families, or limit the question to this suite with --infer runs"
        )
    if families is not None and settings.planned_tasks is not None:
        yield "a sequential verdict counts tasks, and these come in families; decide once, without --sequential"
    if (unanchored := _unanchored(comparison, settings)) is not None:
        yield unanchored
    reasons = dict.fromkeys(gate.unknown for gate in gates if gate.unknown not in (None, unanchored))
    for reason in reasons:
        names = [gate.gated.name for gate in gates if gate.unknown == reason]
        subject = f"gate {names[0]} is" if len(names) == 1 else f"gates {', '.join(names[:-1])} and {names[-1]} are"
        yield f"{subject} unknown: {reason}"


def watched_pass_rate(comparison: Comparison, settings: EvidenceSettings) -> GateSample:
    """The pass rate as a gate, whether or not it was asked for: a loss of passes is always looked for."""
    families = _families(comparison, settings)
    sample = _sample(PASS_RATE, *_tables(comparison), families, settings)
    return _checked(sample, comparison, settings)


def dropped_tasks(gate: GateSample, comparison: Comparison) -> tuple[str, ...]:
    """Tasks that both arms ran and that this gate cannot compare: its metric is missing or 0 there."""
    if len(gate.tasks) == count_shared_tasks(*_tables(comparison)):
        return ()
    shared = align_tasks(*_tables(comparison))
    kept, cases = set(gate.tasks), _cases(gate.gated.metric, comparison)
    names = (comparison.baseline_table.tasks[place] for place in shared[:, 0].tolist())
    return tuple(name for name in names if name not in kept and (cases is None or name in cases))


_EXPECTING = {TRIGGER_RECALL: True, NO_FALSE_TRIGGER: False}


def _cases(metric: str, comparison: Comparison) -> Set[str] | None:
    """The trigger cases that a metric is about; None for one that is about all tasks."""
    expected = _EXPECTING.get(metric)
    if expected is None:
        return None
    return {run.task_id for arm in _tables(comparison) for run in arm.runs if run.should_fire is expected}


def _gate_names(comparison: Comparison, settings: EvidenceSettings) -> tuple[str, ...]:
    """The gates that were named, or all that need not be; cost only where an arm knows it, or could know it.

    Where only one arm states its cost, the gate stays, so that hiding a cost does not avoid it. It also stays where
    the price list is not installed: an incomplete installation must not make a verdict more lenient.
    """
    if settings.gates is not None:
        return settings.gates
    if comparison.is_of_triggers:
        return tuple(name for name in TRIGGER_GATES if _cases(GATED_METRICS[name].metric, comparison))
    known = any(arm.known_per_task("cost_usd").sum() > 0 for arm in _tables(comparison))
    gate_cost = known or _why_not_priced(comparison) is not None
    return tuple(
        name for name, gated in GATED_METRICS.items() if not gated.only_when_named and (name != "cost" or gate_cost)
    )


def _why_not_priced(comparison: Comparison) -> str | None:
    """How to install the price list, where a run's cost is unknown only because it is missing."""
    reasons = (mapping.get("cost_usd", "") for arm in _tables(comparison) for mapping, _ in count_reasons(arm.runs))
    return next((reason for reason in reasons if PRICES_NOT_INSTALLED in reason), None)


def _families(comparison: Comparison, settings: EvidenceSettings) -> Mapping[str, str] | None:
    """The family of every task; None where there are none, or where only these very tasks are asked about."""
    return None if settings.fixed_suite else task_families(*_tables(comparison))


def _tables(comparison: Comparison) -> tuple[ArmTable, ArmTable]:
    return comparison.baseline_table, comparison.candidate_table


def _checked(
    gate: GateSample, comparison: Comparison, settings: EvidenceSettings, then_and_now: str | None = None
) -> GateSample:
    """The gate with the reason why it cannot be judged; `then_and_now` is one that speaks against every resource."""
    confounded = _why_confounded(gate, comparison, settings, then_and_now)
    why = _why_unknown(gate, comparison, settings) or confounded
    # What is confounded raises no alarm on the total either.
    total = gate.total if gate.total is None or confounded is None else replace(gate.total, unknown=confounded)
    return replace(gate, unknown=why, total=total)


def _why_confounded(
    gate: GateSample, comparison: Comparison, settings: EvidenceSettings, then_and_now: str | None
) -> str | None:
    """Why a difference may come from something else than the arms; version 1 asked that about dollars alone."""
    dollars = gate.gated.name in ("cost", COST_OF_PASS)
    if gate.gated.scale is not EffectScale.RATIO or gate.equal:
        return None
    if settings.version == 1 and (settings.fixed_suite or not dollars):
        return None
    return then_and_now or (dollars_confounded(*_tables(comparison)) if dollars else None)


def _why_unknown(gate: GateSample, comparison: Comparison, settings: EvidenceSettings) -> str | None:
    lacking = _why_missing(gate, comparison)
    if lacking is not None:
        return lacking
    if settings.fixed_suite:
        return _why_no_run_noise(gate)
    if gate.equal:
        return None
    if gate.gated.scale is EffectScale.RATIO and len(gate.benefits) > 1 and has_no_spread(gate.benefits, 1.0):
        return "every task shows exactly the same ratio, so the data do not show how far it could be off"
    total = gate.total
    if settings.version > 1 and total is not None and (len(total.benefits) < 2 or has_no_spread(total.benefits, 1.0)):
        return "its total shows no variation between tasks, so the data do not show how far it could be off"
    return None


def _then_and_now(comparison: Comparison, settings: EvidenceSettings) -> str | None:
    """Why a difference in any resource may be one between then and now."""
    return _unanchored(comparison, settings) or order_confounded(*_tables(comparison))


def _unanchored(comparison: Comparison, settings: EvidenceSettings) -> str | None:
    return comparison.unanchored if settings.version > 1 else None


def _why_missing(gate: GateSample, comparison: Comparison) -> str | None:
    """Why the metric is unknown for too many runs, or for too many tasks; None where it is not."""
    if gate.gated.name == COST_OF_PASS:
        return _why_no_cost_of_pass(gate, comparison)
    unknowing = [arm.name for arm in _tables(comparison) if _too_unknown(arm, gate.gated.metric)]
    if unknowing:
        arms = " and ".join(unknowing)
        return f"more than {UNKNOWN_TOLERANCE:.0%} of the runs of {arms} {_unknown_metric(gate, comparison)}"
    if (cases := _cases(gate.gated.metric, comparison)) is not None:
        return _why_too_few_cases(gate, cases)
    shared = count_shared_tasks(*_tables(comparison))
    if shared - len(gate.benefits) > UNPAIRED_TOLERANCE * shared:
        metric = JUDGE_SCORE if gate.gated.name == JUDGE_SCORE else gate.gated.metric
        return f"{shared - len(gate.benefits)} of {shared} tasks have no {metric} to compare (missing or 0)"
    return None


def _why_too_few_cases(gate: GateSample, cases: Set[str]) -> str | None:
    compared = len(gate.benefits)
    if len(cases) - compared > UNPAIRED_TOLERANCE * len(cases):
        return f"{len(cases) - compared} of {len(cases)} trigger cases have no run in both arms that tells"
    if compared < MINIMUM_TASKS:
        return f"{compared} trigger cases can be compared; a conclusion needs at least {MINIMUM_TASKS}"
    return None


def _why_no_cost_of_pass(gate: GateSample, comparison: Comparison) -> str | None:
    arms = [arm.name for arm in _tables(comparison) if _too_unknown(arm, "passed") or _too_unknown(arm, "cost_usd")]
    if arms:
        return f"more than {UNKNOWN_TOLERANCE:.0%} of the runs of {' and '.join(arms)} have no passed or cost_usd"
    return None if len(gate.benefits) > 1 else "an arm has no pass or no cost at all, so a pass has no cost there"


def _unknown_metric(gate: GateSample, comparison: Comparison) -> str:
    """What the runs do not know, and how to find out where there is a way."""
    if gate.gated.name == JUDGE_SCORE:
        return (
            "have no score of judges that may decide and have scored every run of the task; ask them with "
            "`outweigh judge`, or see the warnings"
        )
    if gate.gated.name in TRIGGER_GATES:
        return (
            "do not tell whether the skill fired: they are no trigger cases, their model was not told about the skill, "
            "or the agent does not show what it asked for; see `outweigh suite triggers`"
        )
    lacking = f"have no {gate.gated.metric}"
    if gate.gated.name == "cost" and (reason := _why_not_priced(comparison)) is not None:
        return f"{lacking} ({reason})"
    if gate.gated.name != PASS_RATE:
        return lacking
    judged = any(arm.known_per_task("deciding_judge_score").sum() > 0 for arm in _tables(comparison))
    by_judges = f", or decide by judges with --gates {JUDGE_SCORE}, which is another question"
    return f"{lacking}; add checks to their tasks{by_judges if judged else ''}"


def _with_remedy(gate: GateSample, gates: Sequence[GateSample], comparison: Comparison) -> GateSample:
    """For a resource that is unknown, name the gates that can decide without it, and what they then leave out."""
    known = [other.gated.name for other in gates if other.unknown is None]
    if gate.gated.scale is not EffectScale.RATIO or PASS_RATE not in known or _why_missing(gate, comparison) is None:
        return gate
    *first, last = [other.gated.name for other in gates if other.unknown is not None]
    left_out = f"{', '.join(first)} and {last}" if first else last
    remedy = f"--gates {','.join(known)} decides without it, and says nothing about {left_out}"
    return replace(gate, unknown=f"{gate.unknown}; {remedy}")


def _why_no_run_noise(gate: GateSample) -> str | None:
    if gate.noise is None or not len(gate.benefits):
        return "no task has runs in both arms"
    if min(int(arm.counts.min()) for arm in gate.noise) < 2:
        return "--infer runs needs at least 2 runs of every task in both arms"
    if not max(float(arm.variances.max()) for arm in gate.noise) > 0:
        return "no task shows any difference between its runs, so run noise cannot be estimated"
    return None


def _too_unknown(arm: ArmTable, metric: str) -> bool:
    if metric not in _EXPECTING:
        runs = len(arm.runs)
        return not runs or runs - int(arm.known_per_task(metric).sum()) > UNKNOWN_TOLERANCE * runs
    column = arm.columns[metric]
    if (expected := _EXPECTING.get(metric)) is not None:
        column = column[np.array([run.should_fire is expected for run in arm.runs], dtype=bool)]
    return not len(column) or int(np.isnan(column).sum()) > UNKNOWN_TOLERANCE * len(column)
