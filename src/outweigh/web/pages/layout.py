"""What pages share: the page frame, tables, badges, page links, the breadcrumb links and addresses of a store's pages,
and the error page.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence

from outweigh.web.catalogue import ViewedStore
from outweigh.web.markup import Child, Html, build_url, element, join_markup, link
from outweigh.web.run_row import RunRow
from outweigh.web.store_summary import ArmCounts
from outweigh.web.task_pairs import compare_passes, find_pair

_KEYS = (
    ("j / k", "next and previous entry"),
    ("Enter", "open the entry"),
    ("/", "search: the filter of the page, or all transcripts"),
    ("n / p", "next and previous page"),
    ("d", "first difference"),
    ("u", "up"),
    ("?", "these keys"),
)


def render_page(title: str, trail: Sequence[Html], *blocks: Child) -> Html:
    """A whole page; `trail` are the breadcrumb links to the pages above it."""
    head = element(
        "head",
        element("meta", charset="utf-8"),
        element("meta", name="viewport", content="width=device-width, initial-scale=1"),
        element("meta", name="color-scheme", content="light dark"),
        element("title", f"{title} · outweigh"),
        element("link", rel="icon", href="data:,"),
        element("link", rel="stylesheet", href="/static/palette.css"),
        element("link", rel="stylesheet", href="/static/viewer.css"),
        element("link", rel="stylesheet", href="/static/charts.css"),
        element("script", Html(""), src="/static/viewer.js", defer=True),
    )
    home = link("outweigh", "/", class_="home")
    crumbs = element("ol", *(element("li", each) for each in (home, *trail)))
    body = element(
        "body",
        element("a", "Skip to the content", class_="skip", href="#content"),
        element("header", element("nav", crumbs, aria_label="Breadcrumb"), _transcript_search(), _keys_button()),
        element("main", element("h1", title), *blocks, id="content"),
        _keys(),
    )
    return Html(f"<!DOCTYPE html>\n{element('html', head, body, lang='en')}\n")


def render_table(label: str, columns: Iterable[Child], rows: Iterable[Html], **attributes: str) -> Html:
    """A table that scrolls on its own if it is wide, and can be focused by keyboard."""
    heads = join_markup(element("th", column, scope="col") if column else element("td") for column in columns)
    return element(
        "div",
        element("table", element("thead", element("tr", heads)), element("tbody", *rows)),
        class_="scroll",
        role="region",
        tabindex="0",
        aria_label=label,
        **attributes,
    )


def table_row(first: Child, *cells: Child, entry: bool = False) -> Html:
    """A row with a row header. With `entry`, the keys `j` and `k` stop at it."""
    rest = join_markup(element("td", cell) for cell in cells)
    return element("tr", element("th", first, scope="row"), rest, data_entry=entry)


_BADGES = {
    "passed": ("✓", "good"),
    "failed": ("✗", "bad"),
    "unknown": ("?", "plain"),
    "completed": ("", "plain"),
    "running": ("●", "plain"),
    "improved": ("▲", "good"),
    "regressed": ("▼", "bad"),
    "trade-off": ("◆", "unsure"),
    "neutral": ("=", "plain"),
    "inconclusive": ("?", "unsure"),
    "deciding": ("…", "plain"),
    "no verdict": ("–", "plain"),
    "ready": ("✓", "plain"),
    "preparing": ("…", "plain"),
    "lost": ("✗", "bad"),
    "agree": ("✓", "plain"),
    "disagree": ("✗", "plain"),
}
"""The mark and the tone of every coloured word."""


def badge(text: str) -> Html:
    """A coloured word, with a mark for readers who do not see the colour."""
    mark, tone = _BADGES.get(text, ("", "unsure"))
    return element("span", f"{mark} {text}".strip(), class_=f"badge {tone}")


MAX_CHOICES = 300
"""A select element with more options than this becomes a text field."""


def search_field(label: str, text: str) -> Html:
    """The search field of a page's filter, which the key `/` leads to."""
    field = element("input", type="search", name="q", value=text, data_search=True, autocomplete="off")
    return element("label", label, field)


def select_field(name: str, chosen: str, choices: Collection[str], *, label: str | None = None) -> Html:
    """A choice of a page's filter, in the order of the choices."""
    if len(choices) > MAX_CHOICES:
        return element("label", label or name, element("input", name=name, value=chosen, autocomplete="off"))
    options = join_markup(element("option", each, value=each, selected=each == chosen) for each in choices)
    return element("label", label or name, element("select", element("option", "any", value=""), options, name=name))


