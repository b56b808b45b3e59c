"""The check that certain files are as they were before the agent came."""

import os
import stat
from collections.abc import Iterator, Mapping
from hashlib import file_digest
from pathlib import Path

from outweigh.errors import name_some
from outweigh.run import confined
from outweigh.run.outcome import Outcome
from outweigh.run.patterns import BadPatternError, compile_patterns, names_git
from outweigh.task.arm import OverlayFile
from outweigh.task.check import UnchangedCheck

_CHUNK = 1024 * 1024


def unchanged(check: UnchangedCheck, root: Path, untouched: Path, overlay: Mapping[str, OverlayFile]) -> Outcome:
    """Passed when nothing the patterns name was changed, added or removed.

    A file that the arm laid into the workspace must be as it was laid. `.git` counts only where a pattern names it.
    """
    try:
        pattern = compile_patterns(check.paths)
    except BadPatternError as fault:
        return Outcome(passed=None, detail=str(fault))
    with_git = names_git(check.paths)
    before = {path for path in _files(untouched, with_git=with_git) if pattern.match(path)}
    before |= {path for path in overlay if pattern.match(path)}
    after = {path for path in _files(root, with_git=with_git) if pattern.match(path)}
    edited = {path for path in before & after if not _same(root, untouched, path, overlay.get(path))}
    return _judge({"changed": edited, "added": after - before, "removed": before - after})


def _judge(differences: Mapping[str, set[str]]) -> Outcome:
    found = [f"{kind}: {name_some(sorted(paths))}" for kind, paths in differences.items() if paths]
    return Outcome(passed=not found, detail="; ".join(found) or None)


def _files(root: Path, *, with_git: bool) -> Iterator[str]:
    """Everything but folders, without entering links."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = list(os.scandir(root / prefix))
        except OSError as fault:
            raise confined.RefusedError(f"{prefix[:200]!r} cannot be listed: {fault.strerror}") from None
        for entry in entries:
            path = f"{prefix}{entry.name}"
            if entry.is_dir(follow_symlinks=False):
                waiting += [f"{path}/"] if with_git or path != ".git" else []
            else:
                yield path


def _same(root: Path, untouched: Path, path: str, laid: OverlayFile | None) -> bool:
    after = (root / path).lstat()
    if laid is not None:
        return (
            stat.S_ISREG(after.st_mode) and _executable(after) == laid.executable and _hash(root, path) == laid.sha256
        )
    before = (untouched / path).lstat()
    if stat.S_IFMT(before.st_mode) != stat.S_IFMT(after.st_mode):
        return False
    if stat.S_ISLNK(before.st_mode):
        return (root / path).readlink() == (untouched / path).readlink()
    if not stat.S_ISREG(before.st_mode) or before.st_size != after.st_size:
        return False
    return _executable(before) == _executable(after) and _same_content(root, untouched, path)


def _executable(status: os.stat_result) -> bool:
    return bool(status.st_mode & stat.S_IXUSR)


def _hash(root: Path, path: str) -> str:
    with confined.open_plain(root, path) as file:
        return file_digest(file, "sha256").hexdigest()


def _same_content(root: Path, untouched: Path, path: str) -> bool:
    with confined.open_plain(root, path) as mine, confined.open_plain(untouched, path) as original:
        while True:
            piece = mine.read(_CHUNK)
            if piece != original.read(_CHUNK):
                return False
            if not piece:
                return True
