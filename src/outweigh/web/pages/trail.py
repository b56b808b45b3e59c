"""The way back from a page, and the addresses of the pages of a store."""

from outweigh.web.catalogue import Shelf
from outweigh.web.markup import Html, address, link
from outweigh.web.run_row import RunRow


def of_store(shelf: Shelf) -> Html:
    """A link to a store's page."""
    return link(shelf.name, store_path(shelf))


def of_runs(shelf: Shelf) -> Html:
    """A link to its runs."""
    return link("runs", f"{store_path(shelf)}/runs")


def of_run(shelf: Shelf, row: RunRow) -> Html:
    """A link to a run."""
    return link(row.run_id, f"{store_path(shelf)}/run", run_query(row))


def store_path(shelf: Shelf) -> str:
    """Where a store's pages begin."""
    return f"/e/{shelf.key}"


def run_query(row: RunRow) -> dict[str, str | int]:
    """How an address names a run; the first attempt needs no number."""
    return {"run": row.run_id, "attempt": "" if row.attempt == 1 else row.attempt}


def diff_address(shelf: Shelf, a: RunRow, b: RunRow) -> str:
    """Where two runs stand side by side."""
    query = {"a": a.run_id, "a_attempt": _attempt(a), "b": b.run_id, "b_attempt": _attempt(b)}
    return address(f"{store_path(shelf)}/diff", query)


def _attempt(row: RunRow) -> str | int:
    return "" if row.attempt == 1 else row.attempt
