"""GitHub, by its REST API with a token of the environment, or by `gh`."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from outweigh.adapters.forges.gh_program import GhTransport, gh_installed
from outweigh.adapters.forges.rest import HttpTransport, RefusedError, Rest, safe_address
from outweigh.ports.forges import ForgeError, ForgeProject, PullRequest, PullRequestDraft

TOKENS = ("GITHUB_TOKEN", "GH_TOKEN")
_PUBLIC_HOST, _PUBLIC_API = "github.com", "https://api.github.com"
_ALREADY = 422


class GitHub:
    """Pull requests of a repository on github.com or on a server of one's own."""

    name = "github"

    def missing(self, project: ForgeProject) -> str | None:
        """A project, a token or `gh`, and an address that the token may be sent to."""
        if len(project.path.split("/")) != 2 or not project.host:
            return f"{project.path!r} is no repository on GitHub; it would be OWNER/NAME on a host."
        if _token() is None:
            return None if gh_installed() else f"set {TOKENS[0]}, or install `gh` and sign in."
        address = _api(project)
        if address is None:
            return f"the token is not sent to {project.host!r} unasked; name its API by --api, e.g. https://…/api/v3."
        return None if safe_address(address) else f"the token is sent by https alone, not to {address}."

    def find_pull_request(self, project: ForgeProject, branch: str, into: str) -> PullRequest | None:
        """By head and base, in whatever state."""
        owner = project.path.split("/")[0]
        query = urlencode({"head": f"{owner}:{branch}", "base": into, "state": "all", "per_page": "100"})
        listed = self._rest(project).ask("GET", f"{_place(project)}/pulls?{query}")
        rows = listed if isinstance(listed, list) else []
        found = [_pull_request(row) for row in rows if _head(row) == branch]
        return min(found, key=lambda one: (not one.is_open, -(one.number or 0)), default=None)

    def open_pull_request(self, project: ForgeProject, draft: PullRequestDraft) -> PullRequest:
        """One request; where there is one already, that one."""
        wanted = {
            "title": draft.title,
            "body": draft.body,
            "head": draft.branch,
            "base": draft.into,
            "draft": draft.draft,
        }
        try:
            return _pull_request(self._rest(project).ask("POST", f"{_place(project)}/pulls", wanted))
        except RefusedError as refusal:
            there = refusal.status == _ALREADY and self.find_pull_request(project, draft.branch, draft.into)
            if not there or not there.is_open:
                raise
            return there

    def finish_pull_request(self, project: ForgeProject, opened: PullRequest, draft: PullRequestDraft) -> None:
        """Labels, then reviewers; one that is written ORG/TEAM is a team."""
        rest, place = self._rest(project), _place(project)
        if draft.labels:
            rest.ask("POST", f"{place}/issues/{opened.number}/labels", {"labels": draft.labels})
        if draft.reviewers:
            people = [name for name in draft.reviewers if "/" not in name]
            teams = [name.rpartition("/")[2] for name in draft.reviewers if "/" in name]
            wanted = {"reviewers": people, "team_reviewers": teams}
            rest.ask("POST", f"{place}/pulls/{opened.number}/requested_reviewers", wanted)

    def close_pull_request(self, project: ForgeProject, opened: PullRequest) -> None:
        """It stays visible as closed: GitHub deletes none."""
        self._rest(project).ask("PATCH", f"{_place(project)}/pulls/{opened.number}", {"state": "closed"})

    def _rest(self, project: ForgeProject) -> Rest:
        token, address = _token(), _api(project)
        if token is None or address is None:
            return Rest(GhTransport(project.host))
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        return Rest(HttpTransport(address, headers))


def _token() -> str | None:
    return next((os.environ[name] for name in TOKENS if os.environ.get(name)), None)


def _api(project: ForgeProject) -> str | None:
    """Named by the caller, by the CI that runs us, or known; never guessed from whatever a remote says."""
    if project.api_url is not None:
        return project.api_url
    if urlsplit(os.environ.get("GITHUB_SERVER_URL", "")).netloc.lower() == project.host:
        return os.environ.get("GITHUB_API_URL")
    return _PUBLIC_API if project.host == _PUBLIC_HOST else None


def _place(project: ForgeProject) -> str:
    return f"/repos/{quote(project.path)}"


def _head(row: Any) -> str | None:
    head = row.get("head") if isinstance(row, Mapping) else None
    return head.get("ref") if isinstance(head, Mapping) else None


def _pull_request(row: Any) -> PullRequest:
    if not isinstance(row, Mapping) or not isinstance(row.get("number"), int):
        raise ForgeError("GitHub's answer is no pull request; is the address of its API right?")
    return PullRequest(number=row["number"], url=str(row.get("html_url")), is_open=row.get("state") == "open")
