"""Corrupts the content of one file: raw bytes, JSON, JSON Lines and tables, with one thing wrong each time.

The random generator is passed in, so that a failure can be repeated from its seed.
"""

import csv
import io
import json
from collections.abc import Callable, Iterator, Sequence
from random import Random
from typing import Any, NamedTuple

STRANGE_BYTES = (
    b"\x00",
    b"\xff\xfe",
    b"\xed\xa0\x80",
    b"\r",
    b'"',
    b"{",
    b"]",
    b"\\",
    b"-1",
    b"1e400",
    b"NaN",
    b"\xef\xbb\xbf",
)
"""Bytes that break readers: not text, half a character, unmatched brackets, numbers without a value."""


def corrupt_bytes(content: bytes, rng: Random) -> bytes:
    """Truncate, flip, splice or duplicate the content, or insert strange bytes."""
    place = rng.randint(0, len(content))
    match rng.randrange(6):
        case 0:
            return content[:place]
        case 1:
            return content[:place] + rng.choice(STRANGE_BYTES) + content[place + rng.randrange(8) :]
        case 2:
            return content[:place] + content[rng.randint(0, len(content)) :]
        case 3:
            return content + content[:place]
        case 4 if place < len(content):
            return content[:place] + bytes([content[place] ^ (1 << rng.randrange(8))]) + content[place + 1 :]
        case _:
            return content[place:]


_RAW_MARK = "@outweigh-raw@"
_QUOTED_RAW_MARK = f'"{_RAW_MARK}"'

WRONG_FIGURES = ("null", "-1", "-0.5", "NaN", "Infinity", "1e400", '"x"', "[]", "{}", "true", "9" * 30, "1e16")
"""Replacements for a number that no program could have counted; the last is more than a record can hold."""

WRONG_VALUES = (
    *WRONG_FIGURES,
    '""',
    "0",
    "false",
    '"\\ud800"',
    '"\\u0000"',
    '"../../etc/passwd"',
    json.dumps("x" * 3000),
    json.dumps("\u202e\u0301" * 20),
    "[" * 300 + "]" * 300,
    '{"a":' * 300 + "1" + "}" * 300,
    "[null,null]",
    '[{"id":1},{"id":1}]',
)


class JsonSlot(NamedTuple):
    """A position in a JSON tree: the container and the key of a value."""

    holder: Any
    key: Any

    @property
    def value(self) -> Any:
        """The value at this position."""
        return self.holder[self.key]


def corrupt_json(content: bytes, rng: Random) -> bytes | None:
    """The document with one thing wrong; None if it is not JSON, or empty."""
    tree = _parse_json(content)
    slot = None if tree is None else _random_slot(tree, rng)
    if slot is None:
        return None
    match rng.randrange(7):
        case 0:
            del slot.holder[slot.key]
        case 1 | 2:
            return _encode_with_raw(tree, slot, rng.choice(WRONG_VALUES))
        case 3 if isinstance(slot.holder, dict):
            return _encode_with_key_twice(tree, slot, rng.choice(WRONG_VALUES))
        case 4:
            other = _random_slot(tree, rng)
            if other is not None:
                slot.holder[slot.key] = json.loads(json.dumps(other.value))
        case 5:
            slot.holder[slot.key] = [slot.value, slot.value]
        case _ if isinstance(slot.holder, list):
            slot.holder.insert(slot.key, json.loads(json.dumps(slot.value)))
        case _:
            slot.holder[f"{slot.key} "] = slot.holder.pop(slot.key)
    return _encode_json(tree)


def drop_json_figure(content: bytes, rng: Random) -> bytes | None:
    """The document with one number removed or replaced by something else; None if it has no number."""
    return _drop_json_slot(content, rng, _is_json_number, WRONG_FIGURES)


def drop_json_value(content: bytes, rng: Random) -> bytes | None:
    """The document with one value of an object removed or null; None if it has none."""
    return _drop_json_slot(content, rng, lambda value: not isinstance(value, dict | list), ("null",))


def _drop_json_slot(
    content: bytes, rng: Random, is_meant: Callable[[object], bool], instead: Sequence[str]
) -> bytes | None:
    tree = _parse_json(content)
    slots = [] if tree is None else [slot for slot in _all_slots(tree) if is_meant(slot.value)]
    if not slots:
        return None
    slot = rng.choice(slots)
    if isinstance(slot.holder, dict) and rng.random() < 0.5:
        del slot.holder[slot.key]
        return _encode_json(tree)
    return _encode_with_raw(tree, slot, rng.choice(instead))


def _parse_json(content: bytes) -> Any:
    try:
        found = json.loads(content.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict | list) and found else None


