"""The list of all stores, the page of one store (progress, arms, tasks), and the progress numbers that the page polls
while an experiment runs.
"""

from collections.abc import Sequence

import msgspec

from outweigh.report.formatting import format_count, format_dollars, format_percent, format_seconds
from outweigh.store.experiment_file import ExperimentFile
from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, element, join_markup, link
from outweigh.web.pages.layout import (
    PageAddress,
    badge,
    note_section,
    page_links,
    render_page,
    render_table,
    store_link,
    store_path,
    table_row,
)
from outweigh.web.store_summary import RunCounts, StoreSummary

_MAX_NAMED_RUNS = 3


class ProgressState(msgspec.Struct, frozen=True, kw_only=True):
    """Numbers in the words of the page, so that the page has nothing to format. `doing` says what is under way."""

    version: int
    state: str
    runs: int
    passed: int
    results: str
    cost: str
    doing: str


def progress_state(shelf: ViewedStore) -> ProgressState:
    """How things stand."""
    index = shelf.index
    whole, running, waiting = shelf.summary.now().whole, index.is_running(), index.open_attempts()
    return ProgressState(
        version=index.version,
        state="running" if running else "at rest",
        runs=whole.runs,
        passed=whole.passed,
        results=_results(whole.runs - whole.excluded, index.experiment()),
        cost=format_dollars(whole.cost_usd),
        doing=_open_attempts_text([run_id for run_id, _ in waiting], running=running),
    )


def progress_texts(state: ProgressState) -> dict[str, str | int]:
    """The same for the page's script, every value as it is shown."""
    return {
        "version": state.version,
        "state": state.state,
        "runs": format_count(state.runs),
        "passed": format_count(state.passed),
        "results": state.results,
        "cost": state.cost,
        "doing": state.doing,
    }


def _results(counted: int, experiment: ExperimentFile | None) -> str:
    """How many trials have a result, of how many: attempts that do not count are made again."""
    planned = None if experiment is None else experiment.planned_runs
    return format_count(counted) if planned is None else f"{format_count(counted)} of {format_count(planned)}"


def _open_attempts_text(waiting: list[str], *, running: bool) -> str:
    if not waiting:
        return ""
    names = ", ".join(waiting[:_MAX_NAMED_RUNS]) + (
        f" and {len(waiting) - _MAX_NAMED_RUNS:,} more" if len(waiting) > _MAX_NAMED_RUNS else ""
    )
    return f"under way: {names}" if running else f"begun and never recorded: {names}"


TASKS_PER_PAGE = 100
"""How many tasks a page shows."""

_ARM_COLUMNS = ("", "runs", "passed", "pass rate", "left out", "cost", "median time")


def experiment_page(shelf: ViewedStore, number: int) -> Html:
    """Progress, arms, tasks, and what could not be read."""
    shelf.index.refresh()
    summary, experiment = shelf.summary.now(), shelf.index.experiment()
    return render_page(
        shelf.name,
        (),
        None if experiment is None else element("p", _about(experiment)),
        _progress(shelf),
        element("p", link("All runs", f"{store_path(shelf)}/runs", None, class_="button")),
        element("h2", "Arms"),
        render_table(
            "Arms", _ARM_COLUMNS, (_arm(shelf, name, summary.arms[name]) for name in _arm_order(shelf, summary))
        ),
        *_spread(shelf),
        *_tasks(shelf, summary, number),
        note_section("Notes", () if experiment is None else experiment.notes),
        note_section("Lines that cannot be read", _unreadable_lines(shelf)),
    )


def _arm_order(shelf: ViewedStore, summary: StoreSummary) -> list[str]:
    """The arms by name, after the baseline."""
    baseline = shelf.index.baseline()
    return sorted(summary.arms, key=lambda name: (name != baseline, name))


def _about(experiment: ExperimentFile) -> str:
    return f"Suite {experiment.suite}, baseline {experiment.baseline}, seed {experiment.seed}."


