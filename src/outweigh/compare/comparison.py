"""Everything known about two arms side by side. A policy decides from a Comparison and nothing else."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any

import numpy as np
from msgspec import Struct, field
from msgspec.structs import replace

from outweigh.compare.arm_summary import ArmSummary, summarise
from outweigh.compare.arm_table import ArmTable, checksums_by_task, cost_provenances, estimated_runs
from outweigh.compare.change_table import keep_tasks
from outweigh.compare.composite_scores import CompositeScorer
from outweigh.compare.deltas import Delta, compute_deltas
from outweigh.compare.evidence import Evidence, SetAsideTask
from outweigh.compare.judge_agreement import judge_drift_warnings, unusable_judge_warnings
from outweigh.compare.judge_calls import JudgeCallFact
from outweigh.compare.node_use import node_warnings
from outweigh.compare.run_columns import count_values
from outweigh.compare.run_pairs import Pairing, pair_runs
from outweigh.compare.scan_summary import ArmScan, summarise_scans
from outweigh.compare.setup_summary import MOST_EXCLUDED_LISTED, SetupSummary
from outweigh.compare.setup_use import ItemUse, changed_use, use_warnings
from outweigh.compare.task_comparison import ComparedTasks, compare_tasks
from outweigh.errors import UsageError, quote_names
from outweigh.model.corrections import CorrectionSummary
from outweigh.model.run_record import AgentKind
from outweigh.score.composite import OBJECTIVE_FIRST, Profile


class Discordance(Struct, frozen=True, kw_only=True):
    """Pairs by who passed: the four cells of McNemar's table."""

    both: int
    only_baseline: int
    only_candidate: int
    neither: int
    unit: str


class Comparison(Struct, frozen=True, kw_only=True):
    """Two arms side by side. A policy decides from this and nothing else.

    `unanchored` says why the age of reused runs counts as a difference between the arms; None where it does not.
    `changed_agent` says how the agent of reused runs differs from the candidate's; None where it does not.
    `scans` are the findings of the scan for cheats by arm; empty where no run was scanned. No policy reads them.
    `changed_use` says how often the skills and tool servers were used that only the candidate has, or has otherwise.
    `triggers` are the same arms on trigger cases, where there are both such cases and others.
    `missing_shards` says which shards of a divided plan were not read; None where all were.
    `quarantine` are the tasks that the suite sets aside; nothing else here is about them. `corrections` are what files
    of corrections did, and `selected` names the compared arms whose runs someone chose by them, after the runs.
    """

    baseline: ArmSummary
    candidate: ArmSummary
    baseline_table: ArmTable
    candidate_table: ArmTable
    profile: Profile
    pairing: Pairing
    deltas: Mapping[str, Delta]
    tasks: ComparedTasks
    agent_kinds: frozenset[AgentKind]
    same_configuration: bool
    changed_tasks: tuple[str, ...]
    unequally_judged: tuple[str, ...]
    judging: Mapping[str, Sequence[JudgeCallFact]]
    skipped_lines: int
    evidence_sha256: str
    evidence_sha256_v1: str | None
    warnings: tuple[str, ...]
    composite_warnings: tuple[str, ...]
    setups: Mapping[str, SetupSummary] = field(default_factory=dict)
    changed_use: tuple[ItemUse, ...] = ()
    unanchored: str | None = None
    changed_agent: str | None = None
    scans: Mapping[str, ArmScan] = field(default_factory=dict)
    quarantine: tuple[SetAsideTask, ...] = ()
    missing_shards: str | None = None
    corrections: tuple[CorrectionSummary, ...] = ()
    selected: tuple[str, ...] = ()
    triggers: "Comparison | None" = None

    @property
    def is_of_triggers(self) -> bool:
        """Whether all runs are of trigger cases."""
        found = self._values("should_fire")
        return bool(found) and None not in found

    @property
    def simulated(self) -> bool:
        """Whether every run comes from an agent that only pretends, so that no dollar was spent."""
        return self.agent_kinds == {AgentKind.SCRIPTED}

    @property
    def without_checks(self) -> bool:
        """Whether no counted run of either arm had any check to fail."""
        return self._values("vacuous") == {True}

    @property
    def discordance(self) -> Discordance:
        """The pairs by who passed, which few policies ask for."""
        return _discordance(self.pairing)

    def _values(self, field: str) -> set[object]:
        """The values that counted runs of either arm have."""
        return {value for arm in (self.baseline_table, self.candidate_table) for value in count_values(arm.runs, field)}

    @property
    def fewest_repeats(self) -> int:
        """Counted runs of the thinnest task-arm among tasks that both arms attempted."""
        before, after = self.tasks.baseline, self.tasks.candidate
        shared = before.present & after.present
        return int(np.minimum(before.runs, after.runs)[shared].min()) if shared.any() else 0


