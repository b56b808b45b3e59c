"""The version of a commit by its tags, for projects that take theirs from git."""

import re
from collections.abc import Mapping

from outweigh.mining.repository import HistoryRepository

_VERSION = re.compile(r"(?:^|[-_/v])(\d+(?:\.\d+)+(?:(?:a|b|rc|\.?post|\.?dev)\d+)?)$")


def version_of_tag(name: str) -> str | None:
    """The version that a tag names, as in `v1.2.0` or `release-1.2`; None for other tags."""
    found = _VERSION.search(name)
    return found[1] if found else None


def nearest_version(history: HistoryRepository, commit: str, tags: Mapping[str, str]) -> str | None:
    """The version of the last tagged commit before this one, by first parents; `tags` are names by commit."""
    for hash_ in history.read("rev-list", "--first-parent", commit).decode().split():
        if hash_ in tags and (version := version_of_tag(tags[hash_])) is not None:
            return version
    return None
