"""One store: how far it is, its arms, and its tasks by arm."""

from collections.abc import Sequence

from outweigh.adapters.stores.experiment_file import Experiment
from outweigh.report.wording import count, dollars, percent, seconds
from outweigh.web.catalogue import Shelf
from outweigh.web.live import live_state
from outweigh.web.markup import Child, Html, element, joined, link
from outweigh.web.pages.layout import PageAddress, notes, page, pages, row, table
from outweigh.web.pages.trail import store_path
from outweigh.web.store_summary import StoreSummary, Tally

TASKS = 100
"""How many tasks a page shows."""

_ARM_COLUMNS = ("", "runs", "passed", "pass rate", "left out", "cost", "median time")


def experiment_page(shelf: Shelf, number: int) -> Html:
    """Progress, arms, tasks, and what could not be read."""
    shelf.index.refresh()
    summary, experiment = shelf.summary.now(), shelf.index.experiment()
    return page(
        shelf.name,
        (),
        None if experiment is None else element("p", _about(experiment)),
        _progress(shelf),
        element("p", link("All runs", f"{store_path(shelf)}/runs", None, class_="button")),
        element("h2", "Arms"),
        table("Arms", _ARM_COLUMNS, (_arm(shelf, name, summary.arms[name]) for name in _ordered(shelf, summary))),
        *_spread(shelf),
        *_tasks(shelf, summary, number),
        notes("Notes", () if experiment is None else experiment.notes),
        notes("Lines that cannot be read", _faults(shelf)),
    )


def _ordered(shelf: Shelf, summary: StoreSummary) -> list[str]:
    """The arms by name, after the baseline."""
    baseline = shelf.index.baseline()
    return sorted(summary.arms, key=lambda name: (name != baseline, name))


def _about(experiment: Experiment) -> str:
    return f"Suite {experiment.suite}, baseline {experiment.baseline}, seed {experiment.seed}."


def _progress(shelf: Shelf) -> Html:
    """Numbers that the page keeps up to date by itself."""
    state = live_state(shelf)
    facts = (
        ("state", state.state),
        ("results", state.results),
        ("runs", count(state.runs)),
        ("passed", count(state.passed)),
        ("cost", state.cost),
    )
    cells = joined(element("div", element("dt", name), element("dd", value, data_live=name)) for name, value in facts)
    doing = element("p", state.doing, data_live="doing", class_="quiet")
    return element(
        "section",
        element("dl", cells, class_="facts"),
        doing,
        data_live_from=f"{store_path(shelf)}/live",
        aria_label="Progress",
    )


def _arm(shelf: Shelf, name: str, tally: Tally) -> Html:
    return row(
        link(name, f"{store_path(shelf)}/runs", {"arm": name}),
        count(tally.runs),
        count(tally.passed),
        percent(tally.pass_rate),
        count(tally.excluded),
        dollars(tally.cost_usd),
        seconds(tally.median_seconds),
        entry=True,
    )


def _spread(shelf: Shelf) -> Sequence[Child]:
    drawn = shelf.spread.now()
    if not drawn:
        return ()
    figures = element("div", *(element("figure", drawing) for drawing in drawn), class_="pictures")
    told = "Every run by arm: time and cost. Bars are runs, the box is their middle half, the upright line the median."
    return element("h2", "Spread"), element("p", told, class_="quiet"), figures


def _tasks(shelf: Shelf, summary: StoreSummary, number: int) -> Sequence[Child]:
    names, arms = sorted(summary.tasks), _ordered(shelf, summary)
    last = max(1, -(-len(names) // TASKS))
    number = min(number, last)
    shown = names[(number - 1) * TASKS : number * TASKS]
    rows = (_task(shelf, summary, name, arms) for name in shown)
    return (
        element("h2", "Tasks"),
        element("p", "Runs passed of those that can be told, by arm.", class_="quiet"),
        table("Tasks", ("", *arms), rows),
        pages(number, last, PageAddress(store_path(shelf), {})),
    )


def _task(shelf: Shelf, summary: StoreSummary, name: str, arms: Sequence[str]) -> Html:
    cells = (_cell(shelf, name, arm, summary.tasks[name].get(arm)) for arm in arms)
    return row(link(name, f"{store_path(shelf)}/runs", {"task": name}), *cells, entry=True)


def _cell(shelf: Shelf, task: str, arm: str, tally: Tally | None) -> Child:
    if tally is None:
        return element("span", "–", class_="quiet")
    known = tally.passed + tally.failed
    step = "none" if not known else str(round(4 * tally.passed / known))
    return link(
        f"{tally.passed}/{known}", f"{store_path(shelf)}/runs", {"task": task, "arm": arm}, class_=f"heat heat-{step}"
    )


def _faults(shelf: Shelf) -> list[str]:
    more = shelf.index.fault_count - len(shelf.index.faults)
    return [*shelf.index.faults, *([f"and {more:,} more."] if more else [])]
