"""The viewer as a Starlette application: its routes and how it answers errors."""

from collections.abc import Callable
from importlib.resources import files

import msgspec
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from outweigh.errors import OutweighError
from outweigh.report.svg.elements import CHART_STYLE
from outweigh.web.access import AccessMiddleware
from outweigh.web.catalogue import StoreCatalogue, ViewedStore
from outweigh.web.markup import Html
from outweigh.web.pages.diff_page import diff_page
from outweigh.web.pages.experiment_pages import experiment_page, experiments_page, progress_state, progress_texts
from outweigh.web.pages.layout import error_page
from outweigh.web.pages.run_page import run_page, text_page
from outweigh.web.pages.runs_page import runs_page
from outweigh.web.pages.step_view import find_text
from outweigh.web.run_listing import RunFilter
from outweigh.web.run_row import RunRow

_STATIC_FILES = {"viewer.css": "text/css", "charts.css": "text/css", "viewer.js": "text/javascript"}
_MAX_DIGITS = 9
"""The longest number that is read from an address."""

StorePage = Callable[[Request, ViewedStore], Html]


def make_viewer(catalogue: StoreCatalogue, token: str | None = None) -> Starlette:
    """The application. It only reads stores, and answers requests in threads, so that a large page delays no other."""

    def store_route(path: str, make: StorePage) -> Route:
        def answer(request: Request) -> Response:
            return HTMLResponse(make(request, _find_store(catalogue, request)))

        return Route(f"/e/{{key}}{path}", answer, methods=["GET"])

    def experiments(_: Request) -> Response:
        return HTMLResponse(experiments_page(catalogue.stores()))

    def live(request: Request) -> Response:
        store = _find_store(catalogue, request)
        store.index.refresh()
        return Response(msgspec.json.encode(progress_texts(progress_state(store))), media_type="application/json")

    return Starlette(
        routes=[
            Route("/", experiments, methods=["GET"]),
            store_route("", lambda request, store: experiment_page(store, _page_number(request))),
            store_route("/runs", _runs),
            store_route(
                "/run", lambda request, store: run_page(store, _find_row(request, store), _page_number(request))
            ),
            store_route("/text", _text),
            store_route("/diff", _diff),
            Route("/e/{key}/live", live, methods=["GET"]),
            Route("/static/{name}", _static, methods=["GET"]),
        ],
        middleware=[Middleware(AccessMiddleware, token=token)],
        exception_handlers={HTTPException: _http_error, OutweighError: _outweigh_error},
    )


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


def _find_store(catalogue: StoreCatalogue, request: Request) -> ViewedStore:
    store = catalogue.find(request.path_params["key"])
    if store is None:
        raise HTTPException(404, "There is no such experiment here.")
    return store


def _find_row(request: Request, store: ViewedStore, name: str = "run", attempt: str = "attempt") -> RunRow:
    run_id, number = request.query_params.get(name, ""), _parse_number(request.query_params.get(attempt, ""))
    row = store.index.row(run_id, number)
    if row is None:
        store.index.refresh()
        row = store.index.row(run_id, number)
    if row is None:
        raise HTTPException(404, "There is no such run in this store.")
    return row


def _page_number(request: Request) -> int:
    return max(1, _parse_number(request.query_params.get("page", "")) or 1)


def _parse_number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _MAX_DIGITS else None


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC_FILES:
        raise HTTPException(404, "There is no such file.")
    chart_style = CHART_STYLE.encode() if name == "charts.css" else None
    content = chart_style or (files("outweigh.web") / "static" / name).read_bytes()
    return Response(content, media_type=_STATIC_FILES[name], headers={"Cache-Control": "no-cache"})


def _http_error(_: Request, fault: Exception) -> Response:
    status = fault.status_code if isinstance(fault, HTTPException) else 500
    text = fault.detail if isinstance(fault, HTTPException) else str(fault)
    return HTMLResponse(error_page("Not found" if status == 404 else "Refused", text), status_code=status)


def _outweigh_error(_: Request, fault: Exception) -> Response:
    return HTMLResponse(error_page("This cannot be shown", str(fault)), status_code=500)
