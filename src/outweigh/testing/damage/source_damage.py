"""A whole source with one thing wrong in it: a file, or the folders around the files."""

from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from random import Random

from outweigh.testing.damage.archive_damage import Change, broken_archive, changed_member
from outweigh.testing.damage.byte_damage import broken_bytes
from outweigh.testing.damage.json_damage import broken_json, without_a_figure, without_a_value
from outweigh.testing.damage.line_damage import (
    broken_lines,
    broken_table,
    in_a_line,
    table_without_a_figure,
)

_TABLES = {".csv": ",", ".tsv": "\t"}
_LINES = (".jsonl", ".ndjson", ".stdout")
_STRAYS = (".DS_Store", "notes.json", "result.json", "x.jsonl", "y.csv", "z.eval")


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Files by their paths below a folder; links lead to a path. `root` is what a user would name, "." for all."""

    root: str
    files: dict[str, bytes]
    links: dict[str, str]

    def write(self, folder: Path) -> Path:
        """Put everything below a folder, and return the path to be named; what finds no place is left out."""
        for name in sorted({*self.files, *self.links}):
            place = folder / name
            with suppress(FileExistsError, NotADirectoryError, IsADirectoryError):
                place.parent.mkdir(parents=True, exist_ok=True)
                if name in self.links:
                    place.symlink_to(self.links[name])
                else:
                    place.write_bytes(self.files[name])
        (folder / self.root).parent.mkdir(parents=True, exist_ok=True)
        return folder / self.root


def source_at(path: Path) -> Source:
    """What is on the disk, into the memory."""
    if path.is_file():
        return Source(root=path.name, files={path.name: path.read_bytes()}, links={})
    files = sorted(file for file in path.rglob("*") if file.is_file())
    held = {f"{path.name}/{file.relative_to(path).as_posix()}": file.read_bytes() for file in files}
    return Source(root=path.name, files=held, links={})


def broken(source: Source, chance: Random) -> Source:
    """The source with one thing wrong; one without a file is wrong already."""
    if not source.files:
        return source
    if source.root not in source.files and chance.random() < 0.3:
        return _broken_folders(source, chance)
    name = chance.choice(sorted(source.files))
    content = source.files[name]
    changed = None if chance.random() < 0.2 else _broken_inside(name, content, chance)
    return _with(source, name, broken_bytes(content, chance) if changed is None else changed)


def without_figure(source: Source, chance: Random) -> Source | None:
    """The source in which a single number is gone, or is none any more; None where none was found."""
    name = chance.choice(sorted(source.files))
    if (suffix := PurePosixPath(name).suffix) not in _TABLES:
        return _without(source, name, chance, without_a_figure)
    changed = table_without_a_figure(source.files[name], chance, _TABLES[suffix])
    return None if changed is None else _with(source, name, changed)


def without_value(source: Source, chance: Random) -> Source | None:
    """The source in which anything that a JSON object says is gone, or null; None where nothing was found."""
    return _without(source, chance.choice(sorted(source.files)), chance, without_a_value)


def _without(source: Source, name: str, chance: Random, change: Change) -> Source | None:
    content = source.files[name]
    if content.startswith(b"PK"):
        changed = changed_member(content, chance, change)
    else:
        changed = change(content, chance) or in_a_line(content, chance, change)
    return None if changed is None else _with(source, name, changed)


def _broken_inside(name: str, content: bytes, chance: Random) -> bytes | None:
    """Wrong in the file's own terms; None where these are not known."""
    suffix = PurePosixPath(name).suffix
    if content.startswith(b"PK"):
        return broken_archive(content, chance)
    if suffix in _TABLES:
        return broken_table(content, chance, _TABLES[suffix])
    if suffix in _LINES and content.count(b"\n") > 1:
        return broken_lines(content, chance)
    return broken_json(content, chance) or broken_lines(content, chance)


def _broken_folders(source: Source, chance: Random) -> Source:
    """Something is missing, copied into itself, a circle, or in the place of something else."""
    files, links = dict(source.files), dict(source.links)
    name = chance.choice(sorted(files))
    folder = str(PurePosixPath(name).parent)
    match chance.randrange(7):
        case 0:
            del files[name]
        case 1:
            links[f"{folder}/circle"] = "."
        case 2:
            links[f"{folder}/nowhere.json"] = "nowhere.json"
        case 3:
            inside = {each: held for each, held in files.items() if each.startswith(f"{folder}/")}
            files |= {f"{folder}/copy{each[len(folder) :]}": held for each, held in inside.items()}
        case 4:
            files[f"{folder}/{chance.choice(_STRAYS)}"] = chance.choice((b"", b"{}", b"[]", b"\x00", files[name]))
        case 5:
            files[f"{name}/inside.json"] = files.pop(name)
        case _:
            files[f"{folder}/{'deep/' * 20}result.json"] = files[name]
    return replace(source, files=files, links=links)


def _with(source: Source, name: str, content: bytes) -> Source:
    return replace(source, files=source.files | {name: content})
