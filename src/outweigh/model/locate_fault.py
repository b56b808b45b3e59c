"""Adds the line and the column to an error about what a file means, such as a skill that does not exist.

Checks of what a suite or a task means name the file first, then the key: `suite.toml: arms.new.skills: …`. Loaded only
when there is an error.
"""

import re

from outweigh.errors import UsageError
from outweigh.model.toml_positions import Entry, KeyPath, TomlPositions

_NAMED_PATH = re.compile(r"\[*([A-Za-z_][\w.-]*)")
_QUOTED = re.compile(r"'([^']+)'|\"([^\"]+)\"")


def locate_error(error: UsageError, text: str, source: str) -> UsageError:
    """The same error with the position of the key or value that it names; unchanged where it names none."""
    start = f"{source}: "
    if not str(error).startswith(start):
        return error
    said = str(error).removeprefix(start)
    positions = TomlPositions(text)
    path = _find_place(said, positions)
    if path is None:
        return error
    line, column = positions.of_value(path)
    return UsageError(f"{source}:{line}:{column}: {said}")


def _find_place(said: str, positions: TomlPositions) -> KeyPath | None:
    """The key that the message begins with, or below it the first key or value that it quotes."""
    named = _NAMED_PATH.match(said)
    table = () if named is None else _existing_path(named[1], positions)
    for groups in _QUOTED.findall(said):
        word = groups[0] or groups[1]
        for path, entry in positions.entries.items():
            if path[: len(table)] == table and _is_named(word, path, entry, positions.text):
                return path
    return table or None


def _existing_path(dotted: str, positions: TomlPositions) -> KeyPath:
    """The longest beginning of a dotted name that is a path of the file."""
    path: KeyPath = ()
    for part in dotted.rstrip(".").split("."):
        if (*path, part) not in positions.entries:
            break
        path = (*path, part)
    return path


def _is_named(word: str, path: KeyPath, entry: Entry, text: str) -> bool:
    return path[-1] == word or text[entry.value : entry.end] in (f'"{word}"', f"'{word}'")
