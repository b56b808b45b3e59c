"""The first page: every experiment with its verdict, and what is running now."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from outweigh.report.formatting import format_count
from outweigh.verdict.decision import Decision
from outweigh.web.catalogue import ViewedStore
from outweigh.web.host_overview import seen_hosts
from outweigh.web.markup import Html, build_url, element, link
from outweigh.web.pages.layout import (
    PageAddress,
    page_links,
    render_page,
    search_field,
    select_field,
    store_link,
    store_path,
)
from outweigh.web.pages.progress_view import progress_facts
from outweigh.web.pages.verdict_view import MAX_CANDIDATES, verdict_blocks
from outweigh.web.progress import format_moment
from outweigh.web.trend import TrendTable, latest_start

EXPERIMENTS_PER_PAGE = 20
"""Experiments on one page."""

_RUNNING = "running"


@dataclass(frozen=True, slots=True, kw_only=True)
class ExperimentFilter:
    """Which experiments to list; an empty value filters nothing. `shown` is a decision, or `running`."""

    search_text: str = ""
    shown: str = ""

    def query(self) -> dict[str, str | int]:
        """The filter as the query of an address."""
        return {"q": self.search_text, "show": self.shown}

    def takes(self, store: ViewedStore) -> bool:
        """Whether a store is listed."""
        experiment = store.index.experiment()
        names = f"{store.name} {'' if experiment is None else experiment.suite}".casefold()
        if not all(word in names for word in self.search_text.casefold().split()):
            return False
        if not self.shown:
            return True
        if self.shown == _RUNNING:
            return store.index.is_running()
        verdict = store.verdict()
        return verdict is not None and any(each.decision.words == self.shown for each in verdict.candidates)


def home_page(stores: Sequence[ViewedStore], wanted: ExperimentFilter, number: int) -> Html:
    """What is running first, then the experiments, the latest first."""
    if not stores:
        return render_page(
            "Experiments", (), element("p", "There is no store here yet. This page shows one as soon as it begins.")
        )
    for store in stores:
        store.index.refresh()
    running = {store.key for store in stores if store.index.is_running()}
    found = sorted(
        filter(wanted.takes, stores),
        key=lambda store: (store.key not in running, -latest_start(store), store.name),
    )
    last = max(1, -(-len(found) // EXPERIMENTS_PER_PAGE))
    number = min(number, last)
    shown = found[(number - 1) * EXPERIMENTS_PER_PAGE : number * EXPERIMENTS_PER_PAGE]
    # Asked for before the trends are made, so that what is known is in them.
    for store in shown:
        store.verdict()
    trends = TrendTable(stores)
    return render_page(
        "Experiments",
        (),
        _form(wanted),
        *(_experiment(store, trends, running=store.key in running) for store in shown),
        None if found else element("p", "No experiment is like that. ", link("Show all", "/")),
        page_links(number, last, PageAddress("/", wanted.query())),
    )


def _form(wanted: ExperimentFilter) -> Html:
    return element(
        "form",
        search_field("Experiment or suite", wanted.search_text),
        select_field("show", wanted.shown, (_RUNNING, *(decision.words for decision in Decision)), label="verdict"),
        element("button", "Show"),
        link("All suites over time", "/history"),
        " ",
        link("All stores, and spend by month", "/stores"),
        action="/",
        method="get",
        class_="filter",
        role="search",
        aria_label="Experiments",
    )


def _experiment(store: ViewedStore, trends: TrendTable, *, running: bool) -> Html:
    experiment = store.index.experiment()
    return element(
        "article",
        element("h2", store_link(store)),
        element("p", " · ".join(_facts(store)), class_="quiet"),
        progress_facts(store) if running else None,
        *verdict_blocks(store, trends, MAX_CANDIDATES),
        element(
            "p",
            None if running else link("Report", f"{store_path(store)}/report"),
            " ",
            link("Runs", f"{store_path(store)}/runs"),
            " ",
            link("Hosts", f"{store_path(store)}/hosts") if running and seen_hosts(store) is not None else None,
            " ",
            None if experiment is None else link("Over time", build_url("/history", {"suite": experiment.suite})),
            class_="links",
        ),
        class_="experiment",
        data_entry=True,
    )


def _facts(store: ViewedStore) -> Iterator[str]:
    summary, experiment = store.summary.current(), store.index.experiment()
    if experiment is not None:
        yield f"suite {experiment.suite}"
    if shards := store.index.shards():
        yield f"shard {', '.join(shards)} alone"
    if moment := format_moment(summary.total.latest):
        yield moment
    arms = ", ".join(summary.arm_order(store.baseline())[:MAX_CANDIDATES])
    yield f"{format_count(len(summary.tasks))} tasks, {len(summary.arms)} arms ({arms})"
    yield f"{format_count(summary.total.runs)} runs"
    yield summary.total.spent
