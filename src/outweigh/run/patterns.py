"""Patterns as in `.gitignore`, without negation: which paths of a workspace they mean."""

import re
from collections.abc import Iterable

_SEGMENTS = "(?:[^/]+/)*"
_WILDCARDS = {"*": "[^/]*", "?": "[^/]"}


class BadPatternError(ValueError):
    """The pattern cannot be read, or says what these patterns cannot say."""


def compile_patterns(patterns: Iterable[str]) -> re.Pattern[str]:
    """One expression that matches every path (`a/b.txt`) that a pattern names or that lies below one it names."""
    return re.compile("|".join(f"(?:{_expression(pattern)})" for pattern in patterns), re.DOTALL)


def names_git(patterns: Iterable[str]) -> bool:
    """Whether a pattern is about the repository's own folder, which wildcards leave alone."""
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
    """The expression for what stands at a place, and where the next one starts."""
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
