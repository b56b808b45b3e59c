"""Which project of which host an address of a repository means. Pure."""

import re
from urllib.parse import urlsplit

from outweigh.ports.forges import ForgeProject

_SHORT = re.compile(r"(?:[^@/:]+@)?(?P<host>[^/:@]+):(?P<path>[^/].*)")
_PAGES = {"github": "https://{host}/{path}/pull/new/{branch}", "gitlab": "https://{host}/{path}/-/merge_requests/new"}


def project_of(address: str, api_url: str | None = None) -> ForgeProject:
    """The project behind `https://host/path`, `ssh://git@host/path` or `git@host:path`; a folder has no host."""
    if "://" in address:
        parts = urlsplit(address)
        host = "" if parts.scheme == "file" else (parts.hostname or "")
        port = f":{parts.port}" if host and parts.port and parts.scheme in ("http", "https") else ""
        return ForgeProject(host=host + port, path=_project_path(parts.path), api_url=api_url)
    if short := _SHORT.fullmatch(address):
        return ForgeProject(host=short["host"].lower(), path=_project_path(short["path"]), api_url=api_url)
    return ForgeProject(host="", path=_project_path(address), api_url=api_url)


def forge_of(host: str) -> str:
    """The forge that a host is known to be, by its name; `git` where nobody can tell."""
    return next((name for name in ("github", "gitlab") if name in re.split(r"[.:]", host)), "git")


def page_to_open(project: ForgeProject, branch: str) -> str | None:
    """Where a person opens a pull request of a branch; None where nobody knows."""
    page = _PAGES.get(forge_of(project.host))
    return None if page is None else page.format(host=project.host, path=project.path, branch=branch)


def _project_path(path: str) -> str:
    return path.strip("/").removesuffix(".git")
