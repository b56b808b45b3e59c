"""A long text by itself, page by page."""

from outweigh.web.catalogue import Shelf
from outweigh.web.markup import Html, element, prose
from outweigh.web.pages.layout import PageAddress, page, pages
from outweigh.web.pages.trail import of_run, of_runs, of_store, run_query, store_path
from outweigh.web.run_row import RunRow

CHARACTERS = 100_000
"""How much of it a page shows."""


def text_page(shelf: Shelf, each: RunRow, name: str, words: str, number: int) -> Html:
    """A stretch of the text as it is."""
    last = max(1, -(-len(words) // CHARACTERS))
    number = min(number, last)
    around = pages(number, last, PageAddress(f"{store_path(shelf)}/text", run_query(each) | {"text": name}))
    shown = words[(number - 1) * CHARACTERS : number * CHARACTERS]
    return page(
        f"Text {name}",
        (of_store(shelf), of_runs(shelf), of_run(shelf, each)),
        element("p", f"{len(words):,} characters", class_="quiet"),
        around,
        element("pre", prose(shown), class_="words", tabindex="0"),
        around,
    )
