"""Corrupts a whole source of an import: zip archives, single files, and the folders around them."""

import io
import struct
import warnings
import zipfile
import zlib
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from random import Random

from outweigh.testing.corrupt_content import (
    change_one_line,
    corrupt_bytes,
    corrupt_json,
    corrupt_lines,
    corrupt_table,
    drop_json_figure,
    drop_json_value,
    drop_table_figure,
)

BOMB_BYTES = 8 * 2**20
_CENTRAL_ENTRY = b"PK\x01\x02"
_FLAGS, _METHOD, _CHECKSUM, _PACKED, _SIZE, _OFFSET = 8, 10, 16, 20, 24, 42
_STRANGE_NAMES = (
    "../../out.json",
    "/etc/out.json",
    "C:\\out.json",
    "samples/../../x",
    "a\\..\\..\\b",
    "x" * 300,
    "\x01",
)

ContentChange = Callable[[bytes, Random], bytes | None]


def corrupt_archive(content: bytes, rng: Random) -> bytes | None:
    """A zip archive with one thing wrong; None if it cannot be read."""
    members = unpack_zip(content)
    if not members:
        return None
    match rng.randrange(8):
        case 0 | 1 | 2:
            return change_one_member(content, rng, rng.choice((corrupt_json, corrupt_bytes)))
        case 3:
            members.append((rng.choice(_STRANGE_NAMES), b"{}"))
        case 4:
            members.append(rng.choice(members))
        case 5:
            members.append((rng.choice(members)[0], b" " * BOMB_BYTES))
        case 6:
            members.pop(rng.randrange(len(members)))
        case _:
            return _corrupt_directory(content, rng)
    return pack_zip(members)


def change_one_member(content: bytes, rng: Random, change: ContentChange) -> bytes | None:
    """The archive with one member changed, packed again without Zstandard."""
    members = unpack_zip(content)
    if not members:
        return None
    number = rng.randrange(len(members))
    name, held = members[number]
    changed = change(held, rng)
    if changed is None:
        return None
    members[number] = (name, changed)
    return pack_zip(members)


