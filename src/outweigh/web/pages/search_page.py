"""The page of a search through transcripts: runs with the places where the words stand."""

from collections.abc import Iterator, Sequence

from outweigh.report.formatting import format_count
from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, element, join_markup, link
from outweigh.web.pages.layout import badge, format_judge_score, render_page, run_link, search_field, store_link
from outweigh.web.pages.run_page import step_url
from outweigh.web.transcript_search import Find, FoundRun, SearchResult, search_transcripts
from outweigh.web.trend import latest_start

MIN_QUERY_CHARACTERS = 2


def search_page(stores: Sequence[ViewedStore], within: ViewedStore | None, words: str, place: int) -> Html:
    """The form, what was found, and what was not searched yet."""
    for store in stores:
        store.index.refresh()
    searched = sorted(stores, key=latest_start, reverse=True) if within is None else [within]
    return render_page(
        "Search transcripts",
        () if within is None else (store_link(within),),
        _form(stores, within, words),
        *(_results(search_transcripts(searched, words, place), within, words, place) if _is_enough(words) else ()),
        element("p", f"Write at least {MIN_QUERY_CHARACTERS} characters.") if words and not _is_enough(words) else None,
    )


def _is_enough(words: str) -> bool:
    return len(words.strip()) >= MIN_QUERY_CHARACTERS


def _form(stores: Sequence[ViewedStore], within: ViewedStore | None, words: str) -> Html:
    options = join_markup(element("option", store.name, value=store.key, selected=store is within) for store in stores)
    return element(
        "form",
        search_field("Words in messages, calls and outputs", words),
        element("label", "in", element("select", element("option", "all experiments", value=""), options, name="in")),
        element("button", "Search"),
        action="/search",
        method="get",
        class_="filter",
        role="search",
        aria_label="Search",
    )


def _results(result: SearchResult, within: ViewedStore | None, words: str, place: int) -> Iterator[Child]:
    skipped = f", after the first {format_count(place)}" if place else ""
    runs = "1 run" if result.searched_runs == 1 else f"{format_count(result.searched_runs)} runs"
    yield element("p", f"Found in {format_count(len(result.found))} of {runs} searched{skipped}.", role="status")
    for found in result.found:
        yield _run(found)
    if result.next_place is not None:
        query: dict[str, str | int] = {
            "q": words,
            "in": "" if within is None else within.key,
            "from": result.next_place,
        }
        yield element(
            "p",
            "The search stopped here to keep the page fast. ",
            link("Search the next runs", "/search", query, rel="next"),
            class_="note",
        )


def _run(found: FoundRun) -> Html:
    row, more = found.row, found.texts - len(found.finds)
    score = format_judge_score(found.store.index.judge_score(row.run_id))
    return element(
        "section",
        element("h2", run_link(found.store, row)),
        element(
            "p",
            badge(row.outcome),
            f" judge {score}" if score else None,
            element("span", f" {found.store.name}, arm {row.arm}", class_="quiet"),
        ),
        element("ul", *(_find(found, each) for each in found.finds), class_="finds"),
        element("p", f"and {more:,} more texts of this run", class_="quiet") if more else None,
        class_="found",
        data_entry=True,
    )


def _find(found: FoundRun, find: Find) -> Html:
    url = step_url(found.store, found.row, find.position, find.step.number)
    step = element("a", f"step {find.step.number}", href=url)
    return element("li", step, " ", find.before, element("mark", find.found), find.after)
