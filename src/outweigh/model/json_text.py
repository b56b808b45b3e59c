"""JSON text that other programs wrote: decoded leniently, line by line as it arrives, and checked for repeated keys."""

import json
import re
from math import isfinite
from typing import Any

import msgspec

JSON_LINE_LIMIT = 64 * 2**20
"""A longer line is skipped, so that a faulty program cannot exhaust the memory."""

JsonObject = dict[str, Any]

_OPENING, _CLOSING = (b"{", b"["), (b"}", b"]")
_MANY_DIGITS = b"0" * 19
_DIGITS_AS_ZEROS = bytes(ord("0") if chr(byte).isascii() and chr(byte).isdigit() else ord(" ") for byte in range(256))
"""Finding long digit sequences this way takes a fifth of the time of a regular expression."""

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


class JsonLineDecoder:
    """Turns bytes into the JSON objects of complete lines; other lines are counted, not raised.

    A line with an array gives the objects in it, because some programs print all events at the end. A value that is
    spread over several lines, from an opening bracket alone on its line to the closing one, counts as one line.
    """

    def __init__(self, line_limit: int = JSON_LINE_LIMIT) -> None:
        self._line_limit = line_limit
        self._unfinished = bytearray()
        self._line_start = 0
        self._skipping = False
        self.invalid_count = 0
        self.too_long_count = 0

    def feed(self, chunk: bytes) -> list[JsonObject]:
        """The objects that this chunk completes."""
        *ends, rest = chunk.split(b"\n")
        events = []
        for end in ends:
            self._extend(end)
            events += self._complete()
        self._extend(rest)
        return events

    def finish(self) -> list[JsonObject]:
        """The objects of a last line that is complete except for its newline; nothing where it is torn.

        Call it when no more input is expected; nothing is lost if more arrives nevertheless.
        """
        events = _objects(bytes(self._unfinished))
        if events is None:
            return []
        self._clear()
        return events

    @property
    def torn(self) -> bool:
        """Whether the output so far ends within a line."""
        return self._skipping or bool(self._unfinished.strip())

    def warnings(self) -> tuple[str, ...]:
        """Sentences about lines that could not be read; call it after `finish`."""
        found = []
        if self.invalid_count:
            found.append(f"{_lines(self.invalid_count)} of the agent's output could not be read as a JSON object")
        if self.too_long_count:
            found.append(
                f"{_lines(self.too_long_count)} of the agent's output {_is_are(self.too_long_count)} too long to read"
            )
        if self.torn:
            found.append("the agent's output breaks off in the middle of a line")
        return tuple(found)

    def _extend(self, piece: bytes) -> None:
        if self._skipping:
            return
        if len(self._unfinished) + len(piece) > self._line_limit:
            self._skipping = True
            self._clear()
        else:
            self._unfinished += piece

    def _complete(self) -> list[JsonObject]:
        if self._skipping:
            self._skipping = False
            self.too_long_count += 1
            return []
        if self._goes_on():
            self._unfinished += b"\n"
            self._line_start = len(self._unfinished)
            return []
        events = _objects(bytes(self._unfinished))
        self._clear()
        if events is None:
            self.invalid_count += 1
            return []
        return events

    def _goes_on(self) -> bool:
        """Whether the line that just ended is part of a value that continues on the next line."""
        line = bytes(self._unfinished[self._line_start :]).rstrip()
        if self._line_start and line not in _CLOSING and line[:1].strip():
            # Within such a value every line is indented, so the opening bracket was noise.
            self.invalid_count += 1
            del self._unfinished[: self._line_start]
            self._line_start = 0
        return line not in _CLOSING if self._line_start else line in _OPENING

    def _clear(self) -> None:
        self._unfinished.clear()
        self._line_start = 0