def _progress(shelf: ViewedStore) -> Html:
    """Numbers that the page keeps up to date by itself."""
    state = progress_state(shelf)
    facts = (
        ("state", state.state),
        ("results", state.results),
        ("runs", format_count(state.runs)),
        ("passed", format_count(state.passed)),
        ("cost", state.cost),
    )
    cells = join_markup(
        element("div", element("dt", name), element("dd", value, data_live=name)) for name, value in facts
    )
    doing = element("p", state.doing, data_live="doing", class_="quiet")
    return element(
        "section",
        element("dl", cells, class_="facts"),
        doing,
        data_live_from=f"{store_path(shelf)}/live",
        aria_label="Progress",
    )


def _arm(shelf: ViewedStore, name: str, tally: RunCounts) -> Html:
    return table_row(
        link(name, f"{store_path(shelf)}/runs", {"arm": name}),
        format_count(tally.runs),
        format_count(tally.passed),
        format_percent(tally.pass_rate),
        format_count(tally.excluded),
        format_dollars(tally.cost_usd),
        format_seconds(tally.median_seconds),
        entry=True,
    )


def _spread(shelf: ViewedStore) -> Sequence[Child]:
    drawn = shelf.spread.now()
    if not drawn:
        return ()
    figures = element("div", *(element("figure", drawing) for drawing in drawn), class_="pictures")
    told = "Every run by arm: time and cost. Bars are runs, the box is their middle half, the upright line the median."
    return element("h2", "Spread"), element("p", told, class_="quiet"), figures


def _tasks(shelf: ViewedStore, summary: StoreSummary, number: int) -> Sequence[Child]:
    names, arms = sorted(summary.tasks), _arm_order(shelf, summary)
    last = max(1, -(-len(names) // TASKS_PER_PAGE))
    number = min(number, last)
    shown = names[(number - 1) * TASKS_PER_PAGE : number * TASKS_PER_PAGE]
    rows = (_task(shelf, summary, name, arms) for name in shown)
    return (
        element("h2", "Tasks"),
        element("p", "Runs passed of those that can be told, by arm.", class_="quiet"),
        render_table("Tasks", ("", *arms), rows),
        page_links(number, last, PageAddress(store_path(shelf), {})),
    )


def _task(shelf: ViewedStore, summary: StoreSummary, name: str, arms: Sequence[str]) -> Html:
    cells = (_cell(shelf, name, arm, summary.tasks[name].get(arm)) for arm in arms)
    return table_row(link(name, f"{store_path(shelf)}/runs", {"task": name}), *cells, entry=True)


def _cell(shelf: ViewedStore, task: str, arm: str, tally: RunCounts | None) -> Child:
    if tally is None:
        return element("span", "–", class_="quiet")
    known = tally.passed + tally.failed
    step = "none" if not known else str(round(4 * tally.passed / known))
    return link(
        f"{tally.passed}/{known}", f"{store_path(shelf)}/runs", {"task": task, "arm": arm}, class_=f"heat heat-{step}"
    )


def _unreadable_lines(shelf: ViewedStore) -> list[str]:
    more = shelf.index.fault_count - len(shelf.index.faults)
    return [*shelf.index.faults, *([f"and {more:,} more."] if more else [])]


def experiments_page(shelves: Sequence[ViewedStore]) -> Html:
    """A row per store."""
    if not shelves:
        return render_page(
            "Experiments", (), element("p", "There is no store here yet. This page shows one as soon as it begins.")
        )
    columns = ("", "suite", "state", "runs", "arms", "tasks", "pass rate", "cost")
    return render_page("Experiments", (), render_table("Experiments", columns, map(_store_row, shelves)))


def _store_row(shelf: ViewedStore) -> Html:
    shelf.index.refresh()
    summary, experiment = shelf.summary.now(), shelf.index.experiment()
    whole = summary.whole
    return table_row(
        store_link(shelf),
        "" if experiment is None else experiment.suite,
        badge("running") if shelf.index.is_running() else "at rest",
        format_count(whole.runs),
        format_count(len(summary.arms)),
        format_count(len(summary.tasks)),
        format_percent(whole.pass_rate),
        format_dollars(whole.cost_usd),
        entry=True,
    )
