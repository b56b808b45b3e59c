"""Commits of a history and what they change, read in a few streams of git and not by a process each."""

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import NamedTuple, TypeVar

from outweigh.mining.repository import HistoryRepository

MOST_LISTED = 500_000
"""How many commits are listed at most, newest first, to find those of a time span and how they were merged."""
_BATCH = 400
_Item = TypeVar("_Item")
_OBJECT_NAME = re.compile(rb"[0-9a-f]{40}|[0-9a-f]{64}")
_UNPRINTABLE = re.compile(r"[^\S\n\t ]|[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
# A file above this is not compared line by line. Renames are searched among so many files only.
_DIFF = ("-c", "core.bigFileThreshold=4m", "diff-tree", "--stdin", "--root", "-r", "-M", "-l200")
_NOTHING_EXECUTED = ("--no-ext-diff", "--no-textconv", "--no-color", "--full-index")


@dataclass(frozen=True, slots=True)
class ListedCommit:
    """A commit in the graph of the history."""

    name: str
    parents: tuple[str, ...]
    time: int

    @property
    def date(self) -> datetime:
        """When it was committed."""
        return datetime.fromtimestamp(max(0, min(self.time, 253_402_300_799)), tz=UTC)


@dataclass(frozen=True, slots=True)
class CommitText:
    """Who made a commit, and what was said about it."""

    author: str
    message: str

    @property
    def subject(self) -> str:
        """The first line."""
        return self.message.partition("\n")[0].strip()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedPath:
    """How one file differs. `status` is git's letter; `added` and `removed` are None where it is not text."""

    status: str
    path: str
    old_path: str
    modes: tuple[str, str]
    blobs: tuple[str, str]
    added: int | None
    removed: int | None

    @property
    def lines(self) -> int:
        """Changed lines."""
        return (self.added or 0) + (self.removed or 0)


class ChangedLines(NamedTuple):
    """The lines of a file that a change removes and adds."""

    removed: list[str]
    added: list[str]


def list_commits(repository: HistoryRepository) -> list[ListedCommit]:
    """The commits of the history, newest first, up to MOST_LISTED."""
    listed = repository.read("rev-list", "--parents", "--timestamp", f"--max-count={MOST_LISTED}", repository.head)
    commits = []
    for line in listed.decode("ascii").splitlines():
        time, name, *parents = line.split()
        commits.append(ListedCommit(name, tuple(parents), int(time)))
    return commits


def count_commits(repository: HistoryRepository) -> int:
    """How many commits the history has."""
    return int(repository.read("rev-list", "--count", repository.head))


def read_texts(repository: HistoryRepository, names: Sequence[str]) -> dict[str, CommitText]:
    """Author and message of each commit; what is not valid text is replaced, and control characters are left out."""
    texts = {}
    for batch in _batches(names):
        stream = repository.read(
            *("log", "--no-walk=unsorted", "--stdin", "-z", "--no-color", "--encoding=UTF-8"),
            "--format=tformat:%H%x00%ae%x00%B",
            stdin="".join(f"{name}\n" for name in batch).encode(),
        )
        fields = [field.decode(errors="replace") for field in stream.split(b"\0")]
        for name, author, message in zip(fields[0::3], fields[1::3], fields[2::3], strict=False):
            texts[name] = CommitText(author, _UNPRINTABLE.sub("", message.replace("\r\n", "\n")).strip())
    return texts


def read_changes(repository: HistoryRepository, pairs: Sequence[tuple[str, str]]) -> dict[str, list[ChangedPath]]:
    """The changed files of each commit against its base, by commit; a commit without a base has all its files."""
    changes: dict[str, list[ChangedPath]] = {}
    for batch in _batches(pairs):
        stream = repository.read(*_DIFF, *_NOTHING_EXECUTED, "-z", "--raw", "--numstat", stdin=_lines(batch))
        tokens = iter(stream.split(b"\0"))
        changes.update(_read_commits(tokens))
    return changes


def read_changed_lines(
    repository: HistoryRepository, pairs: Sequence[tuple[str, str]]
) -> dict[str, list[ChangedLines]]:
    """The removed and added lines of each changed file, in the order of `read_changes`, by commit."""
    found: dict[str, list[ChangedLines]] = {}
    for batch in _batches(pairs):
        stream = repository.read(*_DIFF, *_NOTHING_EXECUTED, "-p", "-U0", stdin=_lines(batch))
        files: list[ChangedLines] = []
        in_hunk = False
        for line in stream.split(b"\n"):
            start = line[:1]
            if in_hunk and start in (b"+", b"-"):
                (files[-1].added if start == b"+" else files[-1].removed).append(line[1:].decode(errors="replace"))
            elif line.startswith(b"diff --git "):
                files.append(ChangedLines([], []))
                in_hunk = False
            elif start == b"@":
                in_hunk = True
            elif _OBJECT_NAME.fullmatch(line):
                files = found.setdefault(line.decode(), [])
                in_hunk = False
    return found


def _lines(pairs: Sequence[tuple[str, str]]) -> bytes:
    return "".join(f"{fix} {base}".strip() + "\n" for fix, base in pairs).encode()


def _batches(items: Sequence[_Item]) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), _BATCH):
        yield items[start : start + _BATCH]


def _read_commits(tokens: Iterator[bytes]) -> Iterator[tuple[str, list[ChangedPath]]]:
    """Commits of `diff-tree -z --raw --numstat`: a name, then all raw entries, then the counts in the same order."""
    name, raw, counts = "", [], []
    for token in tokens:
        if token.startswith(b":"):
            renamed = token.rpartition(b" ")[2][:1] in (b"R", b"C")
            old = next(tokens)
            raw.append((token, old, next(tokens) if renamed else old))
        elif b"\t" in token:
            added, removed, path = token.split(b"\t", 2)
            if not path:
                next(tokens), next(tokens)
            counts.append((added, removed))
        elif _OBJECT_NAME.fullmatch(token):
            if name:
                yield name, _combined(raw, counts)
            name, raw, counts = token.decode(), [], []
    if name:
        yield name, _combined(raw, counts)


def _combined(raw: list[tuple[bytes, bytes, bytes]], counts: list[tuple[bytes, bytes]]) -> list[ChangedPath]:
    changes = []
    for (entry, old, new), (added, removed) in zip(raw, counts, strict=True):
        old_mode, new_mode, old_blob, new_blob, status = entry[1:].decode("ascii").split(" ")
        change = ChangedPath(
            status=status[0],
            path=os.fsdecode(new),
            old_path=os.fsdecode(old),
            modes=(old_mode, new_mode),
            blobs=(old_blob, new_blob),
            added=int(added) if added != b"-" else None,
            removed=int(removed) if removed != b"-" else None,
        )
        changes.append(change)
    return changes
