"""One page for a team: every store by suite with verdict, date, runs and spend, and what was spent by month."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence

from outweigh.report.formatting import count_of, format_count
from outweigh.report.spend_table import SPEND_COLUMNS, describe_spend, describe_unsummed, spend_rows
from outweigh.score.monthly_spend import SpendTally
from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, element, join_markup
from outweigh.web.pages.layout import badge, render_page, render_table, store_link, table_row
from outweigh.web.progress import RUNNING, format_moment
from outweigh.web.store_verdict import StoreVerdict
from outweigh.web.trend import latest_start

_COLUMNS = ("store", "verdict", "last run", "runs", "spent, judges included")
_NO_SUITE = "Records without a suite"
_LONGEST_PROBLEM = 160


def stores_page(stores: Sequence[ViewedStore], faults: Mapping[str, str]) -> Html:
    """The months first, then the suites by name; a store that is in no list because it cannot be read is named."""
    for store in stores:
        store.index.refresh()
    spend = SpendTally.merged(store.index.spend for store in stores)
    suites: dict[str, list[ViewedStore]] = defaultdict(list)
    for store in stores:
        experiment = store.index.experiment()
        suites["" if experiment is None else experiment.suite].append(store)
    names = sorted(suites, key=lambda name: (not name, name))
    return render_page(
        "All stores",
        (element("span", "All stores", aria_current="page"),),
        element("p", f"{count_of(len(stores), 'store')} of {count_of(len(suites), 'suite')}"),
        *(element("p", f"Not read: {fault}", class_="problem") for fault in faults.values()),
        *_months(spend),
        *(block for name in names for block in _suite(name, suites[name])),
    )


def _months(spend: SpendTally) -> Iterator[Html]:
    rows = [table_row(first, *cells) for first, *cells in spend_rows(spend)]
    if rows:
        yield element("h2", "Spend by month")
        yield element("p", "Every attempt, also those that do not count, and every judge. By UTC.", class_="quiet")
        yield render_table("Spend by month", SPEND_COLUMNS, rows)
    for line in describe_unsummed(spend):
        yield element("p", line, class_="quiet")


def _suite(suite: str, stores: Sequence[ViewedStore]) -> Iterator[Html]:
    """The stores of a suite, the latest first."""
    order = sorted(stores, key=lambda store: (-latest_start(store), store.name))
    yield element("h2", suite or _NO_SUITE)
    yield render_table(suite or _NO_SUITE, _COLUMNS, [_row(store) for store in order])


def _row(store: ViewedStore) -> Html:
    total = store.summary.current().total
    return table_row(
        store_link(store),
        badge(RUNNING) if store.index.is_running() else _verdict(store.verdict()),
        format_moment(total.latest) or "no date",
        format_count(total.runs),
        describe_spend(store.index.spend.total()),
        entry=True,
    )


def _verdict(verdict: StoreVerdict | None) -> Child:
    if verdict is None:
        return element("span", badge("deciding"), data_pending=True)
    if verdict.problem is not None:
        cut = verdict.problem[:_LONGEST_PROBLEM]
        return cut if cut == verdict.problem else f"{cut}…"
    return join_markup(element("div", badge(each.decision.words), " ", each.name) for each in verdict.candidates)
