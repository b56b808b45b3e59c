"""Where keys and values stand in a TOML text, for error messages: tomllib reads values but gives no positions.

The text must be valid TOML, so the scanner finds ends and checks nothing. It is loaded only when there is an error.
"""

import re
import tomllib
from collections.abc import Mapping
from typing import NamedTuple

KeyPath = tuple[str | int, ...]
"""The keys and list indices that lead to a value."""

_BLANK = re.compile(r"[ \t]*")
_BETWEEN = re.compile(r"(?:[ \t\r\n]|#[^\n]*)*")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_STRING = re.compile(
    r'"""(?:\\.|[^\\])*?"{3,5}(?!")' r"|'''.*?'{3,5}(?!')" r'|"(?:\\.|[^"\\])*"' r"|'[^']*'",
    re.DOTALL,
)
_SCALAR = re.compile(r"[^,\]}\r\n#]+")


class TextPosition(NamedTuple):
    """A line and a column, both counted from 1; columns count characters."""

    line: int
    column: int


class Entry(NamedTuple):
    """Where the key of an entry starts, and where its value starts and ends, as offsets in the text."""

    key: int
    value: int
    end: int


class TomlPositions:
    """The position of every key and value of a valid TOML text, by its path."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.entries: Mapping[KeyPath, Entry] = _Scanner(text).scan()

    def of_key(self, path: KeyPath) -> TextPosition:
        """Where the key stands; an item of a list has none, so it is the item itself."""
        entry = self._nearest(path)
        return self._position(entry.value if path and isinstance(path[-1], int) else entry.key)

    def of_value(self, path: KeyPath) -> TextPosition:
        """Where the value starts: of a table that has a header, the header."""
        return self._position(self._nearest(path).value)

    def _nearest(self, path: KeyPath) -> Entry:
        """What is not written down itself stands where the table stands that it belongs to."""
        while path and path not in self.entries:
            path = path[:-1]
        return self.entries.get(path, Entry(0, 0, 0))

    def _position(self, offset: int) -> TextPosition:
        before = self.text[:offset]
        return TextPosition(before.count("\n") + 1, offset - (before.rfind("\n") + 1) + 1)


class _Scanner:
    """Reads the text once from its start to its end."""

    def __init__(self, text: str) -> None:
        self._text, self._at = text, 0
        self._entries: dict[KeyPath, Entry] = {}
        self._lengths: dict[KeyPath, int] = {}
        """How many tables each array of tables has so far."""

    def scan(self) -> dict[KeyPath, Entry]:
        table: KeyPath = ()
        while self._skip(_BETWEEN) < len(self._text):
            if self._text[self._at] == "[":
                table = self._read_header()
            else:
                self._read_pair(table)
        return self._entries

    def _read_header(self) -> KeyPath:
        start = self._at
        is_array = self._text.startswith("[[", start)
        self._at += 2 if is_array else 1
        keys = self._read_key()
        self._skip(_BLANK)
        self._at += 2 if is_array else 1
        parent = self._enter((), keys[:-1], start)
        name, offset = keys[-1]
        path = (*parent, name)
        if is_array:
            self._entries.setdefault(path, Entry(offset, start, self._at))
            path = (*path, self._lengths.setdefault(path, 0))
            self._lengths[path[:-1]] += 1
        self._entries[path] = Entry(offset, start, self._at)
        return path

    def _read_pair(self, table: KeyPath) -> None:
        keys = self._read_key()
        self._skip(_BLANK)
        self._at += 1  # the equals sign
        self._skip(_BLANK)
        name, offset = keys[-1]
        path = (*self._enter(table, keys[:-1], None), name)
        self._read_value(path, offset)

    def _enter(self, table: KeyPath, keys: list[tuple[str, int]], header: int | None) -> KeyPath:
        """The table that the keys lead to from here: of an array of tables always the last."""
        for name, offset in keys:
            table = (*table, name)
            start = offset if header is None else header
            self._entries.setdefault(table, Entry(offset, start, self._at))
            if table in self._lengths:
                table = (*table, self._lengths[table] - 1)
        return table

    def _read_key(self) -> list[tuple[str, int]]:
        """The parts of a dotted key, each with its offset."""
        parts = []
        while True:
            start = self._skip(_BLANK)
            quoted = self._text[start] in "\"'"
            written = self._take(_STRING if quoted else _BARE_KEY)
            parts.append((_unquote(written) if quoted else written, start))
            self._skip(_BLANK)
            if not self._text.startswith(".", self._at):
                return parts
            self._at += 1

    def _read_value(self, path: KeyPath, key: int | None) -> None:
        start = self._at
        match self._text[start]:
            case "[":
                self._read_array(path)
            case "{":
                self._read_inline_table(path)
            case '"' | "'":
                self._take(_STRING)
            case _:
                self._at = start + len(self._take(_SCALAR).rstrip())
        self._entries[path] = Entry(start if key is None else key, start, self._at)

    def _read_array(self, path: KeyPath) -> None:
        self._at += 1
        index = 0
        while self._text[self._skip(_BETWEEN)] != "]":
            self._read_value((*path, index), None)
            index += 1
            self._skip_comma()
        self._at += 1

    def _read_inline_table(self, path: KeyPath) -> None:
        self._at += 1
        while self._text[self._skip(_BETWEEN)] != "}":
            self._read_pair(path)
            self._skip_comma()
        self._at += 1

    def _skip_comma(self) -> None:
        if self._text[self._skip(_BETWEEN)] == ",":
            self._at += 1

    def _skip(self, pattern: re.Pattern[str]) -> int:
        self._take(pattern)
        return self._at

    def _take(self, pattern: re.Pattern[str]) -> str:
        found = pattern.match(self._text, self._at)
        assert found is not None, "the text is not valid TOML"
        self._at = found.end()
        return found.group()


def _unquote(written: str) -> str:
    value: str = tomllib.loads(f"key = {written}")["key"]
    return value
