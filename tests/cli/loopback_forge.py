"""A forge on loopback: the endpoints for comments, of GitHub and of GitLab, with whatever trouble a test asks for."""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any

TOKEN = "token-that-nobody-may-see"


@dataclass
class Forge:
    """What it holds, what was asked of it, and the answers that it gives instead of its own, first to last."""

    url: str = ""
    me: dict[str, Any] | None = field(default_factory=lambda: {"login": "someone", "id": 7})
    comments: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    troubles: list[tuple[str, int, dict[str, str]]] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)

    def add(self, body: str, login: str = "someone", kind: str = "User") -> int:
        key = len(self.comments) + 1
        author = {"login": login, "type": kind, "id": 7 if login == "someone" else 8}
        url = f"https://forge.example/comments/{key}"
        self.comments.append({"id": key, "body": body, "user": author, "author": author, "html_url": url})
        return key

    def bodies(self) -> list[str]:
        return [comment["body"] for comment in self.comments]


def _answer(forge: Forge, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
    place, _, query = path.partition("?")
    if place == "/user":
        return (200, forge.me) if forge.me is not None else (403, {"message": "Resource not accessible"})
    found = re.search(r"/(?:comments|notes)/(\d+)$", place)
    if method == "GET":
        page, size = (int(re.search(rf"\b{name}=(\d+)", query)[1]) for name in ("page", "per_page"))  # type: ignore[index]
        return 200, forge.comments[(page - 1) * size : page * size]
    if method == "POST":
        forge.add(body["body"], *(("someone", "User") if forge.me else ("github-actions[bot]", "Bot")))
        return 201, forge.comments[-1]
    assert found is not None
    (comment,) = (one for one in forge.comments if one["id"] == int(found[1]))
    if method == "DELETE":
        forge.comments.remove(comment)
        return 204, None
    comment["body"] = body["body"]
    return 200, comment


@contextmanager
def loopback_forge() -> Iterator[Forge]:
    """One that is there as long as the context."""
    forge = Forge()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            forge.asked.append(f"{self.command} {self.path}")
            given = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get("PRIVATE-TOKEN")
            if self.path.startswith("/elsewhere"):
                forge.leaked.append(str(given))
            trouble = next((one for one in forge.troubles if one[0] in f"{self.command} {self.path}"), None)
            headers: dict[str, str] = {}
            content: Any = {"message": "trouble"}
            if trouble is not None:
                forge.troubles.remove(trouble)
                _, status, headers = trouble
                if status == 0:
                    self.connection.close()
                    return
            elif given != TOKEN:
                status, content = 401, {"message": "Bad credentials"}
            else:
                status, content = _answer(forge, self.command, self.path, body)
            self.send_response(status)
            for name, value in headers.items():
                self.send_header(name, value)
            text = b"" if content is None else json.dumps(content).encode()
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815 - the library's names

        def log_message(self, *_: Any) -> None:
            """Say nothing."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    forge.url = f"http://127.0.0.1:{server.server_port}"
    thread = Thread(target=server.serve_forever)
    thread.start()
    try:
        yield forge
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
