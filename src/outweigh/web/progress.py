"""How far an experiment is: results, time left and spending, as the pages show and poll them."""

from datetime import UTC, datetime
from statistics import fmean

import msgspec

from outweigh.report.formatting import SIMULATED, format_count
from outweigh.web.catalogue import ViewedStore
from outweigh.web.host_overview import SeenHosts, seen_hosts
from outweigh.web.store_summary import RunTotals

RUNNING = "running"
_MAX_NAMED_RUNS = 3


class ProgressState(msgspec.Struct, frozen=True, kw_only=True):
    """Progress, formatted as the pages show it. `doing` names the attempts under way.

    `hosts` and `so_far`, what attempts under way have cost, are empty but for a run on a cluster; `hosts_version`
    changes with what the page of its hosts shows.
    """

    version: int
    state: str
    runs: str
    results: str
    time_left: str
    spent: str
    doing: str
    hosts: str = ""
    so_far: str = ""
    hosts_version: str = ""


def progress_state(store: ViewedStore) -> ProgressState:
    """The current progress of a store."""
    index = store.index
    total, running, waiting = store.summary.current().total, index.is_running(), index.open_attempts()
    planned = planned_results(store)
    counted = total.runs - total.excluded
    seen = seen_hosts(store)
    current = None if seen is None or not seen.is_current else seen
    return ProgressState(
        version=index.version,
        state=_state(counted, planned, running=running),
        runs=format_count(total.runs),
        results=format_count(counted) if planned is None else f"{format_count(counted)} of {format_count(planned)}",
        time_left=_time_left(total, planned, len(waiting)) if running else "",
        spent=total.spent,
        doing=_open_attempts_text([run_id for run_id, _ in waiting], running=running),
        hosts="" if current is None else current.summary,
        so_far="" if current is None else _so_far(current, total),
        hosts_version="" if seen is None else seen.version,
    )


def _so_far(hosts: SeenHosts, total: RunTotals) -> str:
    """What attempts under way have cost; agents that only pretend to work spend nothing."""
    is_simulated = total.spent == SIMULATED and hosts.file.spent_usd is None
    return SIMULATED if is_simulated and hosts.file.running else hosts.spent


def planned_results(store: ViewedStore) -> int | None:
    """How many trials are to have a result; attempts that do not count are made again."""
    experiment = store.index.experiment()
    return None if experiment is None else experiment.planned_runs


def _state(counted: int, planned: int | None, *, running: bool) -> str:
    if running:
        return RUNNING
    if planned is None:
        return "not running"
    return "complete" if counted >= planned else "incomplete"


def _time_left(total: RunTotals, planned: int | None, at_once: int) -> str:
    """What the missing results take at the mean duration, as many at once as now; empty if that is unknown."""
    left = 0 if planned is None else planned - (total.runs - total.excluded)
    if left <= 0 or not at_once or not total.seconds:
        return ""
    return format_time_left(left * fmean(total.seconds) / min(left, at_once))


def format_time_left(seconds: float) -> str:
    """A rough time in the unit that people would use."""
    if seconds < 90:
        return f"about {seconds:.0f} s"
    if seconds < 90 * 60:
        return f"about {seconds / 60:.0f} min"
    return f"about {seconds / 3600:.1f} h"


def format_moment(timestamp: float | None) -> str:
    """A moment to the minute; empty if it is unknown."""
    return "" if timestamp is None else f"{datetime.fromtimestamp(timestamp, UTC):%Y-%m-%d %H:%M} UTC"


def _open_attempts_text(waiting: list[str], *, running: bool) -> str:
    if not waiting:
        return ""
    names = ", ".join(waiting[:_MAX_NAMED_RUNS]) + (
        f" and {len(waiting) - _MAX_NAMED_RUNS:,} more" if len(waiting) > _MAX_NAMED_RUNS else ""
    )
    return f"under way: {names}" if running else f"begun and never recorded: {names}"
