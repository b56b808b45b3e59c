"""Repository addresses (which host, project and forge one means), and the forge `git` for hosts without a known API:
the branch is pushed, and a person opens the pull request.
"""

import re
from urllib.parse import urlsplit

from outweigh.ports.forges import ForgeProject, PullRequest, PullRequestDraft

_SCP_ADDRESS = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:@]+):(?P<path>[^/].*)")
_NEW_PULL_REQUEST_PAGES = {
    "github": "https://{host}/{path}/pull/new/{branch}",
    "gitlab": "https://{host}/{path}/-/merge_requests/new",
}


def parse_project(address: str, api_url: str | None = None) -> ForgeProject:
    """The project behind `https://host/path`, `ssh://git@host/path` or `git@host:path`; a folder has no host."""
    if "://" in address:
        parts = urlsplit(address)
        host = "" if parts.scheme == "file" else (parts.hostname or "")
        port = f":{parts.port}" if host and parts.port and parts.scheme in ("http", "https") else ""
        return ForgeProject(host=host + port, path=_project_path(parts.path), api_url=api_url)
    if short := _SCP_ADDRESS.fullmatch(address):
        return ForgeProject(host=short["host"].lower(), path=_project_path(short["path"]), api_url=api_url)
    return ForgeProject(host="", path=_project_path(address), api_url=api_url)


def forge_name_of_host(host: str) -> str:
    """The forge that a host is known to be, by its name; `git` where nobody can tell."""
    return next((name for name in ("github", "gitlab") if name in re.split(r"[.:]", host)), "git")


def new_pull_request_page(project: ForgeProject, branch: str) -> str | None:
    """Where a person opens a pull request of a branch; None where nobody knows."""
    page = _NEW_PULL_REQUEST_PAGES.get(forge_name_of_host(project.host))
    return None if page is None else page.format(host=project.host, path=project.path, branch=branch)


def _project_path(path: str) -> str:
    return path.strip("/").removesuffix(".git")


class PlainGit:
    """Needs nothing but git, and opens nothing."""

    name = "git"

    def missing(self, project: ForgeProject) -> str | None:  # noqa: ARG002 - the port's signature
        """Nothing."""
        return None

    def find_pull_request(self, project: ForgeProject, branch: str, into: str) -> PullRequest | None:  # noqa: ARG002
        """Nobody knows."""
        return None

    def open_pull_request(self, project: ForgeProject, draft: PullRequestDraft) -> PullRequest:
        """The address where it can be opened, where that is known."""
        return PullRequest(number=None, url=new_pull_request_page(project, draft.branch), is_open=False)

    def finish_pull_request(self, project: ForgeProject, opened: PullRequest, draft: PullRequestDraft) -> None:
        """Nothing was opened."""

    def close_pull_request(self, project: ForgeProject, opened: PullRequest) -> None:
        """Nothing was opened."""
