"""Who may read the pages, and who may change a label.

Without a token only requests for a loopback host name are answered, which stops DNS rebinding; with one, the token
comes once in the address and then in a cookie. A label is changed only by a form of the viewer's own pages: the
request must name the viewer itself as its origin, and carry a secret that no other page can read.
"""

import re
from hmac import compare_digest
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qsl, urlencode

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import PlainTextResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

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
    "Cache-Control": "no-store",
}
"""What every response has, unless it states its own."""
TOKEN_COOKIE = "outweigh_token"
LABEL_PATH = re.compile(r"/e/[0-9a-f]+/label")
"""The only address that takes a POST."""
LOOPBACK_HOSTS = frozenset({"127.0.0.1", "localhost", "::1"})


class AccessMiddleware:
    """Answers only readers that may see the pages, and changes only what their own pages ask for.

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
                    headers.setdefault(name, value)
            await send(message)

        answer = self._refusal(scope)
        await (answer or self._app)(scope, receive, send_guarded)

    def _refusal(self, scope: Scope) -> Response | None:
        reads = scope["method"] in ("GET", "HEAD")
        if not reads and not (scope["method"] == "POST" and LABEL_PATH.fullmatch(scope["path"])):
            return PlainTextResponse("Only labels can be changed.\n", status_code=405, headers={"Allow": "GET, HEAD"})
        headers = Headers(scope=scope)
        return self._without_access(scope, headers) or (None if reads else _foreign_request(headers))

    def _without_access(self, scope: Scope, headers: Headers) -> Response | None:
        if self._token is None:
            known = _host_name(headers.get("host", "")) in LOOPBACK_HOSTS
            return None if known else PlainTextResponse("This viewer answers to localhost only.\n", status_code=421)
        return self._without_token(scope, headers, self._token)

    def _without_token(self, scope: Scope, headers: Headers, token: str) -> Response | None:
        query = parse_qsl(scope["query_string"].decode("latin-1"), keep_blank_values=True)
        if any(tokens_match(value, token) for name, value in query if name == "token"):
            rest = urlencode([pair for pair in query if pair[0] != "token"])
            target = "/" + scope["path"].lstrip("/") + (f"?{rest}" if rest else "")
            answer = RedirectResponse(target, status_code=303)
            answer.set_cookie(TOKEN_COOKIE, token, httponly=True, samesite="lax", path="/")
            return answer
        if tokens_match(_token_cookie(headers.get("cookie", "")), token):
            return None
        return PlainTextResponse("Open the address that `outweigh view` printed; it has a token.\n", status_code=401)


def _foreign_request(headers: Headers) -> Response | None:
    """Refuse a request that another page made the browser send; browsers name the page that a POST comes from."""
    origin, host = headers.get("origin", ""), headers.get("host", "")
    own = (f"http://{host}", f"https://{host}") if host else ()
    if origin in own and headers.get("sec-fetch-site", "same-origin") == "same-origin":
        return None
    return PlainTextResponse("Labels are changed on the pages of this viewer only.\n", status_code=403)


def tokens_match(given: str, token: str) -> bool:
    """Compare in a time that does not tell how much of it is right."""
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
