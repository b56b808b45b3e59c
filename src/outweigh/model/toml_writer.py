"""Tables written as TOML the way a person would: plain keys first, then tables, long texts over several lines,
comments.
"""

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from outweigh.errors import UsageError

TomlTable = Mapping[str, Any]

_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_WIDTH = 110
_INLINE_DEPTH = 3


def write_toml(table: TomlTable, comments: Mapping[str, str] | None = None) -> str:
    """A whole file. `comments` go above the keys and tables that they name by their dotted path; "" is the top.

    Raises UsageError for null, which TOML cannot represent.
    """
    known = comments or {}
    lines = [*_comment(known.get("", "")), *_table(table, (), known)]
    return "\n".join(lines).strip("\n") + "\n"


def _table(table: TomlTable, path: tuple[str, ...], comments: Mapping[str, str]) -> Iterator[str]:
    """Plain values come before tables: after a header, a key would belong to that table."""
    for key, value in table.items():
        place = (*path, key)
        if not _has_header(value, place):
            yield from _comment(comments.get(".".join(place), ""))
            yield f"{_key(key)} = {_value(value, place)}"
    for key, value in table.items():
        place = (*path, key)
        if not _has_header(value, place):
            continue
        if isinstance(value, Mapping):
            yield from _headed(value, place, comments)
        else:
            for number, item in enumerate(value):
                yield ""
                yield from _comment(comments.get(".".join(place), "") if number == 0 else "")
                yield f"[[{_dotted(place)}]]"
                yield from _table(item, place, comments)


def _headed(table: TomlTable, place: tuple[str, ...], comments: Mapping[str, str]) -> Iterator[str]:
    """A header, unless there is nothing below it but further tables."""
    remark = list(_comment(comments.get(".".join(place), "")))
    needed = not table or any(not _has_header(value, (*place, key)) for key, value in table.items())
    header = [*remark, f"[{_dotted(place)}]"] if needed else remark
    if header:
        yield from ("", *header)
    yield from _table(table, place, comments)


def _has_header(value: object, place: tuple[str, ...]) -> bool:
    """Whether a value is written as a table with a header; small, deeply nested tables are written inline."""
    if isinstance(value, Mapping):
        return len(place) < _INLINE_DEPTH or not _fits_a_line(value)
    return isinstance(value, list | tuple) and bool(value) and all(isinstance(item, Mapping) for item in value)


def _fits_a_line(table: TomlTable) -> bool:
    plain = all(not isinstance(value, Mapping | list | tuple) for value in table.values())
    return bool(table) and plain and len(_inline(table, ())) <= _WIDTH


def _value(value: object, place: tuple[str, ...]) -> str:
    match value:
        case bool() | int() | float():
            return _number(value)
        case str():
            return _text(value)
        case Mapping():
            return _inline(value, place)
        case list() | tuple():
            return _list(value, place)
    raise UsageError(f"{'.'.join(place)} is {value!r}, which TOML cannot say. Leave it out.")


def _number(value: float) -> str:
    return json.dumps(value).replace("NaN", "nan").replace("Infinity", "inf")


def _list(values: Sequence[object], place: tuple[str, ...]) -> str:
    items = [_value(item, place) for item in values]
    line = f"[{', '.join(items)}]"
    if len(line) <= _WIDTH:
        return line
    return "\n".join(("[", *(f"  {item}," for item in items), "]"))


def _inline(table: TomlTable, place: tuple[str, ...]) -> str:
    pairs = (f"{_key(key)} = {_line(value, (*place, key))}" for key, value in table.items())
    return "{ " + ", ".join(pairs) + " }" if table else "{}"


def _line(value: object, place: tuple[str, ...]) -> str:
    """A value within one line: an inline table must not contain line breaks."""
    return _quoted(value) if isinstance(value, str) else _value(value, place)


def _text(text: str) -> str:
    if "\n" not in text.strip("\n"):
        return _quoted(text)
    # A quotation mark at the very end would be read as one of the closing three.
    inner = text.rstrip('"')
    body = "".join(
        character if character in "\n\t" or character.isprintable() else _quoted(character)[1:-1]
        for character in inner.replace("\\", "\\\\").replace('"""', '""\\"')
    )
    marks = '\\"' * (len(text) - len(inner))
    return f'"""\n{body}{marks}"""'


def _quoted(text: str) -> str:
    """The text as in JSON, which TOML shares except for DEL; half a surrogate pair is replaced."""
    whole = text.encode("utf-8", "replace").decode()
    return json.dumps(whole, ensure_ascii=False).replace("\x7f", "\\u007f")


def _key(key: str) -> str:
    return key if _BARE_KEY.fullmatch(key) else _quoted(key)


def _dotted(place: tuple[str, ...]) -> str:
    return ".".join(map(_key, place))


def _comment(text: str) -> Iterator[str]:
    for line in text.splitlines():
        printable = "".join(character for character in line if character.isprintable() or character == "\t")
        yield f"# {printable}".rstrip()
