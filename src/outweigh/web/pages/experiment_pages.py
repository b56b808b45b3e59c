"""The list of all stores, the page of one store (progress, arms, tasks), and the progress numbers that the page polls
while an experiment runs.
"""

from collections.abc import Sequence

import msgspec

from outweigh.report.formatting import format_count, format_dollars, format_percent, format_seconds
from outweigh.store.experiment_file import ExperimentFile
from outweigh.web.catalogue import RunCounts, StoreSummary, ViewedStore
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

_MAX_NAMED_RUNS = 3


class ProgressState(msgspec.Struct, frozen=True, kw_only=True):
    """Progress, formatted as the page shows it. `doing` names the attempts under way."""

    version: int
    state: str
    runs: int
    passed: int
    results: str
    cost: str
    doing: str


def progress_state(store: ViewedStore) -> ProgressState:
    """The current progress of a store."""
    index = store.index
    total, running, waiting = store.summary.current().total, index.is_running(), index.open_attempts()
    return ProgressState(
        version=index.version,
        state="running" if running else "at rest",
        runs=total.runs,
        passed=total.passed,
        results=_results(total.runs - total.excluded, index.experiment()),
        cost=format_dollars(total.cost_usd),
        doing=_open_attempts_text([run_id for run_id, _ in waiting], running=running),
    )


def progress_texts(state: ProgressState) -> dict[str, str | int]:
    """Progress as the page's script expects it, every value a text to show."""
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
    """How many of the planned trials have a result; attempts that do not count are made again."""
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
"""Tasks on one page."""

_ARM_COLUMNS = ("", "runs", "passed", "pass rate", "left out", "cost", "median time")


def experiment_page(store: ViewedStore, number: int) -> Html:
    """The page of one store: progress, arms, tasks, and lines that cannot be read."""
    store.index.refresh()
    summary, experiment = store.summary.current(), store.index.experiment()
    return render_page(
        store.name,
        (),
        None if experiment is None else element("p", _about(experiment)),
        _progress(store),
        element("p", link("All runs", f"{store_path(store)}/runs", None, class_="button")),
        element("h2", "Arms"),
        render_table(
            "Arms", _ARM_COLUMNS, (_arm(store, name, summary.arms[name]) for name in _arm_order(store, summary))
        ),
        *_spread(store),
        *_tasks(store, summary, number),
        note_section("Notes", () if experiment is None else experiment.notes),
        note_section("Lines that cannot be read", _unreadable_lines(store)),
    )


def _arm_order(store: ViewedStore, summary: StoreSummary) -> list[str]:
    """The baseline first, then the other arms by name."""
    baseline = store.index.baseline()
    return sorted(summary.arms, key=lambda name: (name != baseline, name))


def _about(experiment: ExperimentFile) -> str:
    return f"Suite {experiment.suite}, baseline {experiment.baseline}, seed {experiment.seed}."


def _progress(store: ViewedStore) -> Html:
    """The numbers that the page's script keeps up to date."""
    state = progress_state(store)
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
        data_live_from=f"{store_path(store)}/live",
        aria_label="Progress",
    )


def _arm(store: ViewedStore, name: str, counts: RunCounts) -> Html:
    return table_row(
        link(name, f"{store_path(store)}/runs", {"arm": name}),
        format_count(counts.runs),
        format_count(counts.passed),
        format_percent(counts.pass_rate),
        format_count(counts.excluded),
        format_dollars(counts.cost_usd),
        format_seconds(counts.median_seconds),
        entry=True,
    )


def _spread(store: ViewedStore) -> Sequence[Child]:
    drawn = store.spread.current()
    if not drawn:
        return ()
    figures = element("div", *(element("figure", drawing) for drawing in drawn), class_="pictures")
    caption = (
        "Every run by arm: time and cost. Bars are runs, the box is their middle half, the upright line the median."
    )
    return element("h2", "Spread"), element("p", caption, class_="quiet"), figures


def _tasks(store: ViewedStore, summary: StoreSummary, number: int) -> Sequence[Child]:
    names, arms = sorted(summary.tasks), _arm_order(store, summary)
    last = max(1, -(-len(names) // TASKS_PER_PAGE))
    number = min(number, last)
    shown = names[(number - 1) * TASKS_PER_PAGE : number * TASKS_PER_PAGE]
    rows = (_task(store, summary, name, arms) for name in shown)
    return (
        element("h2", "Tasks"),
        element("p", "Runs passed of those that can be told, by arm.", class_="quiet"),
        render_table("Tasks", ("", *arms), rows),
        page_links(number, last, PageAddress(store_path(store), {})),
    )


def _task(store: ViewedStore, summary: StoreSummary, name: str, arms: Sequence[str]) -> Html:
    cells = (_cell(store, name, arm, summary.tasks[name].get(arm)) for arm in arms)
    return table_row(link(name, f"{store_path(store)}/runs", {"task": name}), *cells, entry=True)


def _cell(store: ViewedStore, task: str, arm: str, counts: RunCounts | None) -> Child:
    if counts is None:
        return element("span", "–", class_="quiet")
    known = counts.passed + counts.failed
    step = "none" if not known else str(round(4 * counts.passed / known))
    return link(
        f"{counts.passed}/{known}", f"{store_path(store)}/runs", {"task": task, "arm": arm}, class_=f"heat heat-{step}"
    )


def _unreadable_lines(store: ViewedStore) -> list[str]:
    more = store.index.error_count - len(store.index.errors)
    return [*store.index.errors, *([f"and {more:,} more."] if more else [])]


def experiments_page(stores: Sequence[ViewedStore]) -> Html:
    """The list of stores, one per row."""
    if not stores:
        return render_page(
            "Experiments", (), element("p", "There is no store here yet. This page shows one as soon as it begins.")
        )
    columns = ("", "suite", "state", "runs", "arms", "tasks", "pass rate", "cost")
    return render_page("Experiments", (), render_table("Experiments", columns, map(_store_row, stores)))


def _store_row(store: ViewedStore) -> Html:
    store.index.refresh()
    summary, experiment = store.summary.current(), store.index.experiment()
    total = summary.total
    return table_row(
        store_link(store),
        "" if experiment is None else experiment.suite,
        badge("running") if store.index.is_running() else "at rest",
        format_count(total.runs),
        format_count(len(summary.arms)),
        format_count(len(summary.tasks)),
        format_percent(total.pass_rate),
        format_dollars(total.cost_usd),
        entry=True,
    )
