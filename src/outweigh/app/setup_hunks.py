"""The way from one set-up to another in steps: each applies one more hunk of the differences between their files."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from difflib import SequenceMatcher


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupHunk:
    """A hunk, or a whole file that is added, removed or no text: its place in words, its lines, and the files after it.

    `lines` are as a diff shows them, `+` and `-`.
    """

    title: str
    lines: tuple[str, ...]
    files: Mapping[str, bytes]


def hunk_steps(before: Mapping[str, bytes], after: Mapping[str, bytes]) -> Iterator[SetupHunk]:
    """From the files before to those after, hunk by hunk in order of the paths; the last step has the files after."""
    files = dict(before)
    for path in sorted({*before, *after}):
        old, new = before.get(path), after.get(path)
        if old == new:
            continue
        texts = None if old is None or new is None else _texts(old, new)
        if texts is None:
            files = {name: content for name, content in files.items() if name != path}
            files |= {} if new is None else {path: new}
            yield SetupHunk(title=_whole_title(path, old, new), lines=(), files=dict(files))
            continue
        for title, lines, content in _text_hunks(*texts):
            files = files | {path: content.encode()}
            yield SetupHunk(title=f"{path} {title}", lines=lines, files=dict(files))


def _texts(old: bytes, new: bytes) -> tuple[str, str] | None:
    """Both as text; None where one is none."""
    try:
        return old.decode(), new.decode()
    except UnicodeDecodeError:
        return None


def _whole_title(path: str, old: bytes | None, new: bytes | None) -> str:
    if old is None:
        return f"{path} added"
    return f"{path} removed" if new is None else f"{path} replaced"


def _text_hunks(old: str, new: str) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Every hunk with the lines that it concerns, and the text with all hunks up to it."""
    before, after = old.splitlines(keepends=True), new.splitlines(keepends=True)
    for kind, first, last, start, end in SequenceMatcher(None, before, after, autojunk=False).get_opcodes():
        if kind == "equal":
            continue
        removed, added = before[first:last], after[start:end]
        shown = f"line {first + 1}" if last - first < 2 else f"lines {first + 1}-{last}"
        lines = (*(f"-{line.rstrip()}" for line in removed), *(f"+{line.rstrip()}" for line in added))
        yield shown, lines, "".join([*after[:end], *before[last:]])
