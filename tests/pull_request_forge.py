"""A forge on loopback: the endpoints for pull requests of GitHub and GitLab, with the trouble a test asks for."""

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
"""A trouble of this status hangs up; one that is `late` does so when the work is done."""


@dataclass(frozen=True)
class Trouble:
    """Instead of its own answer, to the first request that has these words."""

    words: str
    status: int
    headers: dict[str, str] = field(default_factory=dict)
    content: Any = None
    late: bool = False


@dataclass
class LoopbackForge:
    """What it holds, what was asked of it, and what it refuses."""

    url: str = ""
    pulls: list[dict[str, Any]] = field(default_factory=list)
    asked: list[str] = field(default_factory=list)
    troubles: list[Trouble] = field(default_factory=list)
    leaked: list[str] = field(default_factory=list)

    def answer(self, method: str, path: str, body: dict[str, Any]) -> tuple[int, Any]:
        """As GitHub would below /repos/, as GitLab would below /projects/."""
        parts = urlsplit(path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
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

    def _add(self, pull: dict[str, Any]) -> dict[str, Any]:
        number = len(self.pulls) + 1
        url = f"https://forge.example/pulls/{number}"
        self.pulls.append({**pull, "number": number, "iid": number, "html_url": url, "web_url": url})
        return self.pulls[-1]


@contextmanager
def loopback_forge() -> Iterator[LoopbackForge]:
    """One that is there as long as the context."""
    forge = LoopbackForge()

    class Handler(BaseHTTPRequestHandler):
        def _serve(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or b"{}")
            words = f"{self.command} {self.path}"
            forge.asked.append(words)
            given = self.headers.get("Authorization", "").removeprefix("Bearer ") or self.headers.get("PRIVATE-TOKEN")
            if self.path.startswith("/elsewhere"):
                forge.leaked.append(str(given))
            trouble = next((one for one in forge.troubles if one.words in words), None)
            headers: dict[str, str] = {}
            status, content = 401, {"message": "Bad credentials"}
            if given == TOKEN and (trouble is None or trouble.late):
                status, content = forge.answer(self.command, self.path, body)
            if trouble is not None:
                forge.troubles.remove(trouble)
                if trouble.status == NO_ANSWER:
                    self.close_connection = True
                    return
                status, headers, content = trouble.status, trouble.headers, trouble.content or {"message": "trouble"}
            sent = json.dumps(content).encode()
            self.send_response(status)
            for name, value in {**headers, "Content-Length": str(len(sent))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(sent)

        do_GET = do_POST = do_PATCH = do_PUT = _serve  # noqa: N815 - the library's names

        def log_message(self, format: str, *arguments: Any) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever, daemon=True)
        thread.start()
        forge.url = f"http://127.0.0.1:{server.server_address[1]}"
        try:
            yield forge
        finally:
            server.shutdown()
            thread.join()
