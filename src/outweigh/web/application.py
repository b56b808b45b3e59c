"""The viewer as an application: which page answers which address, who may read it, and how it is served.

Without a token only requests for a loopback host name are answered, which stops DNS rebinding; with one, the token
comes once in the address and then in a cookie. Served anywhere but on this machine alone, it has a token.
"""

import secrets
import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from importlib.resources import files
from ipaddress import ip_address
from pathlib import Path
from urllib.parse import parse_qsl, urlencode

import msgspec
import uvicorn
from starlette.applications import Starlette
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, PlainTextResponse, RedirectResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from outweigh.errors import OutweighError, UsageError
from outweigh.report.svg.elements import CHART_STYLE
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

VIEWER_SECURITY_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "base-uri 'none'; form-action 'self'; frame-ancestors 'none'"
)
SECURITY_HEADERS = {
    "Content-Security-Policy": VIEWER_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
TOKEN_COOKIE = "outweigh_token"
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


class AccessMiddleware:
    """Answers only readers that may see the pages.

    Without a token, only requests for a loopback host name are answered, because another name that resolves here
    belongs to a page that tries to read what is not its own. With a token, it comes once in the address and from then
    on in a cookie.
    """

    def __init__(self, app: ASGIApp, token: str | None) -> None:
        self._app = app
        self._token = token

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse, redirect or pass on a request, and add the security headers to every response."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in SECURITY_HEADERS.items():
                    headers[name] = value
                headers.setdefault("Cache-Control", "no-store")
            await send(message)

        answer = self._refusal(scope)
        await (answer or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        if scope["method"] not in ("GET", "HEAD"):
            return PlainTextResponse("The viewer only shows.\n", status_code=405, headers={"Allow": "GET, HEAD"})
        headers = Headers(scope=scope)
        if self._token is None:
            known = _host_name(headers.get("host", "")) in LOOPBACK_HOSTS
            return None if known else PlainTextResponse("This viewer answers to localhost only.\n", status_code=421)
        return self._without_token(scope, headers, self._token)

    def _without_token(self, scope: Scope, headers: Headers, token: str) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if any(_tokens_match(value, token) for name, value in query if name == "token"):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            target = "/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
            answer = RedirectResponse(target, status_code=303)
            answer.set_cookie(TOKEN_COOKIE, token, httponly=True, samesite="lax", path="/")
            return answer
        if _tokens_match(_token_cookie(headers.get("cookie", "")), token):
            return None
        return PlainTextResponse("Open the address that `outweigh view` printed; it has a token.\n", status_code=401)


def _tokens_match(given: str, token: str) -> bool:
    return compare_digest(given.encode(), token.encode())


def _token_cookie(header: str) -> str:
    try:
        found = SimpleCookie(header).get(TOKEN_COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value


def _host_name(header: str) -> str:
    """The host without its port; an IPv6 address is in brackets."""
    if header.startswith("["):
        return header[1:].partition("]")[0]
    return header.partition(":")[0].lower()


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


TOKEN_BYTES = 24


@dataclass(frozen=True, slots=True, kw_only=True)
class ViewRequest:
    """Which stores to show, and where to listen; port 0 takes any that is free."""

    paths: tuple[Path, ...]
    host: str = "127.0.0.1"
    port: int = 0


def serve_viewer(request: ViewRequest, on_ready: Callable[[str], None]) -> None:
    """Serve until Ctrl-C; `on_ready` takes the address as soon as requests are answered."""
    catalogue = StoreCatalogue(list(request.paths))
    token = None if _is_loopback(request.host) else secrets.token_urlsafe(TOKEN_BYTES)
    with _bind_socket(request.host, request.port) as listener:
        catalogue.read()
        url = _url(request.host, listener.getsockname()[1], token)
        with suppress(KeyboardInterrupt):
            _run_server(make_viewer(catalogue, token), listener, lambda: on_ready(url))


def _is_loopback(host: str) -> bool:
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False


def _url(host: str, port: int, token: str | None) -> str:
    shown = f"[{host}]" if ":" in host else host
    return f"http://{shown}:{port}/" + ("" if token is None else f"?token={token}")


def _bind_socket(host: str, port: int) -> socket.socket:
    """Bind a listening socket, before its address is shown to anybody."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with ExitStack() as held:
            listener = held.enter_context(socket.socket(family, kind, protocol))
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            listener.bind(address)
            held.pop_all()
    except OSError as fault:
        raise UsageError(
            f"{host}:{port} cannot be listened on: {fault.strerror}. Name another --port or --host."
        ) from fault
    return listener


def _run_server(app: Starlette, listener: socket.socket, ready: Callable[[], None]) -> None:
    """Serve until Ctrl-C; `ready` is called as soon as requests are answered."""
    settings = uvicorn.Config(
        app, log_level="warning", access_log=False, server_header=False, timeout_graceful_shutdown=1, lifespan="off"
    )
    listener.listen(settings.backlog)
    ready()
    uvicorn.Server(settings).run(sockets=[listener])
