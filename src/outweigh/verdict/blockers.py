"""What stands between an improvement and its promotion, whatever the policy."""

from collections.abc import Iterator

from outweigh.compare.comparison import Comparison
from outweigh.compare.losses import losses_of
from outweigh.errors import name_some
from outweigh.record.run_record import AgentKind
from outweigh.record.status import Status
from outweigh.verdict.evidence_settings import PROMISED
from outweigh.verdict.task_drops import task_drops

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
    if drops := task_drops(comparison.baseline_table, comparison.candidate_table, PROMISED.task_alarm).supported:
        yield f"the candidate is worse on task {name_some([drop.task_id for drop in drops])}, beyond chance."
    if missing := [task.task_id for task in comparison.tasks if task.baseline.present and not task.candidate.present]:
        yield f"task {name_some(missing)} was never run by the candidate. Run it there too."
    if vacuous := [task.task_id for task in comparison.tasks if task.baseline.vacuous or task.candidate.vacuous]:
        yield f"task {name_some(vacuous)} asserts nothing (no checks), so it supports no promotion. Give it a check."
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
        f"{arm} ({sight.past_gateway})" for arm, sight in comparison.sightings.items() if sight.past_gateway
    ]:
        yield (
            f"runs of {' and '.join(unmeasured)} used a model past the gateway, so nobody measured what they took, or "
            'saw what they sent. Close that way (docs/gateway.md), or measure no arm (mode = "direct"), and run again.'
        )
    if unreal := sorted(kind.value for kind in comparison.agent_kinds - {AgentKind.REAL}):
        yield f"the runs come from {' and '.join(unreal)} agents. Only real agents can earn a promotion."
    yield from _unequal_losses(comparison)
    if twins := _same_content(comparison):
        yield f"task {name_some(twins)} is another task under a second name (equal checksums). Count it once."
    if comparison.same_configuration:
        yield "both arms have the same fingerprint: they are one configuration, and any difference is noise."
    if comparison.changed_tasks:
        yield f"task {name_some(comparison.changed_tasks)} changed between runs (its checksum did). Run it again."
    if comparison.skipped_lines:
        yield f"{comparison.skipped_lines} lines of the records could not be read. Mend them and decide again."


def _why(comparison: Comparison, arm: str) -> str:
    """What was wrong with most runs that were not their arm's: the blocker must say what there is to mend."""
    sighting = comparison.sightings.get(arm)
    detail = None if sighting is None else sighting.commonest_detail(Status.ARM_NOT_APPLIED)
    return "" if detail is None else f", such as: {detail}"


def _unequal_losses(comparison: Comparison) -> Iterator[str]:
    """What one arm lost and the other did not may be just the runs that would have failed."""
    baseline, candidate = comparison.baseline_table, comparison.candidate_table
    ours, theirs = losses_of(baseline, candidate), losses_of(candidate, baseline)
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