def format_judge_score(score: float | None) -> str:
    """A judge score beside a pass; a run that was not judged has none."""
    return "" if score is None else f"{score:.2f}"


def note_section(title: str, items: Sequence[str]) -> Html | None:
    """A list of warnings or notes; None if there are none."""
    if not items:
        return None
    return element(
        "section", element("h2", title), element("ul", *(element("li", item) for item in items), class_="unsure")
    )


def page_links(number: int, last: int, at: "PageAddress") -> Html | None:
    """Links to the first, last and neighbouring pages; None if there is only one page."""
    if last <= 1:
        return None
    near = sorted({1, *range(max(1, number - 2), min(last, number + 2) + 1), last})
    links = [
        element("span", str(each), aria_current="page") if each == number else element("a", str(each), href=at(each))
        for each in near
    ]
    before = element("a", "‹ previous", href=at(number - 1), rel="prev") if number > 1 else None
    after = element("a", "next ›", href=at(number + 1), rel="next") if number < last else None
    return element("nav", before, *links, after, class_="pages", aria_label="Pages")


class PageAddress:
    """The address of a numbered page."""

    def __init__(self, path: str, query: dict[str, str | int], key: str = "page") -> None:
        self._path, self._query, self._key = path, query, key

    def __call__(self, number: int) -> str:
        """The address of a page; the first has no number in it."""
        return build_url(self._path, self._query | {self._key: "" if number == 1 else number})


def _transcript_search() -> Html:
    words = "Search transcripts"
    return element(
        "form",
        element("input", type="search", name="q", aria_label=words, placeholder=words),
        action="/search",
        method="get",
        role="search",
        aria_label="Transcripts",
        data_transcripts=True,
    )


def _keys_button() -> Html:
    return element("button", "?", type="button", data_keys=True, aria_label="Keys", title="Keys")


def _keys() -> Html:
    rows = join_markup(element("tr", element("td", element("kbd", key)), element("td", text)) for key, text in _KEYS)
    return element(
        "dialog",
        element("h2", "Keys", id="keys-title"),
        element("table", element("tbody", rows)),
        element("form", element("button", "Close"), method="dialog"),
        id="keys",
        aria_labelledby="keys-title",
    )


def store_link(store: ViewedStore) -> Html:
    """A link to a store's page."""
    return link(store.name, store_path(store))


def runs_link(store: ViewedStore) -> Html:
    """A link to the list of a store's runs."""
    return link("runs", f"{store_path(store)}/runs")


def run_link(store: ViewedStore, row: RunRow) -> Html:
    """A link to a run's page."""
    return element("a", row.run_id, href=run_url(store, row))


def run_url(store: ViewedStore, row: RunRow) -> str:
    """The address of a run's page."""
    return build_url(f"{store_path(store)}/run", run_query(row))


def store_path(store: ViewedStore) -> str:
    """The path below which a store's pages are."""
    return f"/e/{store.key}"


def task_link(task: str) -> Html:
    """A link to the page of a task over all experiments."""
    return link(task, "/task", {"task": task})


def run_query(row: RunRow) -> dict[str, str | int]:
    """The query that identifies a run; the first attempt needs no number."""
    return {"run": row.run_id, "attempt": "" if row.attempt == 1 else row.attempt}


def diff_url(store: ViewedStore, a: RunRow, b: RunRow) -> str:
    """The address of the comparison of two runs."""
    query = {"a": a.run_id, "a_attempt": _attempt_query(a), "b": b.run_id, "b_attempt": _attempt_query(b)}
    return build_url(f"{store_path(store)}/diff", query)


def compare_link(
    store: ViewedStore, task: str, arm: str, rows: Sequence[RunRow], counts: Mapping[str, ArmCounts]
) -> Html | None:
    """A link to the two runs that show how an arm differs from the baseline on a task; None if there are none."""
    baseline = store.baseline()
    if baseline is None or arm == baseline:
        return None
    pair = find_pair(rows, baseline, arm, compare_passes(counts.get(baseline), counts.get(arm)))
    if pair is None:
        return None
    words = f"{store.name}, {task}: {baseline} and {arm} side by side"
    return element("a", "compare", href=diff_url(store, *pair), class_="compare", aria_label=words)


def _attempt_query(row: RunRow) -> str | int:
    return "" if row.attempt == 1 else row.attempt


def error_page(title: str, text: str) -> Html:
    """A page with an error message and a link home."""
    return render_page(title, (), element("p", text), element("p", link("All experiments", "/")))
