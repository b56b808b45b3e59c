"""The viewer as an application: which page answers which address, and how a label is taken."""

import re
import secrets
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256
from importlib.resources import files
from urllib.parse import parse_qsl

import msgspec
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.routing import Route

from outweigh.errors import OutweighError, UsageError
from outweigh.report.palette import COLOUR_STYLE
from outweigh.report.svg.elements import CHART_STYLE
from outweigh.web.access import AccessMiddleware, tokens_match
from outweigh.web.catalogue import StoreCatalogue, ViewedStore
from outweigh.web.label_request import MAX_FORM_BYTES, change_label
from outweigh.web.markup import Html, element, link
from outweigh.web.pages.diff_page import diff_page
from outweigh.web.pages.experiment_page import TaskFilter, experiment_page
from outweigh.web.pages.home_page import ExperimentFilter, home_page
from outweigh.web.pages.hosts_page import hosts_page
from outweigh.web.pages.layout import error_page, run_url, store_link
from outweigh.web.pages.run_page import run_page, text_page
from outweigh.web.pages.runs_page import runs_page
from outweigh.web.pages.search_page import search_page
from outweigh.web.pages.step_view import find_text
from outweigh.web.pages.stores_page import stores_page
from outweigh.web.pages.task_page import task_page
from outweigh.web.progress import progress_state
from outweigh.web.run_listing import RunFilter
from outweigh.web.run_row import RunRow

_STATIC_FILES = {"viewer.css": "text/css", "viewer.js": "text/javascript"}
_STYLES = {"palette.css": COLOUR_STYLE, "charts.css": CHART_STYLE}
"""Styles that the viewer shares with reports."""
_MAX_DIGITS = 9
"""The longest number that is read from an address."""

_STYLE = re.compile(r"<style>(.*?)</style>", re.DOTALL)
_MAIN = re.compile(r"<main[^>]*>\n?")

StorePage = Callable[[Request, ViewedStore], Html]


def make_viewer(catalogue: StoreCatalogue, token: str | None = None) -> Starlette:
    """The application. Requests are answered in threads, so that a large page delays no other."""
    viewer = _Viewer(catalogue)
    return Starlette(
        routes=[
            Route("/", viewer.home, methods=["GET"]),
            Route("/task", viewer.task, methods=["GET"]),
            Route("/history", viewer.history, methods=["GET"]),
            Route("/stores", viewer.stores, methods=["GET"]),
            Route("/search", viewer.search, methods=["GET"]),
            viewer.store_route("", viewer.experiment),
            viewer.store_route("/runs", _runs),
            viewer.store_route("/hosts", lambda request, store: hosts_page(store, _page_number(request))),
            viewer.store_route("/text", _text),
            viewer.store_route("/diff", _diff),
            Route("/e/{key}/run", viewer.run, methods=["GET"]),
            Route("/e/{key}/report", viewer.report, methods=["GET"]),
            Route("/e/{key}/label", viewer.label, methods=["POST"]),
            Route("/e/{key}/live", viewer.live, methods=["GET"]),
            Route("/static/{name}", _static, methods=["GET"]),
        ],
        middleware=[Middleware(AccessMiddleware, token=token)],
        exception_handlers={HTTPException: _http_error, OutweighError: _outweigh_error},
    )


class _Viewer:
    """What answers need beside the request: the stores, and the token of the label forms, made anew at every start."""

    def __init__(self, catalogue: StoreCatalogue) -> None:
        self._catalogue = catalogue
        self._form_token = secrets.token_urlsafe()

    def store_route(self, path: str, make: StorePage) -> Route:
        """A page of a store."""

        def answer(request: Request) -> Response:
            return HTMLResponse(make(request, self._store(request)))

        return Route(f"/e/{{key}}{path}", answer, methods=["GET"])

    def home(self, request: Request) -> Response:
        asked = request.query_params
        wanted = ExperimentFilter(search_text=asked.get("q", ""), shown=asked.get("show", ""))
        return HTMLResponse(home_page(self._catalogue.stores(), wanted, _page_number(request)))

    def experiment(self, request: Request, store: ViewedStore) -> Html:
        asked = request.query_params
        wanted = TaskFilter(search_text=asked.get("q", ""), change=asked.get("change", ""))
        return experiment_page(store, self._catalogue.stores(), wanted, _page_number(request))

    def task(self, request: Request) -> Response:
        page = task_page(request.query_params.get("task", ""), self._catalogue.stores(), _page_number(request))
        if page is None:
            raise HTTPException(404, "No experiment here has runs of this task.")
        return HTMLResponse(page)

    def history(self, request: Request) -> Response:
        """The page of `outweigh history` over all stores, or over those of one suite."""
        from outweigh.app.suite_history import read_history  # noqa: PLC0415 - it decides about every store
        from outweigh.report.history_page import history_report  # noqa: PLC0415
        from outweigh.report.render_html import HtmlReporter  # noqa: PLC0415

        paths = [str(store.index.path) for store in self._catalogue.stores() if not store.index.is_running()]
        suite = request.query_params.get("suite")
        found = read_history(paths, suite=suite, arms=(), skip_invalid=True, notify=lambda _: None)
        trail = element("p", link("outweigh", "/"), " › history")
        page = _with_trail(HtmlReporter().render(history_report(found.arms, found.spend)), trail)
        return HTMLResponse(page, headers={"Content-Security-Policy": _report_policy(page)})

    def stores(self, _: Request) -> Response:
        """Every store by suite, and what was spent by month."""
        return HTMLResponse(stores_page(self._catalogue.stores(), self._catalogue.faults))

    def search(self, request: Request) -> Response:
        asked = request.query_params
        within = self._catalogue.find(asked["in"]) if asked.get("in") else None
        place = _parse_number(asked.get("from", "")) or 0
        return HTMLResponse(search_page(self._catalogue.stores(), within, asked.get("q", ""), place))

    def run(self, request: Request) -> Response:
        store = self._store(request)
        page = run_page(store, _find_row(request, store), _page_number(request), self._form_token)
        # Without a referrer, browsers would not say that a form comes from this page.
        return HTMLResponse(page, headers={"Referrer-Policy": "same-origin"})

    def report(self, request: Request) -> Response:
        store = self._store(request)
        store.index.refresh()
        if store.index.is_running():
            return HTMLResponse(error_page("No report yet", "The report comes when the run ends."))
        page = _frame_report(store.report(), store)
        return HTMLResponse(page, headers={"Content-Security-Policy": _report_policy(page)})

    def live(self, request: Request) -> Response:
        store = self._store(request)
        store.index.refresh()
        return Response(msgspec.json.encode(progress_state(store)), media_type="application/json")

    async def label(self, request: Request) -> Response:
        """Change a label, and show the run again. That the request comes from here was checked before."""
        fields = await _read_form(request)
        if not tokens_match(fields.get("token", ""), self._form_token):
            raise HTTPException(403, "This page is from before the viewer was started. Load it again, then save.")
        store = self._store(request)
        row = _require_row(store, fields.get("run", ""), _parse_number(fields.get("attempt", "")))
        try:
            await run_in_threadpool(change_label, store, row, fields)
        except UsageError as fault:
            raise HTTPException(400, str(fault)) from fault
        return RedirectResponse(f"{run_url(store, row)}#label", status_code=303)

    def _store(self, request: Request) -> ViewedStore:
        store = self._catalogue.find(request.path_params["key"])
        if store is None:
            raise HTTPException(404, "There is no such experiment here.")
        return store


