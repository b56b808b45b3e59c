"""The page of one store: verdict, progress, tasks with the pair of runs that shows what changed, arms, spread."""

from collections.abc import Sequence
from dataclasses import dataclass

from outweigh.report.formatting import format_count, format_percent, format_seconds
from outweigh.store.experiment_file import ExperimentFile
from outweigh.web.catalogue import ViewedStore
from outweigh.web.host_overview import seen_hosts
from outweigh.web.markup import Child, Html, element, join_markup, link
from outweigh.web.pages.layout import (
    PageAddress,
    compare_link,
    format_judge_score,
    note_section,
    page_links,
    render_page,
    render_table,
    search_field,
    select_field,
    store_path,
    table_row,
    task_link,
)
from outweigh.web.pages.progress_view import progress_facts
from outweigh.web.pages.verdict_view import verdict_blocks
from outweigh.web.run_row import RunRow
from outweigh.web.store_summary import ArmCounts, JudgeMeans, StoreSummary
from outweigh.web.task_pairs import FEWER_PASSES, MORE_PASSES, SAME_PASSES, compare_passes, rows_by_task
from outweigh.web.trend import TrendTable

TASKS_PER_PAGE = 100
"""Tasks on one page."""

_ARM_COLUMNS = ("", "runs", "passed", "pass rate", "left out", "cost", "median time")
_JUDGE_COLUMN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskFilter:
    """Which tasks to list; an empty value filters nothing. `change` is how any candidate did against the baseline."""

    search_text: str = ""
    change: str = ""

    def query(self) -> dict[str, str | int]:
        """The filter as the query of an address."""
        return {"q": self.search_text, "change": self.change}


def experiment_page(store: ViewedStore, stores: Sequence[ViewedStore], wanted: TaskFilter, number: int) -> Html:
    """The page of one store; `stores` are all, for the trend."""
    store.index.refresh()
    summary, experiment = store.summary.current(), store.index.experiment()
    store.verdict()
    return render_page(
        store.name,
        (),
        None if experiment is None else element("p", _about(experiment), class_="quiet"),
        *verdict_blocks(store, TrendTable(stores)),
        progress_facts(store),
        _links(store),
        *_tasks(store, summary, wanted, number),
        element("h2", "Arms"),
        _arms(store, summary),
        *_spread(store),
        note_section("Notes", () if experiment is None else experiment.notes),
        note_section("Lines that cannot be read", _unreadable_lines(store)),
    )


def _about(experiment: ExperimentFile) -> str:
    return f"Suite {experiment.suite}, baseline {experiment.baseline}, seed {experiment.seed}."


def _links(store: ViewedStore) -> Html:
    path = store_path(store)
    hosts = link("Hosts", f"{path}/hosts", None, class_="button") if seen_hosts(store) is not None else None
    return element(
        "p",
        link("Report", f"{path}/report", None, class_="button"),
        " ",
        link("All runs", f"{path}/runs", None, class_="button"),
        " ",
        link("Search transcripts", "/search", {"in": store.key}, class_="button"),
        None if hosts is None else " ",
        hosts,
    )


def _arms(store: ViewedStore, summary: StoreSummary) -> Html:
    """The arms, with their judge scores if any run was judged."""
    judged, columns = store.judge_means.current(), list(_ARM_COLUMNS)
    if judged:
        columns.insert(_JUDGE_COLUMN, "judge score")
    rows = (_arm(store, name, summary.arms[name], judged) for name in summary.arm_order(store.baseline()))
    return render_table("Arms", columns, rows)


def _arm(store: ViewedStore, name: str, counts: ArmCounts, judged: JudgeMeans) -> Html:
    cells = [
        format_count(counts.runs),
        format_count(counts.passed),
        format_percent(counts.pass_rate),
        format_count(counts.excluded),
        counts.cost,
        format_seconds(counts.median_seconds),
    ]
    if judged:
        cells.insert(_JUDGE_COLUMN - 1, _judge_cell(judged, name))
    return table_row(link(name, f"{store_path(store)}/runs", {"arm": name}), *cells, entry=True)


def _judge_cell(judged: JudgeMeans, arm: str, task: str | None = None) -> str:
    found = judged.find(arm, task)
    return "" if found is None else format_judge_score(found.mean)


