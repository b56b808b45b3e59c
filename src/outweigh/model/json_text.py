"""JSON text that other programs wrote: decoded leniently, line by line as it arrives, and checked for repeated keys."""

import json
import re
from math import isfinite
from typing import Any

import msgspec

JSON_LINE_LIMIT = 64 * 2**20
"""A longer line is skipped, so that a program gone wild cannot fill the memory."""

JsonObject = dict[str, Any]

_OPENING, _CLOSING = (b"{", b"["), (b"}", b"]")
_MANY_DIGITS = b"0" * 19
_DIGITS_AS_ZEROS = bytes(ord("0") if chr(byte).isascii() and chr(byte).isdigit() else ord(" ") for byte in range(256))
"""To look for digits in a row this way takes a fifth of what a pattern takes, and is done to nearly every text."""

_SMALLEST, _LARGEST = -(2**63), 2**64 - 1


class JsonLineDecoder:
    """Takes bytes and gives the JSON objects of complete lines; what is no JSON object is counted, not raised.

    A line that holds an array gives the objects in it, since some programs print all their events at once at the end.
    A value that is spread over lines, from a bracket alone on its line to its counterpart, counts as one line.
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
        """The objects of a last line that is whole but for its line break; nothing where it is torn.

        To be called when no more is expected; should more come nevertheless, nothing is lost.
        """
        events = _objects(bytes(self._unfinished))
        if events is None:
            return []
        self._clear()
        return events

    @property
    def torn(self) -> bool:
        """Whether the output so far breaks off within a line."""
        return self._skipping or bool(self._unfinished.strip())

    def warnings(self) -> tuple[str, ...]:
        """What was not understood, in sentences; call it after `finish`."""
        found = []
        if self.invalid_count:
            found.append(
                f"{_lines(self.invalid_count)} of the agent's output {_is_are(self.invalid_count)} no JSON object"
            )
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
        """Whether the line that just ended is part of a value that is spread over lines, and not its end."""
        line = bytes(self._unfinished[self._line_start :]).rstrip()
        if self._line_start and line not in _CLOSING and line[:1].strip():
            # Within such a value all is indented: the bracket that seemed to open it was noise.
            self.invalid_count += 1
            del self._unfinished[: self._line_start]
            self._line_start = 0
        return line not in _CLOSING if self._line_start else line in _OPENING

    def _clear(self) -> None:
        self._unfinished.clear()
        self._line_start = 0


def decode_json(content: bytes) -> Any:
    """The value in a JSON text, or ValueError; what it gives can be encoded again.

    Programs in JavaScript cut strings in half and Python ones write NaN and numbers without end: half a character
    becomes a question mark, NaN and what is beyond all numbers null, and a whole number that fits no 64 bits a rounded
    one.
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
    """The objects of a line, none for an empty one, and None for one that holds no object."""
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
    """A text that says two things about one."""


def decode_unique_keys(content: bytes) -> Any:
    """The value of a JSON text, or ValueError; one that states two values of a key is a RepeatedKeyError."""
    value = decode_json(content)
    if (key := find_repeated_key(content, value)) is not None:
        raise RepeatedKeyError(f"{key[:60]!r} stands for two values, so it is not clear which is meant")
    return value


def find_repeated_key(content: bytes, value: Any) -> str | None:
    """A key that an object of a JSON text has two values for; `value` is what the text was decoded to.

    What was dropped is missing when the value is written again, so most texts are cleared by counting where keys end,
    at a fraction of what it takes to decode them. Only one with more ends of keys than it should have is gone through.
    """
    written = msgspec.json.encode(value)
    if content.count(_KEY_END) == written.count(_KEY_END) and b'" :' not in content:
        return None
    if _key_ends(content) <= _key_ends(written):
        return None
    found: list[str] = []

    def look(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        said: dict[str, Any] = {}
        found.extend(key for key, each in pairs if said.setdefault(key, each) != each)
        return said

    try:
        json.loads(content.decode("utf-8-sig", "replace"), object_pairs_hook=look, parse_constant=str)
    except (ValueError, RecursionError):
        return None
    return found[0] if found else None


def _key_ends(text: bytes) -> int:
    return sum(1 for _ in _LOOSE_KEY_END.finditer(text))
