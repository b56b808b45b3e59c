"""What a program asks of a proxy: the head of an HTTP request, and the host that it is for."""

import re
from dataclasses import dataclass

_REQUEST_LINE = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+) ([\x21-\x7e]+) HTTP/1\.[01]")
_AUTHORITY = re.compile(r"(?:\[(?P<six>[0-9A-Fa-f:.]+)\]|(?P<name>[A-Za-z0-9_.-]{1,255}))(?::(?P<port>[0-9]{1,5}))?")
_HEADER = re.compile(rb"([!#$%&'*+.^_`|~0-9A-Za-z-]+):([^\r\n\0]*)")
_PLAIN = "http://"
_HTTP, _HTTPS = 80, 443
# What is between the program and the proxy alone, and the host, which is told as the address says it.
_NOT_PASSED_ON = frozenset({b"connection", b"proxy-connection", b"proxy-authorization", b"keep-alive", b"te", b"host"})


class BadRequestError(Exception):
    """Not a request that a proxy can pass on; the text says why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ProxyRequest:
    """For whom, and what to send there first: nothing where the program wants a line of its own."""

    host: str
    port: int
    is_tunnel: bool
    opening: bytes

    @property
    def target(self) -> str:
        """The host and its port, as people write them."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def parse(head: bytes) -> ProxyRequest:
    """Read the head of a request, up to and with its empty line."""
    first, *headers = head.removesuffix(b"\r\n\r\n").split(b"\r\n")
    matched = _REQUEST_LINE.fullmatch(first)
    if matched is None:
        raise BadRequestError("this is no HTTP/1 request")
    method, target = matched[1], matched[2].decode()
    if method == b"CONNECT":
        host, port = _authority(target, _HTTPS)
        return ProxyRequest(host=host, port=port, is_tunnel=True, opening=b"")
    if not target.lower().startswith(_PLAIN):
        raise BadRequestError("this is a proxy: give it a whole http:// address, or CONNECT for everything else")
    authority, path = _split(target[len(_PLAIN) :])
    host, port = _authority(authority, _HTTP)
    opening = b"".join((method, b" ", path, b" HTTP/1.1\r\nHost: ", authority.encode(), b"\r\n", *_passed_on(headers)))
    # One request for each connection: the next may be for another host.
    return ProxyRequest(host=host, port=port, is_tunnel=False, opening=opening + b"Connection: close\r\n\r\n")


def _split(address: str) -> tuple[str, bytes]:
    end = next((place for place, letter in enumerate(address) if letter in "/?#"), len(address))
    path = address[end:].partition("#")[0]
    return address[:end], (path if path.startswith("/") else f"/{path}").encode()


def _authority(text: str, usual_port: int) -> tuple[str, int]:
    matched = _AUTHORITY.fullmatch(text)
    if matched is None:
        raise BadRequestError("this names no host")
    return matched["six"] or matched["name"], int(matched["port"] or usual_port)


def _passed_on(headers: list[bytes]) -> list[bytes]:
    matches = [_HEADER.fullmatch(header) for header in headers]
    kept = []
    for matched in matches:
        if matched is None:
            raise BadRequestError("this holds a header that is none")
        if matched[1].lower() not in _NOT_PASSED_ON:
            kept.append(matched[0] + b"\r\n")
    return kept