def _spread(store: ViewedStore) -> Sequence[Child]:
    drawn = store.spread.current()
    if not drawn:
        return ()
    figures = element("div", *(element("figure", drawing) for drawing in drawn), class_="pictures")
    caption = "Every run by arm. Bars are runs, the box is their middle half, the upright line is the median."
    return element("h2", "Time and cost"), element("p", caption, class_="quiet"), figures


def _tasks(store: ViewedStore, summary: StoreSummary, wanted: TaskFilter, number: int) -> Sequence[Child]:
    baseline, arms = store.baseline(), summary.arm_order(store.baseline())
    names = _task_order(summary, baseline, arms, wanted)
    last = max(1, -(-len(names) // TASKS_PER_PAGE))
    number = min(number, last)
    shown = names[(number - 1) * TASKS_PER_PAGE : number * TASKS_PER_PAGE]
    rows, judged = rows_by_task(store.index, shown), store.judge_means.current()
    table = _TaskTable(store, summary, judged)
    caption = "Runs that passed, of those with a known outcome, by arm" + (
        "; below them the mean judge score. " if judged else ". "
    )
    compare = f"“compare” puts a run of {baseline} and one of the arm side by side." if baseline in arms else ""
    return (
        element("h2", "Tasks"),
        element("p", caption + compare, class_="quiet"),
        _task_form(store, wanted) if len(summary.tasks) > 1 else None,
        render_table("Tasks", ("", *arms), (table.row(name, arms, rows[name]) for name in shown))
        if shown
        else element("p", "No task is like that. ", link("Show all", store_path(store))),
        page_links(number, last, PageAddress(store_path(store), wanted.query())),
    )


def _task_order(summary: StoreSummary, baseline: str | None, arms: Sequence[str], wanted: TaskFilter) -> list[str]:
    """The tasks on which an arm passed fewer runs first, by how many fewer, then the others by name."""
    words = wanted.search_text.casefold().split()
    found = []
    for name, counts in summary.tasks.items():
        before = counts.get(baseline or "")
        others = [counts.get(arm) for arm in arms if arm != baseline]
        changes = {compare_passes(before, each) for each in others}
        if all(word in name.casefold() for word in words) and (not wanted.change or wanted.change in changes):
            found.append((-max(0.0, *(_drop(before, each) for each in others), 0.0), name))
    return [name for _, name in sorted(found)]


def _drop(before: ArmCounts | None, after: ArmCounts | None) -> float:
    """By how much the share of passed runs is lower; 0 if that is unknown."""
    rates = [None if counts is None else counts.pass_rate for counts in (before, after)]
    return 0.0 if rates[0] is None or rates[1] is None else rates[0] - rates[1]


def _task_form(store: ViewedStore, wanted: TaskFilter) -> Html:
    return element(
        "form",
        search_field("Task", wanted.search_text),
        select_field("change", wanted.change, (FEWER_PASSES, MORE_PASSES, SAME_PASSES), label="against the baseline"),
        element("button", "Show"),
        action=store_path(store),
        method="get",
        class_="filter",
        role="search",
        aria_label="Tasks",
    )


class _TaskTable:
    """The rows of the table of tasks."""

    def __init__(self, store: ViewedStore, summary: StoreSummary, judged: JudgeMeans) -> None:
        self._store, self._summary, self._judged = store, summary, judged

    def row(self, task: str, arms: Sequence[str], rows: Sequence[RunRow]) -> Html:
        """A task with a cell for every arm."""
        return table_row(task_link(task), *(self._cell(task, arm, rows) for arm in arms), entry=True)

    def _cell(self, task: str, arm: str, rows: Sequence[RunRow]) -> Child:
        counts = self._summary.tasks[task].get(arm)
        if counts is None:
            return element("span", "–", class_="quiet")
        step = "none" if not counts.known else str(round(4 * counts.passed / counts.known))
        path, query = f"{store_path(self._store)}/runs", {"task": task, "arm": arm}
        passes = link(f"{counts.passed}/{counts.known}", path, {**query}, class_=f"heat heat-{step}")
        judge = _judge_cell(self._judged, arm, task)
        score = element("span", f"judge {judge}", class_="score") if judge else None
        compare = compare_link(self._store, task, arm, rows, self._summary.tasks[task])
        return join_markup((passes, compare, score))


def _unreadable_lines(store: ViewedStore) -> list[str]:
    more = store.index.error_count - len(store.index.errors)
    return [*store.index.errors, *([f"and {more:,} more."] if more else [])]
