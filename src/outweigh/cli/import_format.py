"""Which importer a path is for: the one that was named, or the only one that recognises it."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path

from outweigh.errors import UsageError
from outweigh.plugins import load, names
from outweigh.ports import Importer


def split_format(what: Sequence[str]) -> tuple[str | None, list[Path]]:
    """The format, where the first argument is one, and the paths."""
    known = names("importer")
    first, *rest = what
    if first in known and (rest or not Path(first).exists()):
        if not rest:
            raise UsageError(f"`outweigh import {first}` needs a PATH to read.")
        return first, [_existing(path) for path in rest]
    if rest and not Path(first).exists():
        near = get_close_matches(first, known, n=1)
        hint = f" Did you mean {near[0]!r}?" if near else ""
        raise UsageError(f"{first!r} is neither a file nor a format; formats are {', '.join(known)}.{hint}")
    return None, [_existing(path) for path in what]


def choose_importer(named: str | None, path: Path) -> Importer:
    """The importer to use; what nobody or more than one recognises is for the user to say."""
    if named is not None:
        chosen: Importer = load("importer", named)
        return chosen
    fitting: list[Importer] = [each for name in names("importer") if (each := load("importer", name)).recognises(path)]
    if len(fitting) == 1:
        return fitting[0]
    ways = ", ".join(each.name for each in fitting) or ", ".join(names("importer"))
    found = "could be of more than one format" if fitting else "is of no format that is known here"
    raise UsageError(f"{path} {found}. Name it: `outweigh import FORMAT {path} -o RUNS`, FORMAT being one of {ways}.")


def _existing(text: str) -> Path:
    path = Path(text)
    try:
        there = path.exists()
    except (OSError, ValueError):
        there = False
    if not there:
        raise UsageError(f"there is no {text}; name the file or folder that the harness left.")
    if not path.is_file() and not path.is_dir():
        raise UsageError(f"{text} is neither a file nor a folder, and it is read more than once: write it into a file.")
    return path
