"""The page of one task over all experiments. Every row is one arm of one experiment; nothing is added up over rows."""

from collections.abc import Iterator, Sequence

from outweigh.report.formatting import format_count, format_percent, format_seconds
from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, element, join_markup, link
from outweigh.web.pages.layout import (
    PageAddress,
    badge,
    compare_link,
    format_judge_score,
    page_links,
    render_page,
    render_table,
    store_link,
    store_path,
    table_row,
)
from outweigh.web.progress import format_moment
from outweigh.web.store_summary import ArmCounts
from outweigh.web.task_pairs import rows_by_task
from outweigh.web.trend import latest_start

STORES_PER_PAGE = 50
"""Experiments on one page."""

_COLUMNS = ("", "arm", "passed", "pass rate", "judge score", "verdict", "cost", "median time", "day")


def task_page(task: str, stores: Sequence[ViewedStore], number: int) -> Html | None:
    """Every experiment that has runs of the task, the latest first; None if none has."""
    for store in stores:
        store.index.refresh()
    found = sorted(
        (store for store in stores if task in store.summary.current().tasks),
        key=lambda store: (-latest_start(store), store.name),
    )
    if not found:
        return None
    last = -(-len(found) // STORES_PER_PAGE)
    number = min(number, last)
    shown = found[(number - 1) * STORES_PER_PAGE : number * STORES_PER_PAGE]
    experiments = "1 experiment has" if len(found) == 1 else f"{format_count(len(found))} experiments have"
    return render_page(
        task,
        (),
        element("p", f"{experiments} runs of this task. Every row is one arm of one experiment.", class_="quiet"),
        *_versions_note(task, found),
        render_table("Experiments", _COLUMNS, (row for store in shown for row in _rows(task, store))),
        page_links(number, last, PageAddress("/task", {"task": task})),
    )


def _versions_note(task: str, stores: Sequence[ViewedStore]) -> Iterator[Child]:
    """Runs of different versions of a task are not comparable."""
    experiments = [store.index.experiment() for store in stores]
    checksums = {each.tasks.get(task) for each in experiments if each is not None} - {None}
    if len(checksums) > 1:
        yield element(
            "p", f"The task was changed: these experiments ran {len(checksums)} versions of it.", class_="note"
        )


def _rows(task: str, store: ViewedStore) -> Iterator[Html]:
    summary, baseline, judged = store.summary.current(), store.baseline(), store.judge_means.current()
    verdict = store.known_verdict()
    decisions = {} if verdict is None else {each.name: each.decision.words for each in verdict.candidates}
    rows = rows_by_task(store.index, [task])[task]
    counts = summary.tasks[task]
    for arm in (name for name in summary.arm_order(baseline) if name in counts):
        mean = judged.find(arm, task)
        yield table_row(
            store_link(store),
            f"{arm} (baseline)" if arm == baseline else arm,
            join_markup((_passes(store, task, arm, counts[arm]), compare_link(store, task, arm, rows, counts))),
            format_percent(counts[arm].pass_rate),
            "" if mean is None else format_judge_score(mean.mean),
            badge(decisions[arm]) if arm in decisions else "",
            counts[arm].cost,
            format_seconds(counts[arm].median_seconds),
            format_moment(summary.total.latest).partition(" ")[0],
            entry=True,
        )


def _passes(store: ViewedStore, task: str, arm: str, counts: ArmCounts) -> Html:
    return link(f"{counts.passed}/{counts.known}", f"{store_path(store)}/runs", {"task": task, "arm": arm})
