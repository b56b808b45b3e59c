"""Which importer a path is for: the one that was named, or the only one that recognises it."""

from collections.abc import Sequence
from difflib import get_close_matches
from pathlib import Path
from shlex import quote

from outweigh.adapters.stores.own_records import holds_own_records
from outweigh.cli.import_way_out import TABLE, fitting, is_foreign_table, known_importers, way_out
from outweigh.errors import UsageError
from outweigh.plugins import load, names
from outweigh.ports.importers import Importer


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


def choose_importer(named: str | None, path: Path, *, mapped: bool) -> Importer:
    """The importer to use; what more than one recognises is for the user to say, and so is most of what nobody does.

    A file that is a table by its name, or whose columns were `mapped`, needs no other word.
    """
    if named is not None:
        chosen: Importer = load("importer", named)
        return chosen
    found = fitting(path, known_importers())
    if len(found) == 1:
        return found[0]
    if found:
        ways = ", ".join(each.name for each in found)
        raise UsageError(
            f"{path} could be of more than one format. Name it: `outweigh import FORMAT {quote(str(path))} -o RUNS`, "
            f"FORMAT being one of {ways}."
        )
    if is_foreign_table(path) or (mapped and not holds_own_records(path)):
        table: Importer = load("importer", TABLE)
        return table
    raise UsageError(f"{path} {way_out(path)}")


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
