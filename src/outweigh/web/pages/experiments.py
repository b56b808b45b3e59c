"""All stores, with how far each is."""

from collections.abc import Sequence

from outweigh.report.wording import count, dollars, percent
from outweigh.web.catalogue import Shelf
from outweigh.web.markup import Html, element
from outweigh.web.pages.layout import badge, page, row, table
from outweigh.web.pages.trail import of_store


def experiments_page(shelves: Sequence[Shelf]) -> Html:
    """A row per store."""
    if not shelves:
        return page(
            "Experiments", (), element("p", "There is no store here yet. This page shows one as soon as it begins.")
        )
    columns = ("", "suite", "state", "runs", "arms", "tasks", "pass rate", "cost")
    return page("Experiments", (), table("Experiments", columns, map(_row, shelves)))


def _row(shelf: Shelf) -> Html:
    shelf.index.refresh()
    summary, experiment = shelf.summary.now(), shelf.index.experiment()
    whole = summary.whole
    return row(
        of_store(shelf),
        "" if experiment is None else experiment.suite,
        badge("running") if shelf.index.is_running() else "at rest",
        count(whole.runs),
        count(len(summary.arms)),
        count(len(summary.tasks)),
        percent(whole.pass_rate),
        dollars(whole.cost_usd),
        entry=True,
    )
