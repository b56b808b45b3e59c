"""Comments on pull requests of GitHub, by its REST API."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from outweigh.adapters.forges.comments import Comment, upsert
from outweigh.adapters.forges.rest import RefusedError, Rest

PAGE = 100
MOST_PAGES = 50


class GitHubComments:
    """The comments of one pull request."""

    def __init__(self, rest: Rest, repository: str, number: int) -> None:
        self._rest = rest
        owner, _, name = repository.partition("/")
        self._repository = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"
        self._number = number

    def upsert(self, body: str, number_of: Callable[[str], int]) -> str:
        """Write the comment, or bring it up to date; returns its address."""
        return upsert(
            list(self._comments()),
            body,
            number_of,
            create=lambda text: self._said("POST", f"issues/{self._number}/comments", text),
            update=lambda key, text: self._said("PATCH", f"issues/comments/{key}", text),
            delete=lambda key: self._rest.ask("DELETE", f"{self._repository}/issues/comments/{key}"),
        )

    def _comments(self) -> Iterator[Comment]:
        me = self._me()
        for page in range(1, MOST_PAGES + 1):
            place = f"{self._repository}/issues/{self._number}/comments?per_page={PAGE}&page={page}"
            found = self._rest.ask("GET", place)
            for one in found:
                author = one.get("user") or {}
                # A job's own token cannot ask who it is. It is a bot, and no stranger can be one here.
                ours = author.get("type") == "Bot" if me is None else author.get("login") == me
                yield Comment(key=one["id"], body=one.get("body") or "", ours=ours, url=one["html_url"])
            if len(found) < PAGE:
                return

    def _me(self) -> str | None:
        try:
            return str(self._rest.ask("GET", "/user")["login"])
        except RefusedError as fault:
            if fault.status in (401, 403, 404):
                return None
            raise

    def _said(self, method: str, path: str, text: str) -> str:
        answer: dict[str, Any] = self._rest.ask(method, f"{self._repository}/{path}", {"body": text})
        return str(answer["html_url"])
