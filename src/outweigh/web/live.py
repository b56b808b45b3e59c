"""What of a store changes while an experiment runs."""

import msgspec

from outweigh.adapters.stores.experiment_file import Experiment
from outweigh.report.wording import count, dollars
from outweigh.web.catalogue import Shelf

_NAMED = 3


class LiveState(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers in the words of the page, so that the page has nothing to format. `doing` says what is under way."""

    version: int
    state: str
    runs: int
    passed: int
    results: str
    cost: str
    doing: str


def live_state(shelf: Shelf) -> LiveState:
    """How things stand."""
    index = shelf.index
    whole, running, waiting = shelf.summary.now().whole, index.is_running(), index.open_attempts()
    return LiveState(
        version=index.version,
        state="running" if running else "at rest",
        runs=whole.runs,
        passed=whole.passed,
        results=_results(whole.runs - whole.excluded, index.experiment()),
        cost=dollars(whole.cost_usd),
        doing=_doing([run_id for run_id, _ in waiting], running=running),
    )


def live_texts(state: LiveState) -> dict[str, str | int]:
    """The same for the page's script, every value as it is shown."""
    return {
        "version": state.version,
        "state": state.state,
        "runs": count(state.runs),
        "passed": count(state.passed),
        "results": state.results,
        "cost": state.cost,
        "doing": state.doing,
    }


def _results(counted: int, experiment: Experiment | None) -> str:
    """How many trials have a result, of how many: attempts that do not count are made again."""
    planned = None if experiment is None else experiment.planned_runs
    return count(counted) if planned is None else f"{count(counted)} of {count(planned)}"


def _doing(waiting: list[str], *, running: bool) -> str:
    if not waiting:
        return ""
    names = ", ".join(waiting[:_NAMED]) + (f" and {len(waiting) - _NAMED:,} more" if len(waiting) > _NAMED else "")
    return f"under way: {names}" if running else f"begun and never recorded: {names}"
