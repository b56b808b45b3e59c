"""The workspace of a mined task: the files of the base as one commit without parents, and nothing of what came later.

Only objects are read and written: no index or working copy of the user, no checkout, no filter.
"""

import os
import posixpath
import re
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from threading import Lock

from outweigh.errors import UsageError
from outweigh.mining.candidate import Candidate
from outweigh.mining.fix_text import FixText, is_changelog
from outweigh.mining.repository import HistoryRepository
from outweigh.workspace.git import GitError, git
from outweigh.workspace.revisions import TreeEntry, repository_settings
from outweigh.workspace.scratch_folder import scratch_folder

_SHOWN_PATHS = 3
_COMMIT_MESSAGE = "Base\n"
_LEFTOVER_FOLDERS = frozenset(
    {
        *("__pycache__", ".pytest_cache", ".mypy_cache", ".ruff_cache", ".hypothesis", ".tox", ".nox", ".eggs"),
        *(".nyc_output", ".eslintcache", ".parcel-cache", ".turbo", ".gradle", ".ipynb_checkpoints"),
    }
)
_LEFTOVER_FILES = re.compile(
    r".*\.(?:pyc|pyo|pyd|class|o|obj|orig|rej|swp|gcda|gcno)|\.coverage(?:\..*)?|\.DS_Store|\.eslintcache|.*~",
    re.IGNORECASE,
)
_REFERENCE = re.compile(r"(?<![\w&])(?:#|GH-|(?:issues|pull|pulls|merge_requests)/)(\d+)\b", re.IGNORECASE)
_ENTRY_START = re.compile(r"\s*(?:[-*+•]|\d+[.)])\s")
_creating = Lock()


class UnsupportedFilesError(Exception):
    """The base has files that cannot be made into a workspace; the message names them."""


def is_leftover(path: str) -> bool:
    """Whether a file was made by tools and may hold what was compiled from other versions of the source."""
    *folders, name = path.split("/")
    return bool(_LEFTOVER_FOLDERS.intersection((*folders, name)) or _LEFTOVER_FILES.fullmatch(name))


def write_workspace(history: HistoryRepository, candidate: Candidate, fix: FixText, repository: Path) -> str:
    """Write the workspace of a candidate as a commit into a repository; returns the commit.

    The same base gives the same commit. Raises UnsupportedFilesError where its files cannot be written.
    """
    entries = history.files(candidate.base)
    _refuse_unsupported(entries)
    kept = {path: entry for path, entry in entries.items() if not is_leftover(path)}
    for path in list(_links_out(history, kept)):
        del kept[path]
    _copy_blobs(history.git_folder, {entry.object_name for entry in kept.values()}, repository)
    lines = {
        path: _index_line("100644" if entry.is_file and entry.mode != "100755" else entry.mode, entry.object_name, path)
        for path, entry in kept.items()
    }
    for path, content in _changelogs_without_fix(history, candidate, fix, kept):
        del lines[path]
        if content is not None:
            name = _run(repository, "hash-object", "-w", "--stdin", "--no-filters", stdin=content).decode().strip()
            lines[path] = _index_line("100644", name, path)
    return _commit_files(repository, lines.values())


def create_repository(folder: Path, history: HistoryRepository, *, borrow: bool = False) -> None:
    """Create an empty bare repository where there is none; with `borrow` it reads objects of the history in place."""
    with _creating:
        if (folder / "HEAD").exists():
            return
        for part in ("objects/info", "refs"):
            (folder / part).mkdir(parents=True, exist_ok=True)
        (folder / "config").write_text(repository_settings(history.head))
        if borrow:
            (folder / "objects/info/alternates").write_bytes(os.fsencode(history.git_folder / "objects") + b"\n")
        (folder / "HEAD").write_text("ref: refs/heads/none\n")


def keep_workspace(repository: Path, commit: str, branch: str) -> None:
    """Give a workspace a branch, so that git does not remove it, and so that every kind of server offers it."""
    _run(repository, "update-ref", f"refs/heads/{branch}", commit)


def _refuse_unsupported(entries: dict[str, TreeEntry]) -> None:
    submodules = [path for path, entry in entries.items() if not (entry.is_file or entry.is_link)]
    if submodules:
        raise UnsupportedFilesError(f"submodules are not part of the history: {_shown(submodules)}")
    unreadable = [path for path in entries if not _is_text(path)]
    if unreadable:
        raise UnsupportedFilesError(f"names of files that are not UTF-8: {_shown(unreadable)}")


