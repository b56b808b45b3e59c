"""The progress of an experiment as a block that the page's script keeps up to date."""

from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Html, element, join_markup
from outweigh.web.pages.layout import badge, store_path
from outweigh.web.progress import RUNNING, progress_state


def progress_facts(store: ViewedStore) -> Html:
    """State, results, time left and spending. It has no outcomes: those of several arms are not added up."""
    state = progress_state(store)
    running = state.state == RUNNING
    facts = [
        ("results", "results", state.results),
        ("time left", "time_left", state.time_left),
        ("runs", "runs", state.runs),
        ("spent", "spent", state.spent),
    ]
    if state.hosts:
        facts += [("spent under way", "so_far", state.so_far), ("hosts", "hosts", state.hosts)]
    cells = join_markup(
        element("div", element("dt", title), element("dd", value, data_live=name))
        for title, name, value in facts
        if value or running
    )
    # The state is not updated in place: when it changes, the script loads the page again.
    shown = element("div", element("dt", "state"), element("dd", badge(RUNNING) if running else state.state))
    return element(
        "section",
        element("dl", shown, cells, class_="facts"),
        element("p", state.doing, data_live="doing", class_="quiet") if state.doing or running else None,
        class_="progress",
        data_state=state.state,
        data_live_from=f"{store_path(store)}/live",
        aria_label=f"Progress of {store.name}",
    )
