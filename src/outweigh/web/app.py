"""The viewer as an application: addresses, and the page behind each."""

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
from outweigh.report.charts.style import STYLE as CHART_STYLE
from outweigh.web.catalogue import Catalogue, Shelf
from outweigh.web.guard import Guard
from outweigh.web.live import live_state, live_texts
from outweigh.web.markup import Html
from outweigh.web.pages.diff import diff_page
from outweigh.web.pages.experiment import experiment_page
from outweigh.web.pages.experiments import experiments_page
from outweigh.web.pages.fault import fault_page
from outweigh.web.pages.run import run_page
from outweigh.web.pages.runs import runs_page
from outweigh.web.pages.text import text_page
from outweigh.web.run_listing import RunFilter
from outweigh.web.run_row import RunRow
from outweigh.web.run_texts import named_text

_STATIC = {"viewer.css": "text/css", "charts.css": "text/css", "viewer.js": "text/javascript"}
_LARGEST_NUMBER = 9
"""Numbers in addresses have at most so many digits."""

ShelfPage = Callable[[Request, Shelf], Html]


def viewer(catalogue: Catalogue, token: str | None = None) -> Starlette:
    """The application. It reads stores and writes nothing; a large page holds up no other."""

    def shelf_route(path: str, make: ShelfPage) -> Route:
        def answer(request: Request) -> Response:
            return HTMLResponse(make(request, _shelf(catalogue, request)))

        return Route(f"/e/{{key}}{path}", answer, methods=["GET"])

    def experiments(_: Request) -> Response:
        return HTMLResponse(experiments_page(catalogue.shelves()))

    def live(request: Request) -> Response:
        shelf = _shelf(catalogue, request)
        shelf.index.refresh()
        return Response(msgspec.json.encode(live_texts(live_state(shelf))), media_type="application/json")

    return Starlette(
        routes=[
            Route("/", experiments, methods=["GET"]),
            shelf_route("", lambda request, shelf: experiment_page(shelf, _page(request))),
            shelf_route("/runs", _runs),
            shelf_route("/run", lambda request, shelf: run_page(shelf, _row(request, shelf), _page(request))),
            shelf_route("/text", _text),
            shelf_route("/diff", _diff),
            Route("/e/{key}/live", live, methods=["GET"]),
            Route("/static/{name}", _static, methods=["GET"]),
        ],
        middleware=[Middleware(Guard, token=token)],
        exception_handlers={HTTPException: _not_there, OutweighError: _unusable},
    )


def _runs(request: Request, shelf: Shelf) -> Html:
    asked = request.query_params
    wanted = RunFilter(
        words=asked.get("q", ""),
        arm=asked.get("arm", ""),
        task=asked.get("task", ""),
        status=asked.get("status", ""),
        outcome=asked.get("outcome", ""),
        sort=asked.get("sort", ""),
        falling=asked.get("falling") == "1",
    )
    return runs_page(shelf, wanted, _page(request))


def _text(request: Request, shelf: Shelf) -> Html:
    row, name = _row(request, shelf), request.query_params.get("text", "")
    words = named_text(shelf.side(row), name)
    if words is None:
        raise HTTPException(404, "This run has no such text.")
    return text_page(shelf, row, name, words, _page(request))


def _diff(request: Request, shelf: Shelf) -> Html:
    a, b = _row(request, shelf, "a", "a_attempt"), _row(request, shelf, "b", "b_attempt")
    return diff_page(shelf, a, b, _page(request) if "page" in request.query_params else None)


def _shelf(catalogue: Catalogue, request: Request) -> Shelf:
    shelf = catalogue.shelf(request.path_params["key"])
    if shelf is None:
        raise HTTPException(404, "There is no such experiment here.")
    return shelf


def _row(request: Request, shelf: Shelf, name: str = "run", attempt: str = "attempt") -> RunRow:
    run_id, number = request.query_params.get(name, ""), _number(request.query_params.get(attempt, ""))
    row = shelf.index.row(run_id, number)
    if row is None:
        shelf.index.refresh()
        row = shelf.index.row(run_id, number)
    if row is None:
        raise HTTPException(404, "There is no such run in this store.")
    return row


def _page(request: Request) -> int:
    return max(1, _number(request.query_params.get("page", "")) or 1)


def _number(text: str) -> int | None:
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= _LARGEST_NUMBER else None


def _static(request: Request) -> Response:
    name = request.path_params["name"]
    if name not in _STATIC:
        raise HTTPException(404, "There is no such file.")
    chart_style = CHART_STYLE.encode() if name == "charts.css" else None
    content = chart_style or (files("outweigh.web") / "static" / name).read_bytes()
    return Response(content, media_type=_STATIC[name], headers={"Cache-Control": "no-cache"})


def _not_there(_: Request, fault: Exception) -> Response:
    status = fault.status_code if isinstance(fault, HTTPException) else 500
    words = fault.detail if isinstance(fault, HTTPException) else str(fault)
    return HTMLResponse(fault_page("Not found" if status == 404 else "Refused", words), status_code=status)


def _unusable(_: Request, fault: Exception) -> Response:
    return HTMLResponse(fault_page("This cannot be shown", str(fault)), status_code=500)
