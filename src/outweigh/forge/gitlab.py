"""GitLab's merge requests, by its REST API with a token from the environment."""

import os
from collections.abc import Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

from outweigh.forge.rest_api import ForgeApi, ForgeRefusedError, HttpForgeTransport, may_send_token
from outweigh.ports.forges import ForgeError, ForgeProject, PullRequest, PullRequestDraft

TOKEN_VARIABLE = "GITLAB_TOKEN"
_PUBLIC_HOST, _PUBLIC_API = "gitlab.com", "https://gitlab.com/api/v4"
_ALREADY_EXISTS_STATUS = 409


class GitLab:
    """Merge requests of a project on gitlab.com or on a server of one's own."""

    name = "gitlab"

    def missing(self, project: ForgeProject) -> str | None:
        """A project, a token, and an address that the token may be sent to."""
        if "/" not in project.path or not project.host:
            return f"{project.path!r} is not a project on GitLab; it would be GROUP/NAME on a host."
        if not os.environ.get(TOKEN_VARIABLE):
            return f"set {TOKEN_VARIABLE} to a token with the scope `api`."
        address = _api_url(project)
        if address is None:
            return (
                f"the token is not sent to {project.host!r} unless you name its API with --api, e.g. https://…/api/v4."
            )
        return None if may_send_token(address) else f"the token is sent by https alone, not to {address}."

    def find_pull_request(self, project: ForgeProject, branch: str, into: str) -> PullRequest | None:
        """By source and target, in whatever state."""
        query = urlencode({"source_branch": branch, "target_branch": into, "state": "all", "per_page": "100"})
        listed = _forge_api(project).request("GET", f"{_project_path(project)}/merge_requests?{query}")
        rows = listed if isinstance(listed, list) else []
        found = [_merge_request(row) for row in rows if isinstance(row, Mapping) and row.get("source_branch") == branch]
        return min(found, key=lambda one: (not one.is_open, -(one.number or 0)), default=None)

    def open_pull_request(self, project: ForgeProject, draft: PullRequestDraft) -> PullRequest:
        """One request; where there is one already, that one."""
        wanted = {
            "source_branch": draft.branch,
            "target_branch": draft.into,
            "title": f"Draft: {draft.title}" if draft.draft else draft.title,
            "description": draft.body,
            "remove_source_branch": True,
        }
        try:
            return _merge_request(
                _forge_api(project).request("POST", f"{_project_path(project)}/merge_requests", wanted)
            )
        except ForgeRefusedError as refusal:
            there = refusal.status == _ALREADY_EXISTS_STATUS and self.find_pull_request(
                project, draft.branch, draft.into
            )
            if not there or not there.is_open:
                raise
            return there

    def finish_pull_request(self, project: ForgeProject, opened: PullRequest, draft: PullRequestDraft) -> None:
        """Labels and reviewers at once; people are found by their user names."""
        if not draft.labels and not draft.reviewers:
            return
        rest = _forge_api(project)
        wanted: dict[str, Any] = {"reviewer_ids": [_find_user_id(rest, name) for name in draft.reviewers]}
        if draft.labels:
            wanted["add_labels"] = ",".join(draft.labels)
        rest.request("PUT", f"{_project_path(project)}/merge_requests/{opened.number}", wanted)

    def close_pull_request(self, project: ForgeProject, opened: PullRequest) -> None:
        """It stays visible as closed."""
        _forge_api(project).request(
            "PUT", f"{_project_path(project)}/merge_requests/{opened.number}", {"state_event": "close"}
        )


def _forge_api(project: ForgeProject) -> ForgeApi:
    return ForgeApi(HttpForgeTransport(_api_url(project) or "", {"PRIVATE-TOKEN": os.environ.get(TOKEN_VARIABLE, "")}))


def _api_url(project: ForgeProject) -> str | None:
    """Named by the caller, by the CI that runs us, or known; never guessed from whatever a remote says."""
    if project.api_url is not None:
        return project.api_url
    if urlsplit(os.environ.get("CI_SERVER_URL", "")).netloc.lower() == project.host:
        return os.environ.get("CI_API_V4_URL")
    return _PUBLIC_API if project.host == _PUBLIC_HOST else None


def _project_path(project: ForgeProject) -> str:
    return f"/projects/{quote(project.path, safe='')}"


def _find_user_id(rest: ForgeApi, name: str) -> int:
    listed = rest.request("GET", f"/users?{urlencode({'username': name})}")
    if not isinstance(listed, list) or not listed or not isinstance(listed[0].get("id"), int):
        raise ForgeError(f"GitLab has no user {name!r} to ask for a review.")
    number: int = listed[0]["id"]
    return number


def _merge_request(row: Any) -> PullRequest:
    if not isinstance(row, Mapping) or not isinstance(row.get("iid"), int):
        raise ForgeError("GitLab's answer is not a merge request; is the address of its API right?")
    return PullRequest(number=row["iid"], url=str(row.get("web_url")), is_open=row.get("state") == "opened")
