"""What forbids promotion whatever the policy: too few repeats or tasks, tasks that dropped, defects of the evidence."""

from collections.abc import Iterator

from msgspec import Struct

from outweigh.compare.arm_table import checksums_by_task, estimated_runs
from outweigh.compare.comparison import Comparison
from outweigh.compare.deltas import count_missing_runs
from outweigh.compare.run_columns import count_values
from outweigh.errors import quote_names
from outweigh.model.corrections import CORRECTIONS_FILE
from outweigh.model.failure import Status
from outweigh.model.run_record import AgentKind
from outweigh.verdict.evidence_settings import ERROR_RATES
from outweigh.verdict.task_drops import task_drops

MINIMUM_REPEATS = 5
EXCLUSION_TOLERANCE = 0.05


class PromotionMinimum(Struct, frozen=True, kw_only=True):
    """How much evidence a promotion under the evidence policy takes: so many tasks, and repeats unless there are many.

    `repeats` are not asked for where at least `tasks_instead` tasks were compared, since more tasks tell more than
    more repeats. What the suite asks for comes on top of it.
    """

    tasks: int = 12
    repeats: int = 3
    tasks_instead: int = 30
    suite_tasks: int = 0
    suite_repeats: int = 0

    def lacking(self, tasks: int, repeats: int) -> Iterator[str]:
        """What there is too little of."""
        wanted = max(self.tasks, self.suite_tasks)
        if tasks < wanted:
            by = " (set in the suite)" if self.suite_tasks > self.tasks else ""
            yield f"promotion needs at least {wanted} tasks{by}; both arms share {tasks}. Run more tasks."
        if repeats < self.repeats and tasks < self.tasks_instead:
            yield (
                f"promotion needs at least {self.repeats} counted repeats per task and arm, or {self.tasks_instead} "
                f"tasks; one task has {repeats}, and both arms share {tasks} tasks. Run more repeats or more tasks."
            )
        elif repeats < self.suite_repeats:
            yield (
                f"promotion needs at least {self.suite_repeats} counted repeats per task and arm (set in the "
                f"suite); one task has {repeats}. Run more repeats."
            )


def literal_blockers(comparison: Comparison) -> Iterator[str]:
    """Every reason, with the minimum of repeats and the tests of single tasks that the literal policies have."""
    if comparison.fewest_repeats < MINIMUM_REPEATS:
        yield (
            f"promotion needs at least {MINIMUM_REPEATS} counted repeats per task and arm (10 for noisy suites); one "
            f"task has {comparison.fewest_repeats}. Run more repeats."
        )
    if drops := task_drops(comparison.baseline_table, comparison.candidate_table, ERROR_RATES.task_alarm).supported:
        names = quote_names([drop.task_id for drop in drops])
        yield f"the candidate is worse on task {names}, by more than chance explains."
    if estimated := estimated_runs(comparison.baseline_table) + estimated_runs(comparison.candidate_table):
        yield (
            f"the tokens of {estimated} runs are estimated, and this rule cannot weigh what they may be at most. Run "
            "them again."
        )
    yield from evidence_blockers(comparison)


def evidence_blockers(comparison: Comparison) -> Iterator[str]:
    """Defects of the evidence that forbid a promotion under every policy, each with its way out."""
    tasks = comparison.tasks
    if missing := tasks.named(~tasks.candidate.present):
        yield f"the candidate has no run of task {quote_names(missing)}. Run it."
    if vacuous := tasks.named(tasks.baseline.vacuous | tasks.candidate.vacuous):
        yield f"task {quote_names(vacuous)} has no checks, so it cannot support a promotion. Add a check."
    if misapplied := [
        f"{table.name} ({count}{_why(comparison, table.name)})"
        for table in (comparison.baseline_table, comparison.candidate_table)
        if (count := count_values(table.excluded, "status")[Status.ARM_NOT_APPLIED])
    ]:
        yield (
            f"runs of {' and '.join(misapplied)} did not have the set-up that their arm declares, or had another arm's "
            "(arm_not_applied). Fix the set-up and run them again in a new store."
        )
    if unmeasured := [
        f"{arm} ({setup.past_gateway})" for arm, setup in comparison.setups.items() if setup.past_gateway
    ]:
        yield (
            f"runs of {' and '.join(unmeasured)} called a model past the gateway, so their usage was not measured and "
            'their requests were not seen. Close that path (docs/gateway.md), or set mode = "direct" for all arms, and '
            "run again."
        )
    if unreal := sorted(kind.value for kind in comparison.agent_kinds - {AgentKind.REAL}):
        yield f"the runs come from {' and '.join(unreal)} agents. Only runs of real agents can be promoted."
    if comparison.changed_agent is not None:
        yield (
            f"{comparison.changed_agent} Run the suite into another folder (-o), or pass --fresh-baseline when you run "
            "the next version."
        )
    yield from _unequal_losses(comparison)
    if twins := _same_content(comparison):
        yield f"task {quote_names(twins)} duplicates another task (equal checksums). Remove one of them."
    if comparison.same_configuration:
        yield "both arms have the same fingerprint: they are the same configuration, so any difference is noise."
    if comparison.changed_tasks:
        yield f"task {quote_names(comparison.changed_tasks)} changed between runs (its checksum differs). Run it again."
    if comparison.missing_shards is not None:
        yield comparison.missing_shards
    if comparison.selected:
        yield (
            f"runs of {quote_names(comparison.selected)} were dropped, split or merged by {CORRECTIONS_FILE} after "
            "they were made, so the choice may have been made by the results. Take those steps out, or run again."
        )
    if comparison.skipped_lines:
        yield f"{comparison.skipped_lines} lines of the records could not be read. Fix them and decide again."


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
        (ours.excluded_share, theirs.excluded_share, "to infrastructure, including retried ones"),
        (ours.absent_share, theirs.absent_share, "that the other arm has a record of"),
    ):
        if round(abs(before - after), 9) > EXCLUSION_TOLERANCE:
            yield f"the arms lost different shares of runs {what} ({before:.0%} and {after:.0%}). Run them again."


def _same_content(comparison: Comparison) -> list[str]:
    """Tasks whose checksum an earlier task has already."""
    first: dict[str, str] = {}
    twins = []
    for task, checksums in checksums_by_task(comparison.baseline_table).items():
        others = [first.setdefault(checksum, task) for checksum in sorted(checksums)]
        if any(other != task for other in others):
            twins.append(task)
    return twins
