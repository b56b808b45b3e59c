"""The progress of an experiment as a block that the page's script keeps up to date."""

from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, element, join_markup
from outweigh.web.pages.layout import badge, store_path
from outweigh.web.progress import RUNNING, progress_state


def progress_facts(store: ViewedStore) -> Html:
    """State, results, time left and spending. It has no outcomes: those of several arms are not added up."""
    state = progress_state(store)
    facts: tuple[tuple[str, str, Child], ...] = (
        ("state", "state", badge(RUNNING) if state.state == RUNNING else state.state),
        ("results", "results", state.results),
        ("time left", "time_left", state.time_left),
        ("runs", "runs", state.runs),
        ("spent", "spent", state.spent),
    )
    cells = join_markup(
        element("div", element("dt", title), element("dd", value, data_live=name))
        for title, name, value in facts
        if value or state.state == RUNNING
    )
    return element(
        "section",
        element("dl", cells, class_="facts"),
        element("p", state.doing, data_live="doing", class_="quiet") if state.doing or state.state == RUNNING else None,
        class_="progress",
        data_live_from=f"{store_path(store)}/live",
        aria_label=f"Progress of {store.name}",
    )