def decode_json(content: bytes) -> Any:
    """The value in a JSON text, or ValueError; the value can be encoded again.

    JavaScript programs cut strings within a character, and Python programs write NaN and huge numbers. Half a character
    becomes a question mark, NaN and infinite numbers become null, and integers beyond 64 bits are rounded.
    """
    if _MANY_DIGITS not in content.translate(_DIGITS_AS_ZEROS):
        try:
            return msgspec.json.decode(content)
        except (ValueError, RecursionError):
            pass
    return _decode_leniently(content)


def try_decode_json(content: bytes) -> Any:
    """The value in a JSON text, None where it cannot be read."""
    try:
        return decode_json(content)
    except ValueError:
        return None


def _decode_leniently(content: bytes) -> Any:
    try:
        text = content.decode("utf-8-sig", "replace")
        value = json.loads(text, parse_constant=lambda _: None, parse_int=_parse_int, parse_float=_parse_float)
        return msgspec.json.decode(json.dumps(value, ensure_ascii=False).encode("utf-8", "replace"))
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _parse_int(digits: str) -> float | None:
    value = int(digits) if len(digits) <= 20 else float(digits)
    return value if _SMALLEST <= value <= _LARGEST else _parse_float(digits)


def _parse_float(digits: str) -> float | None:
    value = float(digits)
    return value if isfinite(value) else None


def _objects(line: bytes) -> list[JsonObject] | None:
    """The objects of a line, an empty list for an empty line, and None for a line without an object."""
    if not line.strip():
        return []
    try:
        value = decode_json(line)
    except ValueError:
        return None
    found = value if isinstance(value, list) else [value]
    objects = [each for each in found if isinstance(each, dict)]
    return objects if len(objects) == len(found) else None


def _lines(count: int) -> str:
    return "1 line" if count == 1 else f"{count:,} lines"


def _is_are(count: int) -> str:
    return "is" if count == 1 else "are"


_KEY_END = b'":'
_LOOSE_KEY_END = re.compile(rb'"\s*:')


class RepeatedKeyError(ValueError):
    """A JSON object has two values for one key."""


def decode_unique_keys(content: bytes) -> Any:
    """The value of a JSON text, or ValueError; RepeatedKeyError where a key has two values."""
    value = decode_json(content)
    if (key := find_repeated_key(content, value)) is not None:
        raise RepeatedKeyError(f"{key[:60]!r} stands for two values, so it is not clear which is meant")
    return value


def find_repeated_key(content: bytes, value: Any) -> str | None:
    """A key with two values in an object of a JSON text; `value` is the decoded text.

    A dropped value is missing when the value is encoded again, so for most texts it is enough to count the keys, which
    is much faster than decoding. Only a text with more keys than its value is searched.
    """
    written = msgspec.json.encode(value)
    if content.count(_KEY_END) == written.count(_KEY_END) and b'" :' not in content:
        return None
    if _key_ends(content) <= _key_ends(written):
        return None
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        first: dict[str, Any] = {}
        found.extend(key for key, each in pairs if first.setdefault(key, each) != each)
        return first

    try:
        json.loads(content.decode("utf-8-sig", "replace"), object_pairs_hook=look, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    return found[0] if found else None


def _key_ends(text: bytes) -> int:
    return sum(1 for _ in _LOOSE_KEY_END.finditer(text))


def refuse_repeated_keys(content: bytes) -> None:
    """ValueError where any object of a JSON text has a key twice, whatever its values are."""
    # Without a backslash every quote begins or ends a string, so that keys can be counted, which takes less time.
    if b"\\" not in content and _key_ends(content) == _key_ends(msgspec.json.encode(msgspec.json.decode(content))):
        return
    json.loads(content.decode("utf-8-sig"), object_pairs_hook=_refuse_pairs)


def _refuse_pairs(pairs: list[tuple[str, Any]]) -> None:
    known: set[str] = set()
    for key, _ in pairs:
        if key in known:
            raise RepeatedKeyError(f"the key {key[:60]!r} stands there twice, so it is not clear which value is meant")
        known.add(key)
