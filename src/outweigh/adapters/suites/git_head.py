"""Which commit a working copy stands at, read from the files of git: reading a suite starts no program."""

import re
from pathlib import Path

from outweigh.adapters.suites.source_files import read_text
from outweigh.errors import UsageError

_FULL_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_REF = re.compile(r"ref: (refs/[^\s~^:?*\[\\]+)")
_ELSEWHERE = "gitdir: "


def repository_of(path: Path) -> Path | None:
    """The working copy that a path lies in."""
    return next((folder for folder in path.resolve().parents if (folder / ".git").exists()), None)


def head_commit(repository: Path) -> str:
    """The full hash of what is checked out; UsageError where there is no commit, or git keeps it in another way."""
    try:
        folder = _git_folder(repository)
        said = read_text(folder / "HEAD").strip()
        named = _REF.fullmatch(said)
        found = said if named is None else _of_ref(named[1], folder)
    except UsageError:
        found = ""
    if not _FULL_HASH.fullmatch(found):
        raise UsageError(
            f"{repository / '.git'} does not say which commit is checked out. Commit something there first, so that "
            "tasks have a state to start from."
        )
    return found


def _git_folder(repository: Path) -> Path:
    """A work tree beside the main one has a file that says where its folder is."""
    place = repository / ".git"
    return place if place.is_dir() else repository / read_text(place).strip().removeprefix(_ELSEWHERE)


def _of_ref(ref: str, folder: Path) -> str:
    """A ref of its own file, or a line of the packed ones; `..` is in no name that git allows."""
    if ".." in ref:
        return ""
    shared = folder / read_text(folder / "commondir").strip() if (folder / "commondir").is_file() else folder
    for place in (folder, shared):
        if (place / ref).is_file():
            return read_text(place / ref).strip()
    lines = (line.partition(" ") for line in read_text(shared / "packed-refs").splitlines())
    return next((commit for commit, _, name in lines if name == ref), "")
