"""Reads the history of the user's repository, and nothing but its objects: no hook, filter, index or working copy."""

import os
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.model.failure import detail_line
from outweigh.workspace.git import GitError, git
from outweigh.workspace.revisions import (
    ANY_OWNER,
    NO_FETCH,
    GitRevisions,
    TreeEntry,
    borrowed_objects,
    list_commit,
    read_contents,
)


class HistoryRepository:
    """The objects of a repository, read through a private bare one that borrows them. `tags` are names by commit."""

    def __init__(self, git_folder: Path, head: str, tags: Mapping[str, str] | None = None) -> None:
        self.git_folder = git_folder
        self.head = head
        self.tags = tags or {}

    def read(self, *arguments: str, stdin: bytes = b"") -> bytes:
        """The output of a git command that reads objects."""
        try:
            return git(*arguments, folder=self.git_folder, environment={"GIT_DIR": str(self.git_folder)}, stdin=stdin)
        except GitError as fault:
            raise UsageError(
                f"the history cannot be read: {fault}. Fetch it completely, without a filter, and try again."
            ) from fault

    def files(self, commit: str) -> dict[str, TreeEntry]:
        """Every entry of a commit except folders, by path."""
        return list_commit(self.git_folder, commit)

    def content(self, commit: str, path: str) -> bytes | None:
        """The content of a file of a commit; None where there is none."""
        try:
            return self.read("cat-file", "blob", f"{commit}:{path}")
        except UsageError:
            return None

    def blobs(self, names: Iterable[str]) -> dict[str, bytes]:
        """The contents of files by the names of their objects."""
        return read_contents(self.git_folder, names)

    def patch(self, base: str, fix: str, paths: Sequence[str] = ()) -> bytes:
        """The difference between two commits, in the form that `git apply` takes."""
        return self.read("diff", "--binary", "--full-index", "--no-renames", "--no-ext-diff", base, fix, "--", *paths)

    def found_at(self, commit: str, texts: Sequence[str], *, whole_words: bool = False) -> frozenset[str]:
        """Which of these single lines of text stand somewhere in the text files of a commit."""
        if not texts:
            return frozenset()
        patterns = "".join(f"{text}\n" for text in texts).encode()
        words = ["--word-regexp"] if whole_words else []
        options = ["--only-matching", "-h", "-I", "--fixed-strings", *words, "-f", "-"]
        environment = {"GIT_DIR": str(self.git_folder)}
        arguments = ["grep", *options, commit]
        output = git(*arguments, folder=self.git_folder, environment=environment, stdin=patterns, accept=1)
        return frozenset(output.decode(errors="replace").splitlines()) & frozenset(texts)


@contextmanager
def open_history(folder: Path, ref: str = "HEAD") -> Iterator[HistoryRepository]:
    """Open the history of the repository that contains a folder; raise UsageError where there is none to mine."""
    if shutil.which("git") is None:
        raise UsageError("git was not found, and a history is read with it. Install git, and try again.")
    if not folder.is_dir():
        raise UsageError(f"there is no folder {folder}; name the repository whose history is to be read.")
    try:
        found = _ask(folder, "rev-parse", "--git-path", "objects")
        shallow = _ask(folder, "rev-parse", "--is-shallow-repository")
        tags = _tags(folder)
    except GitError as fault:
        raise UsageError(
            f"{folder} is not in a git repository that can be read, so it has no history to take tasks from: "
            f"{detail_line(str(fault)).rstrip('.')}."
        ) from fault
    if ref == "HEAD" and not _has_head(folder):
        raise UsageError(f"{folder} is a repository without commits, so it has no history to take tasks from.")
    if shallow.strip() == b"true":
        raise UsageError(
            f"{folder} is a shallow clone, which has no history to take tasks from. Fetch it with "
            "`git fetch --unshallow`, and try again."
        )
    head = GitRevisions(folder).commit(ref)
    objects = Path(folder, os.fsdecode(found).rstrip("\n")).resolve()
    with borrowed_objects(objects, head) as own:
        yield HistoryRepository(own, head, tags)


def _ask(folder: Path, *arguments: str) -> bytes:
    return git(*ANY_OWNER, *arguments, folder=folder, environment=NO_FETCH)


def _tags(folder: Path) -> dict[str, str]:
    form = "--format=%(objectname) %(*objectname) %(refname:strip=2)"
    listed = _ask(folder, "for-each-ref", form, "refs/tags")
    found = {}
    for line in listed.decode(errors="replace").splitlines():
        own, pointed, name = line.split(" ", 2)
        found[pointed or own] = name
    return found


def _has_head(folder: Path) -> bool:
    try:
        _ask(folder, "rev-parse", "--verify", "--quiet", "HEAD")
    except GitError:
        return False
    return True
