"""A small REST client for forges: JSON in, JSON out, short waits when rate limited, and errors with advice.

Redirects are not followed, because the token would go with them.
"""

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from http.client import HTTPException
from ipaddress import ip_address
from typing import Any, Protocol
from urllib.error import HTTPError
from urllib.parse import urlsplit
from urllib.request import HTTPRedirectHandler, Request, build_opener

import msgspec

from outweigh.ports.forges import ForgeError

REQUEST_TIMEOUT_SECONDS = 60.0
MAX_REPLY_BYTES = 16 * 2**20
MAX_REQUEST_ATTEMPTS = 3
MAX_RATE_LIMIT_WAIT_SECONDS = 30.0
_MAX_SHOWN_LENGTH = 300
_ADVICE = {
    401: "the forge does not accept the token; is it current?",
    403: "the token has no right to do this; it needs to read and write pull requests of this repository.",
    404: "the forge does not know this repository, or does not show it to this token.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeReply:
    """What came back; names of headers are in lower case."""

    status: int
    headers: Mapping[str, str]
    body: bytes


class ForgeTransport(Protocol):
    """Brings a request to a forge."""

    def send(self, method: str, path: str, body: bytes | None) -> ForgeReply:
        """One request; ForgeError where no answer came back."""


class ForgeRefusedError(ForgeError):
    """An answer that is no success."""

    def __init__(self, status: int, text: str) -> None:
        super().__init__(text)
        self.status = status


class ForgeApi:
    """JSON in, JSON out. A forge that asks for a short pause gets it."""

    def __init__(self, transport: ForgeTransport, *, sleep: Callable[[float], None] = time.sleep) -> None:
        self._transport, self._sleep = transport, sleep

    def request(self, method: str, path: str, body: Mapping[str, Any] | None = None) -> Any:
        """Send a request and decode the answer; a refusal is raised as `RefusedError`."""
        sent = None if body is None else msgspec.json.encode(body)
        for number in range(1, MAX_REQUEST_ATTEMPTS + 1):
            reply = self._transport.send(method, path, sent)
            wait = _rate_limit_wait(reply)
            if wait is None or wait > MAX_RATE_LIMIT_WAIT_SECONDS or number == MAX_REQUEST_ATTEMPTS:
                break
            self._sleep(wait)
        if not 200 <= reply.status < 300:
            raise _refused_error(method, path, reply, wait)
        return _decode_body(reply.body)


class HttpForgeTransport:
    """HTTP by Python's own library. The token goes to this address and nowhere else: redirects are not followed."""

    def __init__(self, base_url: str, headers: Mapping[str, str]) -> None:
        self._base_url, self._headers = base_url.rstrip("/"), headers
        self._opener = build_opener(_NoRedirects)

    def send(self, method: str, path: str, body: bytes | None) -> ForgeReply:
        """One request."""
        headers = {"User-Agent": "outweigh", "Content-Type": "application/json", **self._headers}
        request = Request(self._base_url + path, data=body, headers=headers, method=method)
        try:
            with self._opener.open(request, timeout=REQUEST_TIMEOUT_SECONDS) as answer:
                return _reply(answer.status, dict(answer.headers.items()), answer.read(MAX_REPLY_BYTES))
        except HTTPError as refusal:
            with refusal:
                return _reply(refusal.code, dict(refusal.headers.items()), refusal.read(MAX_REPLY_BYTES))
        except (OSError, HTTPException) as fault:
            raise ForgeError(f"{self._base_url} does not answer: {str(fault) or type(fault).__name__}.") from fault


def may_send_token(url: str) -> bool:
    """Whether a token may be sent there: encrypted, or not leaving this machine."""
    parts = urlsplit(url)
    return parts.scheme == "https" or (parts.scheme == "http" and _is_loopback(parts.hostname or ""))


class _NoRedirects(HTTPRedirectHandler):
    def redirect_request(self, *_: Any) -> None:
        """Nobody is followed: what follows would carry the token along."""


def _is_loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def _reply(status: int, headers: Mapping[str, str], body: bytes) -> ForgeReply:
    return ForgeReply(status=status, headers={name.lower(): value for name, value in headers.items()}, body=body)


def _rate_limit_wait(reply: ForgeReply) -> float | None:
    """How long the forge asks to wait before the same request; None where it does not."""
    if reply.status not in (403, 429, 503):
        return None
    try:
        if "retry-after" in reply.headers:
            return max(0.0, float(reply.headers["retry-after"]))
        if reply.headers.get("x-ratelimit-remaining") == "0":
            return max(0.0, float(reply.headers["x-ratelimit-reset"]) - time.time())
    except (KeyError, ValueError):
        return float("inf")
    return float("inf") if reply.status == 429 else None


def _refused_error(method: str, path: str, reply: ForgeReply, wait: float | None) -> ForgeRefusedError:
    what = f"{method} {path.partition('?')[0]} was answered by {reply.status}"
    if wait is not None:
        when = f" in {wait:.0f} seconds" if wait < float("inf") else " later"
        return ForgeRefusedError(reply.status, f"{what}: the forge takes no more requests for now. Try again{when}.")
    if 300 <= reply.status < 400:
        return ForgeRefusedError(reply.status, f"{what}: the repository has moved. Set the remote to its new address.")
    said = _error_text(reply.body)
    advice = _ADVICE.get(reply.status)
    return ForgeRefusedError(reply.status, f"{what}: {' '.join(filter(None, (said, advice))) or 'nothing was said.'}")


def _error_text(body: bytes) -> str:
    try:
        answer = _decode_body(body)
    except ForgeError:
        return ""
    if not isinstance(answer, dict):
        return ""
    words = [answer.get("message"), *_as_list(answer.get("errors")), answer.get("error")]
    text = "; ".join(_flatten_text(word) for word in words if word)
    return f"{text[:_MAX_SHOWN_LENGTH]}." if text else ""


def _as_list(errors: Any) -> list[Any]:
    return errors if isinstance(errors, list) else [errors]


def _flatten_text(word: Any) -> str:
    if isinstance(word, dict):
        return _flatten_text(word.get("message") or list(word.values()))
    return " ".join(map(_flatten_text, word)) if isinstance(word, list) else " ".join(str(word).split())


def _decode_body(body: bytes) -> Any:
    if not body.strip():
        return None
    try:
        return msgspec.json.decode(body)
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise ForgeError("the forge's answer is not JSON; is the address of its API right?") from fault
