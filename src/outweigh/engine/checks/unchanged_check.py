"""The check that certain files are as they were before the agent ran.

Files are named by patterns as in `.gitignore`, without negation.
"""

import os
import re
import stat
from collections.abc import Iterable, Iterator, Mapping
from hashlib import file_digest
from pathlib import Path

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.check_outcome import CheckOutcome
from outweigh.errors import quote_names
from outweigh.model.arm import OverlayFile
from outweigh.model.task import UnchangedCheck

_SEGMENTS = "(?:[^/]+/)*"
_WILDCARDS = {"*": "[^/]*", "?": "[^/]"}


class BadPatternError(ValueError):
    """The pattern is malformed or uses an unsupported feature."""


def compile_patterns(patterns: Iterable[str]) -> re.Pattern[str]:
    """One expression that matches every path (`a/b.txt`) that a pattern names, and everything below it."""
    return re.compile("|".join(f"(?:{_expression(pattern)})" for pattern in patterns), re.DOTALL)


def compile_whole_path(pattern: str) -> re.Pattern[str]:
    """An expression that matches exactly the paths that a pattern names, from the top folder on."""
    return re.compile(rf"{_glob(pattern)}\Z", re.DOTALL)


def names_git(patterns: Iterable[str]) -> bool:
    """Whether a pattern names the `.git` folder, which wildcards do not match."""
    return any(pattern.lstrip("/").split("/")[0] == ".git" for pattern in patterns)


def _expression(pattern: str) -> str:
    if pattern.startswith("!"):
        raise BadPatternError(
            f"{pattern!r}: a pattern that takes back another is not known here; name the files instead"
        )
    only_folders = pattern.endswith("/")
    body = pattern.rstrip("/")
    if not body:
        raise BadPatternError(f"{pattern!r} names nothing; write '*' for everything")
    # As in git: a slash at the start or in the middle ties the pattern to the top folder.
    anchored = "/" in body
    start = "" if anchored else _SEGMENTS
    below = "/.+" if only_folders else "(?:/.+)?"
    return f"{start}{_glob(body.removeprefix('/'))}{below}\\Z"


def _glob(body: str) -> str:
    parts: list[str] = []
    position = 0
    while position < len(body):
        text, position = _token(body, position)
        parts.append(text)
    return "".join(parts)


def _token(body: str, at: int) -> tuple[str, int]:
    """The expression for the token at a position, and the position after it."""
    starts_segment = at == 0 or body[at - 1] == "/"
    if starts_segment and body.startswith("**/", at):
        return _SEGMENTS, at + 3
    if starts_segment and body[at:] == "**":
        return ".+", at + 2
    if body[at] == "[":
        return _character_class(body, at)
    if body[at] == "\\":
        return _escaped(body, at)
    return _WILDCARDS.get(body[at]) or re.escape(body[at]), at + 1


def _escaped(body: str, at: int) -> tuple[str, int]:
    if at + 1 == len(body):
        raise BadPatternError(f"{body!r} ends in a backslash that escapes nothing")
    return re.escape(body[at + 1]), at + 2


def _character_class(body: str, at: int) -> tuple[str, int]:
    negated = body[at + 1 : at + 2] in ("!", "^")
    first = at + 1 + negated
    end = body.find("]", first + 1)
    if end < 0:
        raise BadPatternError(f"{body!r} has a '[' without a ']'")
    members = re.sub(r"([\[\]\\^&~|])", r"\\\1", body[first:end])
    try:
        re.compile(f"[{members}]")
    except re.error as fault:
        raise BadPatternError(f"{body!r}: {fault}") from None
    return f"(?!/)[{'^' if negated else ''}{members}]", end + 1


_CHUNK = 1024 * 1024
_LARGEST_HASHED = 2**30


def check_unchanged(
    check: UnchangedCheck, root: Path, untouched: Path, overlay: Mapping[str, OverlayFile]
) -> CheckOutcome:
    """Passed when nothing the patterns name was changed, added or removed.

    A file of the arm's overlay must still have its overlay content. `.git` counts only where a pattern names it.
    """
    try:
        pattern = compile_patterns(check.paths)
    except BadPatternError as fault:
        return CheckOutcome(passed=None, detail=str(fault))
    with_git = names_git(check.paths)
    before = {path for path in list_files(untouched, with_git=with_git) if pattern.match(path)}
    before |= {path for path in overlay if pattern.match(path)}
    after = {path for path in list_files(root, with_git=with_git) if pattern.match(path)}
    edited = {path for path in before & after if not _same(root, untouched, path, overlay.get(path))}
    return _outcome_of_differences({"changed": edited, "added": after - before, "removed": before - after})


def _outcome_of_differences(differences: Mapping[str, set[str]]) -> CheckOutcome:
    found = [f"{kind}: {quote_names(sorted(paths))}" for kind, paths in differences.items() if paths]
    return CheckOutcome(passed=not found, detail="; ".join(found) or None)


def list_files(root: Path, *, with_git: bool) -> Iterator[str]:
    """Everything but folders, without following links."""
    waiting = [""]
    while waiting:
        prefix = waiting.pop()
        try:
            entries = list(os.scandir(root / prefix))
        except OSError as fault:
            raise untrusted_files.UnsafePathError(f"{prefix[:200]!r} cannot be listed: {fault.strerror}") from None
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
    with untrusted_files.open_file(root, path) as file:
        if os.fstat(file.fileno()).st_size > _LARGEST_HASHED:  # a hole of a terabyte takes no space and long to read
            return ""
        return file_digest(file, "sha256").hexdigest()


def _same_content(root: Path, untouched: Path, path: str) -> bool:
    with untrusted_files.open_file(root, path) as mine, untrusted_files.open_file(untouched, path) as original:
        while True:
            piece = mine.read(_CHUNK)
            if piece != original.read(_CHUNK):
                return False
            if not piece:
                return True
