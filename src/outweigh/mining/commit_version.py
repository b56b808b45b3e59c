"""The version of a commit by its tags, for projects that take theirs from git."""

import re

from outweigh.mining.repository import HistoryRepository

_MOST_COMMITS = 5000
_VERSION = re.compile(r"(?:^|[-_/v])(\d+(?:\.\d+)+(?:(?:a|b|rc|\.?post|\.?dev)\d+)?)$")


def version_of_tag(name: str) -> str | None:
    """The version that a tag names, as in `v1.2.0` or `release-1.2`; None for other tags."""
    found = _VERSION.search(name)
    return found[1] if found else None


def nearest_version(history: HistoryRepository, commit: str) -> str | None:
    """The version of the last commit before this one that a tag names; None where there is none near."""
    for earlier in history.read("rev-list", f"--max-count={_MOST_COMMITS}", commit).decode().split():
        name = history.tags.get(earlier)
        if name is not None and (version := version_of_tag(name)) is not None:
            return version
    return None
