"""A forge on loopback: the endpoints of GitHub and GitLab for pull requests and comments, with the errors a test asks
for.
"""

import json
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "token-that-nobody-may-see"
NO_ANSWER = 0
"""The status of a canned response that closes the connection instead of answering."""


@dataclass(frozen=True)
class CannedResponse:
    """The response to the first request whose method and path contain `words`, instead of the forge's own.

    If it is `late`, the forge does first what was requested.
    """

    words: str
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    content: Any = None
    late: bool = False


@dataclass
class LoopbackForge:
    """A forge's pull requests and comments, the requests so far, and the canned responses still to give.

    `user` is who the token belongs to; None for the token of a job, which may not ask. `leaked_tokens` are those that
    were sent to another address than the forge's own.
    """

    url: str = ""
    user: dict[str, Any] | None = field(default_factory=lambda: {"login": "someone", "id": 7})
    pulls: list[dict[str, Any]] = field(default_factory=list)
    comments: list[dict[str, Any]] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)
    canned: list[CannedResponse] = field(default_factory=list)
    leaked_tokens: list[str] = field(default_factory=list)

    def add_comment(self, body: str, login: str = "someone", kind: str = "User") -> dict[str, Any]:
        """A comment by somebody, of whom only `someone` is the owner of the token."""
        key = len(self.comments) + 1
        author = {"login": login, "type": kind, "id": 7 if login == "someone" else 8}
        url = f"https://forge.example/comments/{key}"
        self.comments.append({"id": key, "body": body, "user": author, "author": author, "html_url": url})
        return self.comments[-1]

    def comment_bodies(self) -> list[str]:
        """The text of every comment, in order."""
        return [comment["body"] for comment in self.comments]

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """As GitHub would below /repos/, as GitLab would below /projects/."""
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if parts.path == "/user":
            return (200, self.user) if self.user is not None else (403, {"message": "Resource not accessible"})
        if comment := re.search(r"/(?:comments|notes)(?:/(\d+))?$", parts.path):
            return self._comments(method, comment[1], query, body)
        if parts.path.startswith("/repos/team/config/"):
            return self._github(method, parts.path.removeprefix("/repos/team/config/"), query, body)
        if unquote(parts.path).startswith("/projects/team/config/merge_requests"):
            return self._gitlab(method, parts.path, query, body)
        if parts.path == "/users":
            return 200, [{"id": 7, "username": query["username"]}] if query["username"] != "nobody" else []
        return 404, {"message": "Not Found"}

    def _github(self, method: str, place: str, query: dict[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        if place == "pulls" and method == "GET":
            owner, _, branch = query["head"].partition(":")
            wanted = [pull for pull in self.pulls if pull["head"]["ref"] == branch and pull["base"] == query["base"]]
            return 200, wanted if owner == "team" and query["state"] == "all" else []
        if place == "pulls":
            if any(pull["head"]["ref"] == body["head"] and pull["state"] == "open" for pull in self.pulls):
                said = [{"message": f"A pull request already exists for team:{body['head']}."}]
                return 422, {"message": "Validation Failed", "errors": said}
            return 201, self._add({**body, "head": {"ref": body["head"]}, "state": "open"})
        number = int(re.findall(r"\d+", place)[0])
        pull = self.pulls[number - 1]
        if method == "PATCH" or place.endswith("/labels"):
            pull.update(body)
        elif "nobody" in body["reviewers"]:
            return 422, {"message": "Reviews may only be requested from collaborators."}
        else:
            pull.update(body)
        return 200, pull

    def _gitlab(self, method: str, place: str, query: dict[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        if method == "GET":
            names = ("source_branch", "target_branch")
            return 200, [pull for pull in self.pulls if all(pull[name] == query[name] for name in names)]
        if method == "POST":
            if any(pull["source_branch"] == body["source_branch"] and pull["state"] == "opened" for pull in self.pulls):
                return 409, {"message": ["Another open merge request already exists for this source branch: !1"]}
            return 201, self._add({**body, "state": "opened"})
        pull = self.pulls[int(place.rpartition("/")[2]) - 1]
        pull.update(body)
        if body.get("state_event") == "close":
            pull["state"] = "closed"
        return 200, pull

    def _comments(self, method: str, key: str | None, query: dict[str, str], body: dict[str, Any]) -> tuple[int, Any]:
        if method == "GET":
            page, size = int(query["page"]), int(query["per_page"])
            return 200, self.comments[(page - 1) * size : page * size]
        if method == "POST":
            author = ("someone", "User") if self.user else ("github-actions[bot]", "Bot")
            return 201, self.add_comment(body["body"], *author)
        (comment,) = (each for each in self.comments if key is not None and each["id"] == int(key))
        if method == "DELETE":
            self.comments.remove(comment)
            return 204, None
        comment["body"] = body["body"]
        return 200, comment

    def _add(self, pull: dict[str, Any]) -> dict[str, Any]:
        number = len(self.pulls) + 1
        url = f"https://forge.example/pulls/{number}"
        self.pulls.append({**pull, "number": number, "iid": number, "html_url": url, "web_url": url})
        return self.pulls[-1]


@contextmanager
def loopback_forge() -> Iterator[LoopbackForge]:
    """Serve a forge as long as the context lasts."""
    forge = LoopbackForge()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            words = f"{self.command} {self.path}"
            forge.requests.append(words)
            given = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get("PRIVATE-TOKEN")
            if self.path.startswith("/elsewhere"):
                forge.leaked_tokens.append(str(given))
            canned = next((each for each in forge.canned if each.words in words), None)
            headers: dict[str, str] = {}
            status: int = 401
            content: Any = {"message": "Bad credentials"}
            if given == TOKEN and (canned is None or canned.late):
                status, content = forge.answer(self.command, self.path, body)
            if canned is not None:
                forge.canned.remove(canned)
                if canned.status == NO_ANSWER:
                    self.close_connection = True
                    return
                status, headers, content = canned.status, canned.headers, canned.content or {"message": "trouble"}
            sent = b"" if content is None else json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(sent))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_PATCH = do_PUT = do_DELETE = _serve  # noqa: N815 - the library's names

        def log_message(self, format: str, *arguments: Any) -> None:
            """Keep test output free of access logs."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        forge.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield forge
        finally:
            server.shutdown()
            thread.join()
