"""GitHub's pull requests, by its REST API with a token from the environment, or by the program `gh`, which has its own
sign-in.
"""

import os
from collections.abc import Mapping
from shutil import which
from subprocess import TimeoutExpired
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from outweigh.forge.rest_api import (
    REQUEST_TIMEOUT_SECONDS,
    ForgeApi,
    ForgeRefusedError,
    ForgeReply,
    HttpForgeTransport,
    may_send_token,
)
from outweigh.ports.forges import ForgeError, ForgeProject, PullRequest, PullRequestDraft
from outweigh.process import run_process

GH_PROGRAM = "gh"
_MAX_SHOWN_LENGTH = 300


def is_gh_installed() -> bool:
    """Whether there is such a program here."""
    return which(GH_PROGRAM) is not None


class GhTransport:
    """Requests by `gh api`; the token never passes through us."""

    def __init__(self, host: str) -> None:
        self._host = host

    def send(self, method: str, path: str, body: bytes | None) -> ForgeReply:
        """One request; `gh` prints the answer with its headers, also that of a refusal."""
        command = [GH_PROGRAM, "api", "--include", "--hostname", self._host, "--method", method, path.lstrip("/")]
        try:
            done = run_process(
                [*command, *(["--input", "-"] if body is not None else [])],
                stdin=body or b"",
                timeout_seconds=REQUEST_TIMEOUT_SECONDS,
            )
        except (OSError, TimeoutExpired) as fault:
            raise ForgeError(f"{GH_PROGRAM} did not do its work: {fault}.") from fault
        reply = _parse_gh_output(done.stdout)
        if reply is None:
            said = done.stderr.decode(errors="replace").strip()[:_MAX_SHOWN_LENGTH]
            raise ForgeError(f"{GH_PROGRAM} has no answer: {said or f'exit code {done.returncode}'}. Is it signed in?")
        return reply


def _parse_gh_output(printed: bytes) -> ForgeReply | None:
    head, _, body = printed.replace(b"\r\n", b"\n").partition(b"\n\n")
    first, *lines = head.decode(errors="replace").split("\n")
    words = first.split()
    if len(words) < 2 or not words[0].startswith("HTTP/") or not words[1].isdigit():
        return None
    pairs = (line.partition(":") for line in lines)
    headers = {name.strip().lower(): value.strip() for name, _, value in pairs}
    return ForgeReply(status=int(words[1]), headers=headers, body=body)


TOKEN_VARIABLES = ("GITHUB_TOKEN", "GH_TOKEN")
_PUBLIC_HOST, _PUBLIC_API = "github.com", "https://api.github.com"
_ALREADY_EXISTS_STATUS = 422


class GitHub:
    """Pull requests of a repository on github.com or on a server of one's own."""

    name = "github"

    def missing(self, project: ForgeProject) -> str | None:
        """A project, a token or `gh`, and an address that the token may be sent to."""
        if len(project.path.split("/")) != 2 or not project.host:
            return f"{project.path!r} is not a repository on GitHub; it would be OWNER/NAME on a host."
        if _token() is None:
            return None if is_gh_installed() else f"set {TOKEN_VARIABLES[0]}, or install `gh` and sign in."
        address = _api_url(project)
        if address is None:
            return (
                f"the token is not sent to {project.host!r} unless you name its API with --api, e.g. https://…/api/v3."
            )
        return None if may_send_token(address) else f"the token is sent by https alone, not to {address}."

    def find_pull_request(self, project: ForgeProject, branch: str, into: str) -> PullRequest | None:
        """By head and base, in whatever state."""
        owner = project.path.split("/")[0]
        query = urlencode({"head": f"{owner}:{branch}", "base": into, "state": "all", "per_page": "100"})
        listed = self._forge_api(project).request("GET", f"{_repository_path(project)}/pulls?{query}")
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
            return _pull_request(self._forge_api(project).request("POST", f"{_repository_path(project)}/pulls", wanted))
        except ForgeRefusedError as refusal:
            there = refusal.status == _ALREADY_EXISTS_STATUS and self.find_pull_request(
                project, draft.branch, draft.into
            )
            if not there or not there.is_open:
                raise
            return there

    def finish_pull_request(self, project: ForgeProject, opened: PullRequest, draft: PullRequestDraft) -> None:
        """Labels, then reviewers; one that is written ORG/TEAM is a team."""
        rest, place = self._forge_api(project), _repository_path(project)
        if draft.labels:
            rest.request("POST", f"{place}/issues/{opened.number}/labels", {"labels": draft.labels})
        if draft.reviewers:
            people = [name for name in draft.reviewers if "/" not in name]
            teams = [name.rpartition("/")[2] for name in draft.reviewers if "/" in name]
            wanted = {"reviewers": people, "team_reviewers": teams}
            rest.request("POST", f"{place}/pulls/{opened.number}/requested_reviewers", wanted)

    def close_pull_request(self, project: ForgeProject, opened: PullRequest) -> None:
        """It stays visible as closed: GitHub deletes none."""
        self._forge_api(project).request(
            "PATCH", f"{_repository_path(project)}/pulls/{opened.number}", {"state": "closed"}
        )

    def _forge_api(self, project: ForgeProject) -> ForgeApi:
        token, address = _token(), _api_url(project)
        if token is None or address is None:
            return ForgeApi(GhTransport(project.host))
        headers = {
            "Authorization": f"Bearer {token}",
            "Accept": "application/vnd.github+json",
            "X-GitHub-Api-Version": "2022-11-28",
        }
        return ForgeApi(HttpForgeTransport(address, headers))


def _token() -> str | None:
    return next((os.environ[name] for name in TOKEN_VARIABLES if os.environ.get(name)), None)


def _api_url(project: ForgeProject) -> str | None:
    """Named by the caller, by the CI that runs us, or known; never guessed from whatever a remote says."""
    if project.api_url is not None:
        return project.api_url
    if urlsplit(os.environ.get("GITHUB_SERVER_URL", "")).netloc.lower() == project.host:
        return os.environ.get("GITHUB_API_URL")
    return _PUBLIC_API if project.host == _PUBLIC_HOST else None


def _repository_path(project: ForgeProject) -> str:
    return f"/repos/{quote(project.path)}"


def _head(row: Any) -> str | None:
    head = row.get("head") if isinstance(row, Mapping) else None
    return head.get("ref") if isinstance(head, Mapping) else None


def _pull_request(row: Any) -> PullRequest:
    if not isinstance(row, Mapping) or not isinstance(row.get("number"), int):
        raise ForgeError("GitHub's answer is not a pull request; is the address of its API right?")
    return PullRequest(number=row["number"], url=str(row.get("html_url")), is_open=row.get("state") == "open")
