"""Patch against patch, file by file."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

_FILE = re.compile(r"^diff --git (?P<names>.*)$")
_TARGET = re.compile(r'^\+\+\+ "?b/(?P<path>.*?)"?\t?$')
_SOURCE = re.compile(r'^--- "?a/(?P<path>.*?)"?\t?$')


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchedFile:
    """What a patch does to one file; `lines` are its part of the patch, without the line that begins it."""

    path: str
    added: int
    removed: int
    lines: tuple[str, ...]


class PatchLikeness(StrEnum):
    """How two patches treat a file."""

    SAME = "same"
    DIFFERENT = "different"
    ONLY_A = "only_a"
    ONLY_B = "only_b"


@dataclass(frozen=True, slots=True, kw_only=True)
class PatchPair:
    """A file that at least one of two patches changes."""

    path: str
    likeness: PatchLikeness
    a: PatchedFile | None
    b: PatchedFile | None


def patched_files(patch: str) -> tuple[PatchedFile, ...]:
    """The files of a patch as git writes it. Text before the first file belongs to none."""
    return tuple(_patched(names, lines) for names, lines in _parts(patch))


def compare_patches(a: str, b: str) -> tuple[PatchPair, ...]:
    """Every file that is changed, by path. Index lines name blobs and say nothing that the hunks do not."""
    ours = {file.path: file for file in patched_files(a)}
    theirs = {file.path: file for file in patched_files(b)}
    return tuple(
        PatchPair(
            path=path,
            likeness=_likeness(ours.get(path), theirs.get(path)),
            a=ours.get(path),
            b=theirs.get(path),
        )
        for path in sorted(ours.keys() | theirs.keys())
    )


def _parts(patch: str) -> Iterator[tuple[str, list[str]]]:
    names: str | None = None
    lines: list[str] = []
    # Only a line feed ends a line of a patch; other separators may stand in a file's own text.
    for line in patch.removesuffix("\n").split("\n"):
        if begun := _FILE.match(line):
            if names is not None:
                yield names, lines
            names, lines = begun["names"], []
        else:
            lines.append(line)
    if names is not None:
        yield names, lines


def _patched(names: str, lines: list[str]) -> PatchedFile:
    start = next((number for number, line in enumerate(lines) if line.startswith("@@")), len(lines))
    changes = lines[start:]
    return PatchedFile(
        path=_path(names, lines[:start]),
        added=sum(line.startswith("+") for line in changes),
        removed=sum(line.startswith("-") for line in changes),
        lines=tuple(lines),
    )


def _path(names: str, header: list[str]) -> str:
    for pattern in (_TARGET, _SOURCE):
        for line in header:
            if found := pattern.match(line):
                return found["path"]
    # Neither side is named where a file is binary or empty; without renames both names are one.
    half = names[: len(names) // 2].strip().strip('"')
    return half.removeprefix("a/") or "unnamed"


def _likeness(a: PatchedFile | None, b: PatchedFile | None) -> PatchLikeness:
    if a is None:
        return PatchLikeness.ONLY_B
    if b is None:
        return PatchLikeness.ONLY_A
    return PatchLikeness.SAME if _deeds(a) == _deeds(b) else PatchLikeness.DIFFERENT


def _deeds(file: PatchedFile) -> list[str]:
    return [line for line in file.lines if not line.startswith("index ")]
