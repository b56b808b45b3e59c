"""The hosts of a run on a cluster: which there are, what each makes, and what that has cost so far."""

from collections.abc import Sequence
from datetime import UTC, datetime
from math import fsum

from outweigh.report.formatting import count_of, format_count, format_dollars, format_seconds
from outweigh.store.hosts_file import HostedAttempt, SeenHost
from outweigh.web.catalogue import ViewedStore
from outweigh.web.host_overview import SeenHosts, format_unfinished_cost, host_words, seen_hosts, state_words
from outweigh.web.markup import Child, Html, element, join_markup
from outweigh.web.pages.layout import (
    PageAddress,
    badge,
    page_links,
    render_page,
    render_table,
    store_link,
    store_path,
    table_row,
    task_link,
)
from outweigh.web.pages.progress_view import progress_facts

HOSTS_SHOWN = 200
"""So many hosts are listed, what needs attention first."""
ATTEMPTS_PER_PAGE = 100

_HOST_COLUMNS = ("host", "state", "runs now", "so far")
_ATTEMPT_COLUMNS = ("task", "host", "arm", "repeat", "attempt", "for", "so far")


def hosts_page(store: ViewedStore, number: int) -> Html:
    """Both tables as of one moment; the script loads the page again when something has changed."""
    store.index.refresh()
    seen = seen_hosts(store)
    if seen is None:
        words = "No run on a cluster is at work here. While `outweigh run --executor dask` is, its hosts are listed."
        return render_page("Hosts", (store_link(store),), element("p", words))
    return render_page(
        "Hosts",
        (store_link(store),),
        progress_facts(store),
        element("p", " ".join(state_words(seen)), class_="quiet" if seen.is_current else "note"),
        element("section", *_hosts(seen), data_hosts=seen.version),
        *_attempts(store, seen, number),
    )


def _hosts(seen: SeenHosts) -> Sequence[Child]:
    shown, labels, file = seen.file.hosts[:HOSTS_SHOWN], seen.labels, seen.file
    if not shown:
        return (element("p", "No host has come yet."),)
    costs: dict[int, list[float | None]] = {}
    for each in file.attempts:
        costs.setdefault(each.host, []).append(each.cost_usd)
    rows = (
        table_row(
            _host(labels[number], host),
            badge(host.condition.value),
            f"{host.running:,} of {host.slots:,}" if host.slots else format_count(host.running),
            _sum(costs.get(number, []), host.running),
            entry=True,
        )
        for number, host in enumerate(shown)
    )
    more = len(file.hosts) - len(shown) + file.more_hosts
    return (
        render_table("Hosts", _HOST_COLUMNS, rows),
        element("p", f"And {count_of(more, 'more host')}.", class_="quiet") if more else None,
    )


def _host(label: str, host: SeenHost) -> Html:
    """What people call it, and what they should know of it: beside it, where a phone shows that."""
    words = host_words(host)
    return join_markup((label, element("span", words, class_="score") if words else None))


def _sum(costs: Sequence[float | None], running: int) -> str:
    known = [cost for cost in costs if cost is not None]
    return format_unfinished_cost(fsum(known) if known else None, running - len(known)) if running else ""


def _attempts(store: ViewedStore, seen: SeenHosts, number: int) -> Sequence[Child]:
    """What runs where, the longest first."""
    begun = dict(store.index.open_attempts())
    now = datetime.now(UTC)
    attempts = sorted(seen.file.attempts, key=lambda each: begun.get(each.run_id, now))
    if not attempts:
        return (element("h2", "Under way"), element("p", "Nothing runs now."))
    last = max(1, -(-len(attempts) // ATTEMPTS_PER_PAGE))
    number = min(number, last)
    labels = seen.labels
    shown = attempts[(number - 1) * ATTEMPTS_PER_PAGE : number * ATTEMPTS_PER_PAGE]
    rows = (_attempt(each, labels[each.host], begun.get(each.run_id), seen) for each in shown)
    more = seen.file.more_attempts
    return (
        element("h2", "Under way"),
        render_table("Under way", _ATTEMPT_COLUMNS, rows),
        element("p", f"And {count_of(more, 'more attempt')} that are not listed.", class_="quiet") if more else None,
        page_links(number, last, PageAddress(f"{store_path(store)}/hosts", {})),
    )


def _attempt(each: HostedAttempt, host: str, begun: datetime | None, seen: SeenHosts) -> Html:
    runs_for = None if begun is None else max(0.0, (seen.file.written_at - begun).total_seconds())
    return table_row(
        each.run_id if each.task_id is None else task_link(each.task_id),
        host,
        each.arm or "",
        "" if each.repeat is None else format_count(each.repeat),
        format_count(each.attempt),
        format_seconds(runs_for),
        format_dollars(each.cost_usd),
        entry=True,
    )
