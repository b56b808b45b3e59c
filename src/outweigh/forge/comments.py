"""Comments on pull requests (GitHub) and merge requests (GitLab).

There is one comment per mark: the first of ours is updated, duplicates are removed, and somebody else's comment is
never touched.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

from outweigh.forge.rest_api import ForgeApi, ForgeRefusedError


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeComment:
    """A comment as the forge has it; `ours` where whoever holds the token wrote it."""

    key: int
    body: str
    is_ours: bool
    url: str


def upsert_comment(
    comments: Sequence[ForgeComment],
    body: str,
    run_number_of: Callable[[str], int],
    *,
    create: Callable[[str], str],
    update: Callable[[int, str], str],
    delete: Callable[[int], None],
) -> str:
    """The address of the comment that now says `body`, whose first line is its mark.

    Somebody else's comment is never touched, whatever mark it bears. One that a later run has written stays.
    """
    mark = body.partition("\n")[0]
    found = sorted(
        (one for one in comments if one.is_ours and one.body.partition("\n")[0].strip() == mark),
        key=lambda one: one.key,
    )
    if not found:
        return create(body)
    first, *doubles = found
    for double in doubles:
        delete(double.key)
    if max(map(run_number_of, (one.body for one in found))) > run_number_of(body):
        return first.url
    return first.url if first.body.strip() == body.strip() else update(first.key, body)


COMMENT_PAGE_SIZE = 100
MAX_COMMENT_PAGES = 50


class GitHubComments:
    """The comments of one pull request."""

    def __init__(self, rest: ForgeApi, repository: str, number: int) -> None:
        self._forge_api = rest
        owner, _, name = repository.partition("/")
        self._repository = f"/repos/{quote(owner, safe='')}/{quote(name, safe='')}"
        self._number = number

    def upsert(self, body: str, run_number_of: Callable[[str], int]) -> str:
        """Write the comment, or bring it up to date; returns its address."""
        return upsert_comment(
            list(self._comments()),
            body,
            run_number_of,
            create=lambda text: self._send("POST", f"issues/{self._number}/comments", text),
            update=lambda key, text: self._send("PATCH", f"issues/comments/{key}", text),
            delete=lambda key: self._forge_api.request("DELETE", f"{self._repository}/issues/comments/{key}"),
        )

    def _comments(self) -> Iterator[ForgeComment]:
        me = self._me()
        for page in range(1, MAX_COMMENT_PAGES + 1):
            place = f"{self._repository}/issues/{self._number}/comments?per_page={COMMENT_PAGE_SIZE}&page={page}"
            found = self._forge_api.request("GET", place)
            for one in found:
                author = one.get("user") or {}
                # A job's own token cannot ask who it is. It is a bot, and no stranger can be one here.
                is_ours = author.get("type") == "Bot" if me is None else author.get("login") == me
                yield ForgeComment(key=one["id"], body=one.get("body") or "", is_ours=is_ours, url=one["html_url"])
            if len(found) < COMMENT_PAGE_SIZE:
                return

    def _me(self) -> str | None:
        try:
            return str(self._forge_api.request("GET", "/user")["login"])
        except ForgeRefusedError as fault:
            if fault.status in (401, 403, 404):
                return None
            raise

    def _send(self, method: str, path: str, text: str) -> str:
        answer: dict[str, Any] = self._forge_api.request(method, f"{self._repository}/{path}", {"body": text})
        return str(answer["html_url"])


class GitLabComments:
    """The notes of one merge request."""

    def __init__(self, rest: ForgeApi, project: str, number: int) -> None:
        self._forge_api = rest
        self._notes = f"/projects/{quote(project, safe='')}/merge_requests/{number}/notes"

    def upsert(self, body: str, run_number_of: Callable[[str], int]) -> str:
        """Write the note, or bring it up to date; returns its address."""
        return upsert_comment(
            list(self._comments()),
            body,
            run_number_of,
            create=lambda text: self._send("POST", self._notes, text),
            update=lambda key, text: self._send("PUT", f"{self._notes}/{key}", text),
            delete=lambda key: self._forge_api.request("DELETE", f"{self._notes}/{key}"),
        )

    def _comments(self) -> Iterator[ForgeComment]:
        me = self._forge_api.request("GET", "/user")["id"]
        for page in range(1, MAX_COMMENT_PAGES + 1):
            found = self._forge_api.request("GET", f"{self._notes}?per_page={COMMENT_PAGE_SIZE}&page={page}&sort=asc")
            for one in found:
                is_ours = (one.get("author") or {}).get("id") == me
                yield ForgeComment(key=one["id"], body=one.get("body") or "", is_ours=is_ours, url=f"note {one['id']}")
            if len(found) < COMMENT_PAGE_SIZE:
                return

    def _send(self, method: str, path: str, text: str) -> str:
        answer: dict[str, Any] = self._forge_api.request(method, path, {"body": text})
        return f"note {answer['id']}"
