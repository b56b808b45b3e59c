"""The tasks that a suite sets aside, as a verdict and a report state them."""

from collections.abc import Sequence

from outweigh.compare.evidence import SetAsideTask
from outweigh.errors import quote_names
from outweigh.report.document import Block, optional_bullets
from outweigh.report.formatting import pluralize
from outweigh.report.json_output import Payload

SHOWN_TASKS = 3


def describe_quarantine(tasks: Sequence[SetAsideTask]) -> str | None:
    """How many tasks are in quarantine, with their runs; None where there is none."""
    if not tasks:
        return None
    runs = sum(each.runs for each in tasks)
    names = quote_names([each.task for each in tasks], SHOWN_TASKS)
    verb, counted = ("is", "does") if len(tasks) == 1 else ("are", "do")
    dropped = f", with {pluralize(runs, 'run')} in the records" if runs else ""
    return f"{pluralize(len(tasks), 'task')} {verb} in quarantine and {counted} not count{dropped}: {names}"


def quarantine_blocks(tasks: Sequence[SetAsideTask]) -> Sequence[Block]:
    """Every task in quarantine with its reason and date; nothing where there is none."""
    return optional_bullets("Tasks in quarantine, which do not count", tuple(map(_describe, tasks)))


def _describe(each: SetAsideTask) -> str:
    runs = f"{pluralize(each.runs, 'run')} set aside" if each.runs else "not run"
    return f"{each.task} (since {each.since.isoformat()}, {runs}): {each.reason}"


def quarantine_payload(tasks: Sequence[SetAsideTask]) -> list[Payload]:
    """`quarantine` of `verdict --format json`."""
    return [
        {"task": each.task, "reason": each.reason, "since": each.since.isoformat(), "runs": each.runs} for each in tasks
    ]