def unpack_zip(content: bytes) -> list[tuple[str, bytes]]:
    """The names and contents of the members; empty if they cannot be read."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            return [(member.filename, _member_content(opened, content, member)) for member in opened.infolist()]
    except (zipfile.BadZipFile, ValueError, NotImplementedError, RuntimeError, EOFError, zlib.error, struct.error):
        return []


def pack_zip(members: list[tuple[str, bytes]]) -> bytes:
    """An archive with these members; a name may occur twice."""
    target = io.BytesIO()
    with warnings.catch_warnings(), zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as opened:
        warnings.simplefilter("ignore")
        for name, held in members:
            opened.writestr(name, held)
    return target.getvalue()


def _member_content(opened: zipfile.ZipFile, content: bytes, member: zipfile.ZipInfo) -> bytes:
    if member.compress_type != 93:
        return opened.read(member)
    import zstandard  # noqa: PLC0415 - only for archives that are packed with it

    start = member.header_offset
    name_length, extra_length = struct.unpack_from("<HH", content, start + 26)
    begin = start + 30 + name_length + extra_length
    held: bytes = zstandard.ZstdDecompressor().decompressobj().decompress(content[begin : begin + member.compress_size])
    return held


def _corrupt_directory(content: bytes, rng: Random) -> bytes:
    """The archive with a false statement about a member in its directory."""
    places = [place for place in range(len(content)) if content.startswith(_CENTRAL_ENTRY, place)]
    changed = bytearray(content)
    if not places:
        return content
    place = rng.choice(places)
    field, layout, value = rng.choice(
        [
            (_FLAGS, "<H", 1),
            (_METHOD, "<H", 99),
            (_METHOD, "<H", 93),
            (_CHECKSUM, "<I", 0),
            (_PACKED, "<I", 0),
            (_SIZE, "<I", 2**31),
            (_SIZE, "<I", 1),
            (_OFFSET, "<I", 2**31 - 1),
        ]
    )
    struct.pack_into(layout, changed, min(place + field, len(changed) - 4), value)
    return bytes(changed)


_TABLE_DELIMITERS = {".csv": ",", ".tsv": "\t"}
_JSON_LINES_SUFFIXES = (".jsonl", ".ndjson", ".stdout")
_STRAY_FILES = (".DS_Store", "notes.json", "result.json", "x.jsonl", "y.csv", "z.eval")


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceFiles:
    """The files of a source in memory, by their paths below a folder.

    Links map to the paths they lead to. `root` is the path that a user would name, "." for the folder itself.
    """

    root: str
    files: dict[str, bytes]
    links: dict[str, str]

    def write(self, folder: Path) -> Path:
        """Write the files below a folder and return the path to import; paths that cannot be written are skipped."""
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


def read_source_files(path: Path) -> SourceFiles:
    """Read a source from disk."""
    if path.is_file():
        return SourceFiles(root=path.name, files={path.name: path.read_bytes()}, links={})
    files = sorted(file for file in path.rglob("*") if file.is_file())
    held = {f"{path.name}/{file.relative_to(path).as_posix()}": file.read_bytes() for file in files}
    return SourceFiles(root=path.name, files=held, links={})


def corrupt_source_files(source: SourceFiles, rng: Random) -> SourceFiles:
    """The source with one thing wrong; a source without files is returned as it is."""
    if not source.files:
        return source
    if source.root not in source.files and rng.random() < 0.3:
        return _corrupt_folders(source, rng)
    name = rng.choice(sorted(source.files))
    content = source.files[name]
    changed = None if rng.random() < 0.2 else _corrupt_by_format(name, content, rng)
    return _replace_file(source, name, corrupt_bytes(content, rng) if changed is None else changed)


def drop_figure(source: SourceFiles, rng: Random) -> SourceFiles | None:
    """The source with one number removed or replaced by something else; None if no number was found."""
    name = rng.choice(sorted(source.files))
    if (suffix := PurePosixPath(name).suffix) not in _TABLE_DELIMITERS:
        return _change_figure_or_value(source, name, rng, drop_json_figure)
    changed = drop_table_figure(source.files[name], rng, _TABLE_DELIMITERS[suffix])
    return None if changed is None else _replace_file(source, name, changed)


def drop_value(source: SourceFiles, rng: Random) -> SourceFiles | None:
    """The source with one value of a JSON object removed or null; None if no value was found."""
    return _change_figure_or_value(source, rng.choice(sorted(source.files)), rng, drop_json_value)


def _change_figure_or_value(source: SourceFiles, name: str, rng: Random, change: ContentChange) -> SourceFiles | None:
    content = source.files[name]
    if content.startswith(b"PK"):
        changed = change_one_member(content, rng, change)
    else:
        changed = change(content, rng) or change_one_line(content, rng, change)
    return None if changed is None else _replace_file(source, name, changed)


def _corrupt_by_format(name: str, content: bytes, rng: Random) -> bytes | None:
    """The content corrupted in terms of its format; None if the format is not known."""
    suffix = PurePosixPath(name).suffix
    if content.startswith(b"PK"):
        return corrupt_archive(content, rng)
    if suffix in _TABLE_DELIMITERS:
        return corrupt_table(content, rng, _TABLE_DELIMITERS[suffix])
    if suffix in _JSON_LINES_SUFFIXES and content.count(b"\n") > 1:
        return corrupt_lines(content, rng)
    return corrupt_json(content, rng) or corrupt_lines(content, rng)


def _corrupt_folders(source: SourceFiles, rng: Random) -> SourceFiles:
    """The source with a file missing, a folder copied into itself, a link in a circle, or files swapped."""
    files, links = dict(source.files), dict(source.links)
    name = rng.choice(sorted(files))
    folder = str(PurePosixPath(name).parent)
    match rng.randrange(7):
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
            files[f"{folder}/{rng.choice(_STRAY_FILES)}"] = rng.choice((b"", b"{}", b"[]", b"\x00", files[name]))
        case 5:
            files[f"{name}/inside.json"] = files.pop(name)
        case _:
            files[f"{folder}/{'deep/' * 20}result.json"] = files[name]
    return replace(source, files=files, links=links)


def _replace_file(source: SourceFiles, name: str, content: bytes) -> SourceFiles:
    return replace(source, files=source.files | {name: content})
