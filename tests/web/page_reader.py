"""Requests to the viewer without a network."""

import asyncio
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

from starlette.types import Message

from outweigh.web.application import make_viewer
from outweigh.web.catalogue import StoreCatalogue


@dataclass(frozen=True)
class Answer:
    """A response."""

    status: int
    headers: Mapping[str, str]
    text: str


class Reader:
    """A client of a viewer for the stores below some paths."""

    def __init__(self, *paths: Path | str, token: str | None = None, host: str = "localhost:1234") -> None:
        self.catalogue = StoreCatalogue(list(paths))
        self._app = make_viewer(self.catalogue, token)
        self._host = host

    def ask(self, address: str, method: str = "GET", body: bytes = b"", **headers: str) -> Answer:
        """Send one request; underscores in names of headers are dashes."""
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return asyncio.run(self._ask(address, method, body, {"host": self._host, **named}))

    def decided(self, address: str) -> Answer:
        """The answer once every verdict that its page asks for is computed."""
        self.ask(address)
        self.catalogue.verdicts.wait()
        return self.ask(address)

    def store(self, path: str = "") -> str:
        """The address of a page of the only store."""
        (store,) = self.catalogue.stores()
        return f"/e/{store.key}{path}"

    async def _ask(self, address: str, method: str, body: bytes, headers: Mapping[str, str]) -> Answer:
        parts = urlsplit(address)
        scope: dict[str, Any] = {
            "type": "http",
            "asgi": {"version": "3.0"},
            "http_version": "1.1",
            "method": method,
            "scheme": "http",
            "path": unquote(parts.path),
            "raw_path": parts.path.encode(),
            "root_path": "",
            "query_string": parts.query.encode(),
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
        }
        said: list[Message] = []

        async def receive() -> Message:
            return {"type": "http.request", "body": body, "more_body": False}

        async def send(message: Message) -> None:
            said.append(message)

        await self._app(scope, receive, send)
        content = b"".join(message.get("body", b"") for message in said)
        names = {name.decode(): value.decode() for name, value in said[0]["headers"]}
        return Answer(said[0]["status"], names, content.decode())