def compare_arms(
    evidence: Evidence,
    baseline: str,
    candidate: str,
    profile: Profile = OBJECTIVE_FIRST,
    changed_skills: Sequence[str] = (),
) -> Comparison:
    """Put two arms side by side. `changed_skills` are those whose files differ, where the store knows the files."""
    arms = {name: evidence.arm(name) for name in (baseline, candidate)}
    if baseline == candidate:
        raise UsageError(f"baseline and candidate are both {baseline!r}; name two different arms.")
    composer = CompositeScorer(baseline, arms, profile, evidence.metrics)
    before, after = (
        replace(
            composer.tabulate_with_composites(name),
            superseded=evidence.superseded.get(name, ()),
            stale=evidence.stale.get(name, ()),
        )
        for name in arms
    )
    pairing = pair_runs(before, after)
    setups = {name: evidence.setups[name] for name in arms if name in evidence.setups}
    uses = [setups[name].use for name in arms if name in setups]
    used = changed_use(uses[0], uses[1], changed_skills) if len(uses) == len(arms) else ()
    asked_about_use = any(
        expected is not None for table in (before, after) for expected in _all_values(table, "should_fire")
    )
    return Comparison(
        baseline=summarise(before, evidence.changes.get(baseline, ()), evidence.components.get(baseline, ())),
        candidate=summarise(after, evidence.changes.get(candidate, ()), evidence.components.get(candidate, ())),
        baseline_table=before,
        candidate_table=after,
        profile=profile,
        pairing=pairing,
        deltas=compute_deltas(before, after, pairing),
        tasks=compare_tasks(before, after),
        agent_kinds=frozenset(kind for table in (before, after) for kind in _all_values(table, "agent_kind")),
        same_configuration=_same_configuration(before, after),
        changed_tasks=_changed_tasks(before, after),
        unequally_judged=composer.unequally_judged,
        judging={name: evidence.judging.get(name, ()) for name in arms},
        skipped_lines=len(evidence.skipped),
        evidence_sha256=evidence.sha256(baseline, candidate),
        evidence_sha256_v1=evidence.sha256_v1(baseline, candidate),
        warnings=(
            *(() if asked_about_use else use_warnings(used)),
            *evidence.warnings,
            *_warnings(before, after),
            *_excluded_attempts(setups),
            *_warned(setups),
            *node_warnings(setups),
            *unusable_judge_warnings(evidence.judge_calls(arms)),
            *composer.judging_notes,
        ),
        composite_warnings=(
            *judge_drift_warnings(arms.values(), evidence.judge_calls(arms), evidence.judge_rules),
            *composer.warnings(),
        ),
        setups=setups,
        changed_use=used,
        unanchored=next((evidence.unanchored[name] for name in arms if name in evidence.unanchored), None),
        scans=_scans(evidence, before, after),
        quarantine=evidence.quarantine,
        corrections=evidence.corrections,
        selected=tuple(name for name in arms if name in evidence.selected),
        triggers=_compare_triggers(evidence, baseline, candidate, profile),
    )


def _all_values(arm: ArmTable, field: str) -> set[Any]:
    """The values that runs have, whether or not they count."""
    return {value for runs in (arm.runs, arm.excluded) for value in count_values(runs, field)}


def _compare_triggers(evidence: Evidence, baseline: str, candidate: str, profile: Profile) -> Comparison | None:
    """The same arms on trigger cases, by the hash of all their runs; None where an arm has none of them."""
    cases = evidence.triggers
    if cases is None or not {baseline, candidate} <= cases.arms.keys():
        return None
    compared = compare_arms(cases, baseline, candidate, profile)
    return replace(
        compared,
        evidence_sha256=evidence.sha256(baseline, candidate),
        evidence_sha256_v1=evidence.sha256_v1(baseline, candidate),
    )