def _is_text(path: str) -> bool:
    try:
        path.encode()
    except UnicodeEncodeError:
        return False
    return True


def _shown(paths: Sequence[str]) -> str:
    shown = ", ".join(path.encode(errors="backslashreplace").decode() for path in sorted(paths)[:_SHOWN_PATHS])
    more = len(paths) - _SHOWN_PATHS
    return f"{shown} and {more} more" if more > 0 else shown


def _links_out(history: HistoryRepository, entries: dict[str, TreeEntry]) -> Iterator[str]:
    """The links that lead out of the tree, or into its `.git`."""
    links = {path: entry.object_name for path, entry in entries.items() if entry.is_link}
    targets = history.blobs(links.values())
    for path, name in links.items():
        target = os.fsdecode(targets[name])
        place = posixpath.normpath(posixpath.join(posixpath.dirname(path), target))
        if posixpath.isabs(target) or place.split("/")[0].lower() in ("..", ".git"):
            yield path


def _changelogs_without_fix(
    history: HistoryRepository, candidate: Candidate, fix: FixText, entries: dict[str, TreeEntry]
) -> Iterator[tuple[str, bytes | None]]:
    """Changelogs of the base that announce the change already, without what they say; None for a whole fragment."""
    numbers = frozenset(_REFERENCE.findall(candidate.message))
    changelogs = {path: entry.object_name for path, entry in entries.items() if entry.is_file and is_changelog(path)}
    contents = history.blobs(changelogs.values())
    for path, name in changelogs.items():
        before = contents[name]
        after = _without_mentions(before.decode(errors="surrogateescape"), numbers, fix.names)
        content = after.encode(errors="surrogateescape")
        if content != before:
            yield path, content if content.strip() else None


def _without_mentions(text: str, numbers: frozenset[str], names: frozenset[str]) -> str:
    return "".join(entry for entry in _changelog_entries(text) if not _mentions(entry, numbers, names))


def _changelog_entries(text: str) -> Iterator[str]:
    """A changelog in pieces: list items with the lines that belong to them, and paragraphs."""
    piece = ""
    for line in text.splitlines(keepends=True):
        if piece and (_ENTRY_START.match(line) or not line.strip() or not piece.strip()):
            yield piece
            piece = ""
        piece += line
    yield piece


def _mentions(entry: str, numbers: frozenset[str], names: frozenset[str]) -> bool:
    words = re.findall(r"[\w$]+", entry)
    return not names.isdisjoint(words) or not numbers.isdisjoint(_REFERENCE.findall(entry))


def _copy_blobs(source: Path, names: Iterable[str], target: Path) -> None:
    """Copy exactly these objects; those that the target can read already stay where they are."""
    listed = "".join(f"{name}\n" for name in sorted(names)).encode()
    found = _run(target, "cat-file", "--batch-check", stdin=listed).decode(errors="replace").splitlines()
    missing = "".join(f"{line.split()[0]}\n" for line in found if line.endswith(" missing")).encode()
    if missing:
        packed = _run(source, "pack-objects", "--stdout", "--quiet", stdin=missing)
        _run(target, "unpack-objects", "-q", stdin=packed)


def _index_line(mode: str, name: str, path: str) -> bytes:
    return f"{mode} {name}\t{path}\0".encode()


def _commit_files(repository: Path, lines: Iterable[bytes]) -> str:
    with scratch_folder("index") as folder:
        index = {"GIT_INDEX_FILE": str(folder / "index")}
        try:
            git(
                *("update-index", "-z", "--index-info"),
                folder=repository,
                stdin=b"".join(lines),
                environment={"GIT_DIR": str(repository), **index},
            )
        except GitError as fault:
            raise UnsupportedFilesError(f"git refuses them: {fault}") from fault
        tree = _run(repository, "write-tree", environment=index).decode().strip()
    return _run(repository, "commit-tree", tree, "-F", "-", stdin=_COMMIT_MESSAGE.encode()).decode().strip()


def _run(repository: Path, *arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None) -> bytes:
    try:
        place = {"GIT_DIR": str(repository), **(environment or {})}
        return git(*arguments, folder=repository, stdin=stdin, environment=place)
    except GitError as fault:
        raise UsageError(f"{repository}: git {arguments[0]}: {fault}.") from fault
