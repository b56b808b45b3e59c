"""Whether a tool call is one of those that a task describes."""

import re
from collections.abc import Iterable, Iterator
from fnmatch import fnmatchcase

from outweigh.task.action import ActionPattern, Globs
from outweigh.transcript.tool_calls import SeenCall

LONGEST_TEXT = 10_000
"""Of what an agent wrote, so much is looked at."""

_SEPARATORS = re.compile(r"&&|\|\||[;|\n]")


def fits(call: SeenCall, pattern: ActionPattern) -> bool:
    """Whether all that the pattern states is true of the call."""
    return (
        (pattern.action is None or call.action is pattern.action)
        and _any(pattern.tool, (call.tool,))
        and _any(pattern.command, (part for command in call.commands for part in _parts(command)))
        and _any(pattern.path, (end for path in call.paths for end in _ends(path)))
    )


def _any(globs: Globs | None, texts: Iterable[str]) -> bool:
    if globs is None:
        return True
    patterns = [globs] if isinstance(globs, str) else globs
    return any(fnmatchcase(text, pattern) for text in texts for pattern in patterns)


def _parts(command: str) -> Iterator[str]:
    """The whole line, and each command in it."""
    text = command[:LONGEST_TEXT].strip()
    yield text
    yield from (part.strip() for part in _SEPARATORS.split(text))


def _ends(path: str) -> Iterator[str]:
    """The path, and all its ends: agents name the same file from different folders."""
    text = path[:LONGEST_TEXT].removeprefix("./")
    yield text
    names = text.split("/")
    yield from ("/".join(names[first:]) for first in range(1, len(names)))
