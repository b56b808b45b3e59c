"""The facts under the headline of a report: agent, model, tasks and repeats, dates, cost."""

from collections.abc import Iterator, Sequence
from datetime import UTC, date

from outweigh.compare.arm_table import ArmTable
from outweigh.compare.comparison import Comparison
from outweigh.model.run_record import AgentIdentity
from outweigh.report.document import KeyPoints
from outweigh.report.formatting import SIMULATED, UNKNOWN, format_dollars
from outweigh.report.setup_use_lines import describe_use

MOST_NAMED = 3


def fact_block(comparisons: Sequence[Comparison], rule: str) -> KeyPoints:
    """What ran, how often, when and for how much, over all arms of the page."""
    first, *_ = comparisons
    arms = (first.baseline_table, *(one.candidate_table for one in comparisons))
    agents = tuple(
        dict.fromkeys(agent for one in comparisons for setup in one.setups.values() for agent in setup.agents)
    )
    rows = (
        ("Agent", _named(_agent_names(agents))),
        ("Model", _named(agent.model for agent in agents if agent.model is not None)),
        ("Runs", _describe_runs(arms)),
        ("Dates", describe_dates(arms)),
        ("Cost", SIMULATED if all(one.simulated for one in comparisons) else _paid(arms)),
        ("Decided by", rule),
        *_uses(comparisons),
    )
    return KeyPoints(rows=rows, facts=True)


def _uses(comparisons: Sequence[Comparison]) -> Iterator[tuple[str, str]]:
    """Whether the skills and servers that candidates change were used, by the first few of them."""
    items = [item for one in comparisons for item in one.changed_use]
    if items:
        yield "Used", _named(map(describe_use, items))


def _agent_names(agents: Sequence[AgentIdentity]) -> Iterator[str]:
    for agent in agents:
        if agent.name is not None:
            yield " ".join(part for part in (agent.name, agent.version) if part)


def _named(names: Iterator[str]) -> str:
    found = list(dict.fromkeys(names))
    more = f" and {len(found) - MOST_NAMED} more" if len(found) > MOST_NAMED else ""
    return ", ".join(found[:MOST_NAMED]) + more if found else UNKNOWN


def _describe_runs(arms: Sequence[ArmTable]) -> str:
    tasks = len({task for arm in arms for task in arm.tasks})
    repeats = [int(number) for arm in arms for number in arm.runs_per_task()]
    runs, excluded = sum(len(arm.runs) for arm in arms), sum(len(arm.excluded) for arm in arms)
    least, most = min(repeats, default=0), max(repeats, default=0)
    times = _count(most, "repeat") if least == most else f"{least} to {_count(most, 'repeat')}"
    lost = f", {excluded} excluded" if excluded else ""
    return f"{_count(tasks, 'task')} × {times} × {len(arms)} arms = {_count(runs, 'run')}{lost}"


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" if number == 1 else f"{number:,} {noun}s"


def describe_dates(arms: Sequence[ArmTable]) -> str:
    """The first and the last day on which a run began, by UTC."""
    days = [run.started_at.astimezone(UTC).date() for arm in arms for run in arm.runs if run.started_at is not None]
    if not days:
        return UNKNOWN
    first, last = min(days), max(days)
    if first == last:
        return _day(last)
    if (first.year, first.month) == (last.year, last.month):
        return f"{first.day} to {_day(last)}"
    return f"{_day(first)} to {_day(last)}"


def _day(day: date) -> str:
    return f"{day.day} {MONTHS[day.month - 1]} {day.year}"


MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")


def _paid(arms: Sequence[ArmTable]) -> str:
    """What all attempts cost here; the part that is known where some do not know theirs."""
    costs = [attempt.paid_usd for arm in arms for attempt in arm.attempts]
    silent = costs.count(None)
    if silent == len(costs):
        return UNKNOWN
    estimated = any("cost_usd" in attempt.ranges for arm in arms for attempt in arm.attempts)
    known = f"{'about ' if estimated else ''}{format_dollars(sum(cost for cost in costs if cost is not None))}"
    return f"{known}, and {silent} attempts of unknown cost" if silent else known
