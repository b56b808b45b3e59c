"""The list of a store's runs: filter form, sortable table, page links."""

from dataclasses import replace

from outweigh.report.formatting import SIMULATED, format_count, format_dollars, format_seconds
from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, element, link
from outweigh.web.pages.layout import (
    PageAddress,
    badge,
    format_judge_score,
    page_links,
    render_page,
    render_table,
    run_link,
    search_field,
    select_field,
    store_link,
    store_path,
    table_row,
)
from outweigh.web.run_listing import RUNS_PER_PAGE, RunFilter
from outweigh.web.run_row import RunRow
from outweigh.web.store_summary import StoreSummary

_COLUMNS = (
    ("run", "run"),
    ("arm", "arm"),
    ("outcome", "outcome"),
    ("judge", "judge score"),
    ("status", "status"),
    ("cost", "cost"),
    ("time", "time"),
    ("tokens", "tokens"),
)


def runs_page(store: ViewedStore, wanted: RunFilter, number: int) -> Html:
    """The filter form, the number of runs found, and one page of them."""
    store.index.refresh()
    found = len(store.listing.view(wanted))
    last = max(1, -(-found // RUNS_PER_PAGE))
    number = min(number, last)
    rows = [_row(store, row) for row in store.listing.page(wanted, number)]
    path = f"{store_path(store)}/runs"
    total = len(store.index.rows)
    shown = f"{format_count(found)} of {format_count(total)}" if found != total else format_count(total)
    columns = [column for column in _COLUMNS if column[0] != "judge" or store.index.is_judged]
    listed = render_table("Runs", [_head(path, wanted, *column) for column in columns], rows)
    return render_page(
        "Runs",
        (store_link(store),),
        _form(path, wanted, store.summary.current()),
        element("p", f"{shown} runs", role="status"),
        listed if rows else element("p", "No run is like that. ", link("Show all", path)),
        page_links(number, last, PageAddress(path, wanted.query())),
    )


def _row(store: ViewedStore, row: RunRow) -> Html:
    judge = (format_judge_score(store.index.judge_score(row.run_id)),) if store.index.is_judged else ()
    return table_row(
        run_link(store, row),
        row.arm,
        badge(row.outcome),
        *judge,
        row.status,
        SIMULATED if row.simulated else _about(row) + format_dollars(row.cost_usd),
        format_seconds(row.duration_seconds),
        _about(row) + format_count(row.tokens),
        entry=True,
    )


def _about(row: RunRow) -> str:
    return "about " if row.is_estimated else ""


def _head(path: str, wanted: RunFilter, key: str, title: str) -> Child:
    chosen = wanted.sort == key
    descending = chosen and not wanted.descending
    mark = ("▾" if wanted.descending else "▴") if chosen else None
    return link(f"{title} {mark}" if mark else title, path, replace(wanted, sort=key, descending=descending).query())


def _form(path: str, wanted: RunFilter, summary: StoreSummary) -> Html:
    return element(
        "form",
        search_field("Search", wanted.search_text),
        select_field("task", wanted.task, sorted(summary.tasks)),
        select_field("arm", wanted.arm, sorted(summary.arms)),
        select_field("outcome", wanted.outcome, ("passed", "failed", "no checks", "unknown")),
        select_field("status", wanted.status, sorted(summary.statuses)),
        _hidden("sort", wanted.sort),
        _hidden("falling", "1" if wanted.descending else ""),
        element("button", "Show"),
        action=path,
        method="get",
        class_="filter",
        role="search",
        aria_label="Runs",
    )


def _hidden(name: str, value: str) -> Html | None:
    return element("input", type="hidden", name=name, value=value) if value else None
