"""A file that a person wrote, from bytes to values: every error names the file, the line, the column and the key."""

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from outweigh.errors import UsageError, quote_names, quote_value

if TYPE_CHECKING:
    from outweigh.model.toml_positions import KeyPath
    from outweigh.model.value_faults import Fault

T = TypeVar("T")
MOST_FAULTS = 10
_TOML_POSITION = re.compile(r" \(at line (\d+), column (\d+)\)$")
_END_OF_DOCUMENT = " (at end of document)"
_YAML_POSITION = re.compile(r", line (\d+), column (\d+)$")


class _Positions(Protocol):
    """Where keys and values of a text stand."""

    def of_key(self, path: "KeyPath") -> tuple[int, int]:
        """Where a key starts."""

    def of_value(self, path: "KeyPath") -> tuple[int, int]:
        """Where a value starts."""


class SourceDocument:
    """What a TOML or YAML file holds, and the means to point into it."""

    def __init__(self, content: bytes, source: str) -> None:
        self.source = source
        self._is_toml = not source.endswith((".yaml", ".yml"))
        self._text = _decode_text(content, source)
        self.value: Any = _decode_toml(self._text, source) if self._is_toml else _decode_yaml(self._text, source)
        self._known_positions: _Positions | None = None

    def convert(self, kind: type[T], *, at: "KeyPath" = (), str_keys: bool = False) -> T:
        """The document, or the table at a path, as a value of this type; UsageError names everything wrong with it."""
        value = self._look_up(at)
        try:
            return msgspec.convert(value, kind, str_keys=str_keys)
        except msgspec.ValidationError as fault:
            from outweigh.model.value_faults import Fault, find_faults  # noqa: PLC0415 - only needed for a mistake

            found = find_faults(value, kind, at=at, is_toml=self._is_toml)
            raise self._refuse(found or [Fault(at, f"{fault}.")]) from None

    def error(self, path: "KeyPath", message: str, *, at_key: bool = False) -> UsageError:
        """An error about one key or value of the document."""
        return UsageError(f"{self._place(path, at_key)}: {message}")

    @contextmanager
    def locating_errors(self) -> Iterator[None]:
        """Around checks of what the document means: their errors get the line and column of the key that they name."""
        try:
            yield
        except UsageError as error:
            from outweigh.model.locate_fault import locate_error  # noqa: PLC0415 - only needed for a mistake

            raise locate_error(error, self._text, self.source) from None

    def _refuse(self, faults: "Sequence[Fault]") -> UsageError:
        ordered = sorted(faults, key=lambda fault: self._position(fault.path, fault.at_key))
        lines = [f"{self._place(fault.path, fault.at_key)}: {fault.message}" for fault in ordered[:MOST_FAULTS]]
        if len(ordered) > MOST_FAULTS:
            lines.append(f"{self.source}: {len(ordered) - MOST_FAULTS} more errors.")
        return UsageError("\n".join(lines))

    def _place(self, path: "KeyPath", at_key: bool) -> str:
        line, column = self._position(path, at_key)
        return f"{self.source}:{line}:{column}"

    def _position(self, path: "KeyPath", at_key: bool) -> tuple[int, int]:
        positions = self._positions()
        return positions.of_key(path) if at_key else positions.of_value(path)

    def _positions(self) -> _Positions:
        if self._known_positions is None:
            self._known_positions = _find_positions(self._text, self._is_toml)
        return self._known_positions

    def _look_up(self, at: "KeyPath") -> Any:
        """The value at a path; an empty table where there is none."""
        value = self.value
        for depth, part in enumerate(at):
            if not isinstance(value, dict):
                name = ".".join(map(str, at[:depth]))
                raise self.error(at[:depth], f"{name} must be a table, not {quote_value(value)}.")
            value = value.get(part, {})
        return value


def convert_options(options: object, kind: type[T], at: "KeyPath", owner: str = "") -> T:
    """A table that has been read before, as a value of this type; UsageError names everything wrong with it."""
    try:
        return msgspec.convert(options, kind)
    except msgspec.ValidationError as fault:
        from outweigh.model.value_faults import find_faults  # noqa: PLC0415 - only needed for a mistake

        messages = [found.message for found in find_faults(options, kind, at=at)] or [f"{fault}."]
        raise UsageError("\n".join(f"{owner}{message}" for message in messages[:MOST_FAULTS])) from None


def _find_positions(text: str, is_toml: bool) -> _Positions:
    if is_toml:
        from outweigh.model.toml_positions import TomlPositions  # noqa: PLC0415 - only needed for a mistake

        return TomlPositions(text)
    from outweigh.model.plain_yaml import YamlPositions  # noqa: PLC0415 - likewise

    return YamlPositions(text)


def _decode_text(content: bytes, source: str) -> str:
    try:
        return content.decode()
    except UnicodeDecodeError as fault:
        line = content[: fault.start].count(b"\n") + 1
        raise UsageError(f"{source}:{line}: the file is not UTF-8 text; save it as UTF-8.") from None


def _decode_toml(text: str, source: str) -> Any:
    try:
        return msgspec.toml.decode(text)
    except RecursionError:
        raise UsageError(f"{source} cannot be read: it is nested too deeply.") from None
    except (msgspec.DecodeError, ValueError) as fault:
        if text.startswith("\ufeff"):
            raise UsageError(f"{source}:1:1: the file starts with a byte order mark; save it without one.") from None
        last = text.count("\n") + 1
        end = f" (at line {last}, column {len(text) - text.rfind(chr(10))})"
        told = str(fault).replace(_END_OF_DOCUMENT, end)
        raise UsageError(_not_valid(source, "TOML", told, _TOML_POSITION)) from None


def _decode_yaml(text: str, source: str) -> Any:
    from outweigh.model.plain_yaml import decode_yaml  # noqa: PLC0415 - few rubrics are YAML

    try:
        found = decode_yaml(text)
    except ValueError as fault:
        raise UsageError(_not_valid(source, "YAML", str(fault), _YAML_POSITION)) from None
    if found.doubtful:
        raise UsageError(
            f"{source}: {quote_names(found.doubtful)} has two values in one place; leave the one that is meant."
        )
    return found.value


def _not_valid(source: str, language: str, fault: str, position: re.Pattern[str]) -> str:
    found = position.search(fault)
    if found is None:
        return f"{source} is not valid {language}: {fault}."
    return f"{source}:{found[1]}:{found[2]}: this is not valid {language}: {fault[: found.start()]}."
