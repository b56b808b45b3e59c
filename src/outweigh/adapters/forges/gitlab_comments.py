"""Notes on merge requests of GitLab, by its REST API."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import quote

from outweigh.adapters.forges.comments import Comment, upsert
from outweigh.adapters.forges.rest import Rest

PAGE = 100
MOST_PAGES = 50


class GitLabComments:
    """The notes of one merge request."""

    def __init__(self, rest: Rest, project: str, number: int) -> None:
        self._rest = rest
        self._notes = f"/projects/{quote(project, safe='')}/merge_requests/{number}/notes"

    def upsert(self, body: str, number_of: Callable[[str], int]) -> str:
        """Write the note, or bring it up to date; returns its address."""
        return upsert(
            list(self._comments()),
            body,
            number_of,
            create=lambda text: self._said("POST", self._notes, text),
            update=lambda key, text: self._said("PUT", f"{self._notes}/{key}", text),
            delete=lambda key: self._rest.ask("DELETE", f"{self._notes}/{key}"),
        )

    def _comments(self) -> Iterator[Comment]:
        me = self._rest.ask("GET", "/user")["id"]
        for page in range(1, MOST_PAGES + 1):
            found = self._rest.ask("GET", f"{self._notes}?per_page={PAGE}&page={page}&sort=asc")
            for one in found:
                ours = (one.get("author") or {}).get("id") == me
                yield Comment(key=one["id"], body=one.get("body") or "", ours=ours, url=f"note {one['id']}")
            if len(found) < PAGE:
                return

    def _said(self, method: str, path: str, text: str) -> str:
        answer: dict[str, Any] = self._rest.ask(method, path, {"body": text})
        return f"note {answer['id']}"