def _encode_json(tree: Any) -> bytes:
    return json.dumps(tree, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace")


def _encode_with_raw(tree: Any, slot: JsonSlot, raw: str) -> bytes:
    slot.holder[slot.key] = _RAW_MARK
    return _encode_json(tree).replace(_QUOTED_RAW_MARK.encode(), raw.encode())


def _encode_with_key_twice(tree: Any, slot: JsonSlot, raw: str) -> bytes:
    key, value = json.dumps(slot.key, ensure_ascii=False), json.dumps(slot.value, ensure_ascii=False)
    return _encode_with_raw(tree, slot, f"{value},{key}:{raw}")


def _random_slot(tree: Any, rng: Random) -> JsonSlot | None:
    """A slot on a random path down the tree; most are deep, where the figures are."""
    slot, node = None, tree
    while isinstance(node, dict | list) and node and (slot is None or rng.random() < 0.85):
        key = rng.choice(list(node)) if isinstance(node, dict) else rng.randrange(len(node))
        slot, node = JsonSlot(node, key), node[key]
    return slot


def _all_slots(node: Any) -> Iterator[JsonSlot]:
    for key in list(node) if isinstance(node, dict) else range(len(node)):
        yield JsonSlot(node, key)
        if isinstance(node[key], dict | list):
            yield from _all_slots(node[key])


def _is_json_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)


WRONG_CELLS = (
    '"',
    "",
    "-1",
    "nan",
    "inf",
    "1e400",
    "9" * 30,
    "x\0y",
    "1,000",
    "0.5",
    "\ud83d",
    'a "quoted" b',
    "=1+1",
    "\n",
)
NON_NUMERIC_CELLS = ("", "NA", "nan", "-1", "x", "inf", "1e400", "9" * 30)


def corrupt_lines(content: bytes, rng: Random) -> bytes | None:
    """JSON Lines with one line removed, duplicated, moved, joined with the next, or corrupted."""
    lines = content.splitlines(keepends=True)
    if not lines:
        return None
    number = rng.randrange(len(lines))
    match rng.randrange(6):
        case 0:
            del lines[number]
        case 1:
            lines.insert(rng.randint(0, len(lines)), lines[number])
        case 2:
            lines[number] = lines[number].rstrip(b"\r\n")
        case _:
            return change_one_line(content, rng, corrupt_json)
    return b"".join(lines)


def change_one_line(content: bytes, rng: Random, change: Callable[[bytes, Random], bytes | None]) -> bytes | None:
    """JSON Lines with one line changed by `change`."""
    lines = content.splitlines(keepends=True)
    number = rng.randrange(len(lines)) if lines else 0
    changed = change(lines[number], rng) if lines else None
    if changed is None:
        return None
    return b"".join([*lines[:number], changed, b"\n", *lines[number + 1 :]])


def corrupt_table(content: bytes, rng: Random, delimiter: str = ",") -> bytes | None:
    """A table with a wrong cell, a row that is too short or too long, or a column removed or duplicated."""
    rows = _parse_table(content, delimiter)
    if len(rows) < 2:
        return None
    row = rng.choice(rows)
    column = rng.randrange(len(row)) if row else 0
    match rng.randrange(6):
        case 0 if row:
            del row[column]
        case 1:
            row.append("more")
        case 2 if row:
            row[column] = rng.choice(WRONG_CELLS)
        case 3:
            rows.insert(rng.randint(0, len(rows)), list(row))
        case 4:
            rows = [cells[:column] + cells[column + 1 :] for cells in rows]
        case _:
            return _encode_table(rows, delimiter).replace(b'"', b"", 1) + b'"open\n'
    return _encode_table(rows, delimiter)


def drop_table_figure(content: bytes, rng: Random, delimiter: str = ",") -> bytes | None:
    """A table with the number in one cell removed."""
    rows = _parse_table(content, delimiter)
    places = [(row, number) for row in rows[1:] for number, cell in enumerate(row) if _is_numeric_cell(cell)]
    if not places:
        return None
    row, number = rng.choice(places)
    row[number] = rng.choice(NON_NUMERIC_CELLS)
    return _encode_table(rows, delimiter)


def _parse_table(content: bytes, delimiter: str) -> list[list[str]]:
    try:
        return list(csv.reader(io.StringIO(content.decode("utf-8-sig"), newline=""), delimiter=delimiter))
    except (ValueError, csv.Error):
        return []


def _encode_table(rows: list[list[str]], delimiter: str) -> bytes:
    text = io.StringIO(newline="")
    csv.writer(text, delimiter=delimiter, lineterminator="\n").writerows(rows)
    return text.getvalue().encode("utf-8", "replace")


def _is_numeric_cell(cell: str) -> bool:
    try:
        float(cell)
    except ValueError:
        return False
    return True
