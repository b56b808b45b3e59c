"""Clusters above the tasks: a repository, a suite family."""

from collections.abc import Mapping

from outweigh.compare.arm_table import ArmTable


def families_of(baseline: ArmTable, candidate: ArmTable) -> Mapping[str, str] | None:
    """The family of every task, when the records name several; a task without a name is its own family."""
    named = {run.task_id: run.family or run.task_id for arm in (baseline, candidate) for run in arm.runs}
    families = set(named.values())
    return named if 1 < len(families) < len(named) else None
