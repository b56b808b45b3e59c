"""Clusters above the tasks: a repository, a suite family."""

from collections.abc import Mapping

from outweigh.compare.arm_table import ArmTable


def families_of(baseline: ArmTable, candidate: ArmTable) -> Mapping[str, str] | None:
    """The family of every task, when the records name several; a task without a name is its own family."""
    named = {run.task_id: run.family or run.task_id for arm in (baseline, candidate) for run in arm.runs}
    families = set(named.values())
    return named if 1 < len(families) < len(named) else None


def one_family(baseline: ArmTable, candidate: ArmTable) -> str | None:
    """The name of the family that all tasks belong to, where there is just one and it has a name."""
    names = {run.family for arm in (baseline, candidate) for run in arm.runs}
    return names.pop() if len(names) == 1 else None