async def _read_form(request: Request) -> dict[str, str]:
    """The fields of a form; more than a form of this viewer can hold is refused before it is read."""
    content = b""
    async for part in request.stream():
        content += part
        if len(content) > MAX_FORM_BYTES:
            raise HTTPException(413, "This is more than a label can hold.")
    return dict(parse_qsl(content.decode("utf-8", errors="replace"), keep_blank_values=True, max_num_fields=20))


def _runs(request: Request, store: ViewedStore) -> Html:
    asked = request.query_params
    wanted = RunFilter(
        search_text=asked.get("q", ""),
        arm=asked.get("arm", ""),
        task=asked.get("task", ""),
        status=asked.get("status", ""),
        outcome=asked.get("outcome", ""),
        sort=asked.get("sort", ""),
        descending=asked.get("falling") == "1",
    )
    return runs_page(store, wanted, _page_number(request))


def _text(request: Request, store: ViewedStore) -> Html:
    row, name = _find_row(request, store), request.query_params.get("text", "")
    text = find_text(store.open_run(row), name)
    if text is None:
        raise HTTPException(404, "This run has no such text.")
    return text_page(store, row, name, text, _page_number(request))


def _diff(request: Request, store: ViewedStore) -> Html:
    a, b = _find_row(request, store, "a", "a_attempt"), _find_row(request, store, "b", "b_attempt")
    return diff_page(store, a, b, _page_number(request) if "page" in request.query_params else None)


def _frame_report(page: str, store: ViewedStore) -> Html:
    """The file that `outweigh report` writes, with a line of links above it."""
    return _with_trail(page, element("p", link("outweigh", "/"), " › ", store_link(store), " › report"))


def _with_trail(page: str, trail: Html) -> Html:
    # Only the first such tag is one: everything from records is escaped.
    return Html(_MAIN.sub(lambda found: f'{found[0]}<nav aria-label="Breadcrumb">{trail}</nav>\n', page, count=1))


def _report_policy(page: str) -> str:
    """A policy that allows the inline styles of the report, by their hashes, and no script."""
    digests = (sha256(style.encode()).digest() for style in _STYLE.findall(page))
    hashes = " ".join(f"'sha256-{b64encode(digest).decode()}'" for digest in digests)
    return (
        f"default-src 'none'; style-src {hashes}; img-src data:; base-uri 'none'; form-action 'none'; "
        "frame-ancestors 'none'"
    )


def _find_row(request: Request, store: ViewedStore, name: str = "run", attempt: str = "attempt") -> RunRow:
    asked = request.query_params
    return _require_row(store, asked.get(name, ""), _parse_number(asked.get(attempt, "")))


def _require_row(store: ViewedStore, run_id: str, attempt: int | None) -> RunRow:
    row = store.index.row(run_id, attempt)
    if row is None:
        store.index.refresh()
        row = store.index.row(run_id, attempt)
    if row is None:
        raise HTTPException(404, "There is no such run in this store.")
    return row


def _page_number(request: Request) -> int:
    return max(1, _parse_number(request.query_params.get("page", "")) or 1)


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    headers = {"Cache-Control": "no-cache"}
    if name in _STYLES:
        return Response(_STYLES[name], media_type="text/css", headers=headers)
    if name not in _STATIC_FILES:
        raise HTTPException(404, "There is no such file.")
    content = (files("outweigh.web") / "static" / name).read_bytes()
    return Response(content, media_type=_STATIC_FILES[name], headers=headers)


def _http_error(_: Request, fault: Exception) -> Response:
    status = fault.status_code if isinstance(fault, HTTPException) else 500
    text = fault.detail if isinstance(fault, HTTPException) else str(fault)
    return HTMLResponse(error_page("Not found" if status == 404 else "Refused", text), status_code=status)


def _outweigh_error(_: Request, fault: Exception) -> Response:
    return HTMLResponse(error_page("This cannot be shown", str(fault)), status_code=500)
