"""Requests without a client's cleverness: no retries, no defaults."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from typing import Any
from urllib.parse import urlsplit

import msgspec

PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def json(self) -> Any:
        return msgspec.json.decode(self.body)


def ask(
    method: str, url: str, body: bytes | Iterable[bytes] | None = None, headers: Mapping[str, str] | None = None
) -> Answer:
    address = urlsplit(url)
    connection = HTTPConnection(address.hostname or "", address.port, timeout=PATIENCE_SECONDS)
    try:
        target = f"{address.path}?{address.query}" if address.query else address.path
        connection.request(method, target, body, dict(headers or {}))
        answer = connection.getresponse()
        return Answer(answer.status, {name.lower(): value for name, value in answer.getheaders()}, answer.read())
    finally:
        connection.close()


def post(url: str, body: Any, headers: Mapping[str, str]) -> Answer:
    return ask("POST", url, msgspec.json.encode(body), {"content-type": "application/json", **headers})
