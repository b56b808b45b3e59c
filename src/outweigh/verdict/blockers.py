"""What forbids promotion whatever the policy: tasks that dropped beyond chance, and defects of the evidence."""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from math import comb

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import count_missing_runs
from outweigh.errors import quote_names
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind
from outweigh.stats.estimate import Alternative, Unit
from outweigh.stats.hypothesis_tests import adjust_benjamini_hochberg, mann_whitney_test
from outweigh.verdict.decision import Regression, RegressionKind
from outweigh.verdict.evidence_settings import ERROR_RATES

MINIMUM_RUNS = 5
Outcomes = dict[str, list[float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskDrops:
    """Drops that repeats support, and tasks whose drop may be chance."""

    supported: tuple[Regression, ...]
    unsupported: tuple[str, ...]


def task_drops(baseline: ArmTable, candidate: ArmTable, alpha: float) -> TaskDrops:
    """Test every task with enough repeats for a drop of its objective, and correct over tasks."""
    before, after = _outcomes(baseline), _outcomes(candidate)
    dropped = [task for task in before if task in after and _mean(after[task]) < _mean(before[task])]
    tested = {
        task: drop_p_value(before[task], after[task])
        for task in before.keys() & after.keys()
        if min(len(before[task]), len(after[task])) >= MINIMUM_RUNS
    }
    adjusted = dict(zip(tested, adjust_benjamini_hochberg(list(tested.values())), strict=True)) if tested else {}
    supported = tuple(
        Regression(
            kind=RegressionKind.OBJECTIVE_DROP,
            task_id=task,
            detail=f"task {task!r}: objective fell from {_mean(before[task]):.2f} to {_mean(after[task]):.2f} "
            f"(adjusted p {adjusted[task]:.2g})",
        )
        for task in dropped
        if adjusted.get(task, 1.0) <= alpha
    )
    supported_tasks = {item.task_id for item in supported}
    return TaskDrops(supported=supported, unsupported=tuple(task for task in dropped if task not in supported_tasks))


def drop_p_value(before: Sequence[float], after: Sequence[float]) -> float:
    """Exact one-sided test that `after` is worse: Fisher's for pass and fail, ranks for shares of checks."""
    if all(value in (0.0, 1.0) for value in (*before, *after)):
        return fisher_drop_p(len(before), int(sum(before)), len(after), int(sum(after)))
    p_value = mann_whitney_test(after, before, alternative=Alternative.LESS, unit=Unit.RUN).p_value
    return 1.0 if p_value is None else p_value


@cache
def fisher_drop_p(runs_before: int, passes_before: int, runs_after: int, passes_after: int) -> float:
    """Chance of so few passes after, if all passes were dealt to the runs at random."""
    runs, passes = runs_before + runs_after, passes_before + passes_after
    ways = sum(
        comb(passes, hits) * comb(runs - passes, runs_after - hits)
        for hits in range(max(0, runs_after - (runs - passes)), passes_after + 1)
    )
    return ways / comb(runs, runs_after)


def _outcomes(arm: ArmTable) -> Outcomes:
    """The objective of every counted run; one that ended in a crash or a timeout before its checks achieved nothing."""
    found: Outcomes = defaultdict(list)
    for run in arm.runs:
        if run.vacuous:
            continue
        if run.objective is not None:
            found[run.task_id].append(run.objective)
        elif run.status is not Status.COMPLETED:
            found[run.task_id].append(0.0)
    return dict(found)


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


MINIMUM_REPEATS = 5
EXCLUSION_TOLERANCE = 0.05


def blockers(comparison: Comparison) -> tuple[str, ...]:
    """Every reason, each with its way out."""
    return tuple(_reasons(comparison))


def _reasons(comparison: Comparison) -> Iterator[str]:
    if comparison.fewest_repeats < MINIMUM_REPEATS:
        yield (
            f"promotion needs at least {MINIMUM_REPEATS} counted repeats per task and arm (10 for noisy suites); the "
            f"thinnest has {comparison.fewest_repeats}. Run more repeats."
        )
    if drops := task_drops(comparison.baseline_table, comparison.candidate_table, ERROR_RATES.task_alarm).supported:
        yield f"the candidate is worse on task {quote_names([drop.task_id for drop in drops])}, beyond chance."
    if missing := [task.task_id for task in comparison.tasks if not task.candidate.present]:
        yield f"task {quote_names(missing)} was never run by the candidate. Run it there too."
    if vacuous := [task.task_id for task in comparison.tasks if task.baseline.vacuous or task.candidate.vacuous]:
        yield f"task {quote_names(vacuous)} asserts nothing (no checks), so it supports no promotion. Give it a check."
    if misapplied := [
        f"{table.name} ({count}{_why(comparison, table.name)})"
        for table in (comparison.baseline_table, comparison.candidate_table)
        if (count := sum(run.status is Status.ARM_NOT_APPLIED for run in table.excluded))
    ]:
        yield (
            f"runs of {' and '.join(misapplied)} did not have what their arm declares, or had what another arm does "
            "(arm_not_applied). Mend the set-up and run them again in a new store."
        )
    if unmeasured := [
        f"{arm} ({setup.past_gateway})" for arm, setup in comparison.setups.items() if setup.past_gateway
    ]:
        yield (
            f"runs of {' and '.join(unmeasured)} used a model past the gateway, so nobody measured what they took, or "
            'saw what they sent. Close that way (docs/gateway.md), or measure no arm (mode = "direct"), and run again.'
        )
    if unreal := sorted(kind.value for kind in comparison.agent_kinds - {AgentKind.REAL}):
        yield f"the runs come from {' and '.join(unreal)} agents. Only real agents can earn a promotion."
    yield from _unequal_losses(comparison)
    if twins := _same_content(comparison):
        yield f"task {quote_names(twins)} is another task under a second name (equal checksums). Count it once."
    if comparison.same_configuration:
        yield "both arms have the same fingerprint: they are one configuration, and any difference is noise."
    if comparison.changed_tasks:
        yield f"task {quote_names(comparison.changed_tasks)} changed between runs (its checksum did). Run it again."
    if comparison.skipped_lines:
        yield f"{comparison.skipped_lines} lines of the records could not be read. Mend them and decide again."


def _why(comparison: Comparison, arm: str) -> str:
    """What was wrong with most runs that were not their arm's: the blocker must say what there is to mend."""
    setup = comparison.setups.get(arm)
    detail = None if setup is None else setup.commonest_detail(Status.ARM_NOT_APPLIED)
    return "" if detail is None else f", such as: {detail}"


def _unequal_losses(comparison: Comparison) -> Iterator[str]:
    """What one arm lost and the other did not may be just the runs that would have failed."""
    baseline, candidate = comparison.baseline_table, comparison.candidate_table
    ours, theirs = count_missing_runs(baseline, candidate), count_missing_runs(candidate, baseline)
    for before, after, what in (
        (ours.excluded_share, theirs.excluded_share, "to infrastructure, retried ones included"),
        (ours.absent_share, theirs.absent_share, "that the other arm has a record of"),
    ):
        if round(abs(before - after), 9) > EXCLUSION_TOLERANCE:
            yield f"the arms lost different shares of runs {what} ({before:.0%} and {after:.0%}). Run them again."


def _same_content(comparison: Comparison) -> list[str]:
    """Tasks whose checksum an earlier task has already."""
    first: dict[str, str] = {}
    for run in comparison.baseline_table.runs:
        if run.task_checksum is not None:
            first.setdefault(run.task_checksum, run.task_id)
    return list(
        dict.fromkeys(
            run.task_id
            for run in comparison.baseline_table.runs
            if run.task_checksum is not None and first[run.task_checksum] != run.task_id
        )
    )
