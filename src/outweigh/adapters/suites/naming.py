"""Names that can be folders and ids, from whatever people call things."""

import re
from collections.abc import Iterable

_OTHER = re.compile(r"[^\w.-]+")
_LONGEST = 60


def folder_name(text: str, otherwise: str) -> str:
    """The text in small letters, words joined by dashes; `otherwise` where nothing is left of it."""
    name = _OTHER.sub("-", text.strip().lower())[:_LONGEST].strip("-._")
    return name or otherwise


def apart(names: Iterable[str]) -> list[str]:
    """The same names, with a number behind each that was there before, told apart from names that end in one."""
    taken: set[str] = set()
    following: dict[str, int] = {}
    found = []
    for name in names:
        candidate, number = name, following.get(name, 2)
        while candidate in taken:
            candidate, number = f"{name}-{number}", number + 1
        following[name] = number
        taken.add(candidate)
        found.append(candidate)
    return found
