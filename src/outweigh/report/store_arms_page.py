"""The page and the JSON of `outweigh store arms`: the arms and tasks of a store, and what was put right about them."""

from collections.abc import Sequence

from outweigh.model.corrections import CorrectionSummary
from outweigh.report.arms_table import ArmFigures, arms_blocks, arms_payload
from outweigh.report.correction_lines import corrections_payload, describe_correction
from outweigh.report.document import Block, KeyPoints, Report, Table, Tone
from outweigh.report.formatting import count_of
from outweigh.report.next_step import NextStep

MOST_TASKS = 60


def store_arms_report(
    name: str, arms: Sequence[ArmFigures], correction: CorrectionSummary | None, step: NextStep | None
) -> Report:
    """What the store has, and how to go on with it."""
    tasks = {task: [arm.name for arm in arms if task in arm.tally.tasks] for task in _all_tasks(arms)}
    blocks: list[Block] = [*arms_blocks(arms), _tasks_table(tasks)]
    said = [] if correction is None else [("Corrected", describe_correction(correction))]
    commands = {}
    if step is not None and step.command is not None:
        said.append(("Next", step.words or "compare them"))
        commands["Next"] = step.command
    if said:
        blocks.append(KeyPoints(rows=tuple(said), commands=commands))
    return Report(
        headline=f"{name}: {count_of(len(arms), 'arm')} on {count_of(len(tasks), 'task')}",
        tone=Tone.PLAIN,
        blocks=tuple(blocks),
        payload={
            "schema": "outweigh.store-arms/1",
            "store": name,
            "arms": arms_payload(arms),
            "tasks": tasks,
            "corrections": corrections_payload(() if correction is None else (correction,)),
            "next": None if step is None else step.command,
        },
    )


def _all_tasks(arms: Sequence[ArmFigures]) -> list[str]:
    return sorted(set[str]().union(*(arm.tally.tasks for arm in arms)))


def _tasks_table(tasks: dict[str, list[str]]) -> Table:
    """Every task with its arms; of very many, the JSON has all."""
    shown = list(tasks.items())[:MOST_TASKS]
    more = [(f"and {len(tasks) - MOST_TASKS:,} more (--format json lists them)", "")] if len(tasks) > MOST_TASKS else []
    return Table(
        title="Tasks", columns=("", "arms"), rows=(*((task, f"{len(names):,}") for task, names in shown), *more)
    )