def _scans(evidence: Evidence, *arms: ArmTable) -> dict[str, ArmScan]:
    """The findings in counted runs; nothing where none of them was scanned."""
    counted = {arm.name: [(run.run_id, run.attempt) for run in arm.runs] for arm in arms} if evidence.scans else {}
    found = {name: summarise_scans(keys, evidence.scans) for name, keys in counted.items()}
    return found if any(arm.scanned for arm in found.values()) else {}


def keep_tasks_of(comparison: Comparison, tasks: Set[str]) -> Comparison:
    """The comparison as if only these tasks had been run; its summaries, deltas and warnings stay those of all runs."""
    before, after = (keep_tasks(table, tasks) for table in (comparison.baseline_table, comparison.candidate_table))
    return replace(
        comparison,
        baseline_table=before,
        candidate_table=after,
        pairing=pair_runs(before, after),
        tasks=compare_tasks(before, after),
    )


def _discordance(pairing: Pairing) -> Discordance:
    passed = pairing.outcomes.passed
    return Discordance(
        both=passed[1, 1],
        only_baseline=passed[1, 0],
        only_candidate=passed[0, 1],
        neither=passed[0, 0],
        unit="task" if pairing.one_pair_per_task else "pair",
    )


def _same_configuration(baseline: ArmTable, candidate: ArmTable) -> bool:
    ours, theirs = (set(count_values(arm.runs, "arm_fingerprint")) for arm in (baseline, candidate))
    return ours == theirs and len(ours) == 1 and None not in ours


def _changed_tasks(baseline: ArmTable, candidate: ArmTable) -> tuple[str, ...]:
    found = [checksums_by_task(arm) for arm in (baseline, candidate)]
    shared = found[1].keys() & found[0].keys()
    changed = {task for checksums in found for task, seen in checksums.items() if len(seen) > 1}
    changed |= {task for task in shared if found[0][task] != found[1][task]}
    return (
        tuple(task for task in dict.fromkeys((*baseline.tasks, *candidate.tasks)) if task in changed) if changed else ()
    )


def _warnings(baseline: ArmTable, candidate: ArmTable) -> Iterator[str]:
    if _same_configuration(baseline, candidate):
        yield "both arms have the same fingerprint: they are the same configuration, so any difference is noise."
    if changed := _changed_tasks(baseline, candidate):
        yield f"task {quote_names(changed)} changed between runs (its checksum differs): those runs are not comparable."
    ours, theirs = ({provenance.kind for provenance in cost_provenances(arm)} for arm in (baseline, candidate))
    if ours and theirs and ours != theirs:
        yield "the arms' costs come from different sources (metered, reported, priced); compare them with care."
    for arm in (baseline, candidate):
        if estimated := estimated_runs(arm):
            yield (
                f"the tokens of {estimated} of {len(arm.runs)} runs of {arm.name} are estimated, because answers were "
                "stopped, cut or not counted; the sensitivity of the verdict includes what they may be at most."
            )


def _excluded_attempts(setups: Mapping[str, SetupSummary]) -> Iterator[str]:
    """Which arm lost attempts, by what, with the most common reason, because a count alone does not say what to fix."""
    for arm, setup in setups.items():
        for status, number in Counter(attempt.status for attempt in setup.excluded_attempts).most_common():
            detail = setup.commonest_detail(status)
            why = "" if detail is None else f", such as: {detail}"
            most = " or more" if len(setup.excluded_attempts) == MOST_EXCLUDED_LISTED else ""
            yield f"attempts of {arm} that do not count: {number}{most} ({status.value}){why}"


def _warned(setups: Mapping[str, SetupSummary]) -> Iterator[str]:
    """Which arm's runs have warnings, with the most common one: a verdict must not look cleaner than its runs."""
    for arm, setup in setups.items():
        if setup.warned:
            words, _ = min(setup.warnings.items(), key=lambda item: (-item[1], item[0]))
            runs = sum(setup.agents.values())
            yield f"{setup.warned} of {runs} runs of {arm} have warnings, which `outweigh report` lists: {words}"
