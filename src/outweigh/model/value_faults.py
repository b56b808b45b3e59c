"""Everything that is wrong with a value that somebody wrote, in sentences that name the key and what is allowed.

msgspec stops at the first fault and names types of Python. This walks through the value again once msgspec has refused
it, so it is loaded only when there is an error.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from datetime import date, datetime
from difflib import get_close_matches
from enum import Enum
from typing import Annotated, Any, Literal, NamedTuple

import msgspec
from msgspec import Meta, inspect

from outweigh.errors import quote_value
from outweigh.model.describe_type import describe_type, unwrap
from outweigh.model.toml_positions import KeyPath

_POSITION = re.compile(r" - at `[^`]*`$")
_NAMED_KEY = re.compile(r"`(\w+)`")
_BARE_KEY = re.compile(r"[A-Za-z0-9_-]+")
_MOST_PLACES = 3

SYNONYMS = {
    "docker": "container",
    "podman": "container",
    "bwrap": "bubblewrap",
    "none": "local",
    "host": "local",
    "gateway": "metered",
    "average": "mean",
}
"""Words that people write for a value that has another name here."""


SECRET_KEYS = frozenset({"key", "secrets", "environment", "headers", "pass_environment"})
"""Where people write the secret itself instead of the name of its variable; such a value is never repeated."""


class Fault(NamedTuple):
    """What is wrong, and where: at the key itself, or at its value."""

    path: KeyPath
    message: str
    at_key: bool = False


def find_faults(value: object, kind: Any, *, at: KeyPath = (), is_toml: bool = True) -> list[Fault]:
    """All faults of a value that should be of this type, in the order of the file as far as it is known."""
    return list(_Search(kind, at, is_toml).check(value, inspect.type_info(kind), at))


def path_name(path: KeyPath) -> str:
    """A path as people write it: `arms.better.skills[0]`."""
    return "".join(f"[{part}]" if isinstance(part, int) else f".{_key(part)}" for part in path).removeprefix(".")


def _key(name: str) -> str:
    return name if _BARE_KEY.fullmatch(name) else quote_value(name)


class _Search:
    """One search, which knows the type of the whole file to say where a misplaced key belongs."""

    def __init__(self, root: Any, at: KeyPath, is_toml: bool) -> None:
        self._root, self._at, self._is_toml = inspect.type_info(root), at, is_toml

    def check(self, value: object, kind: inspect.Type, path: KeyPath) -> Iterator[Fault]:
        """The faults of one value and of everything within it."""
        found = list(self._check_unwrapped(value, kind, path))
        yield from found or _check_again(value, kind, path)

    def _check_unwrapped(self, value: object, kind: inspect.Type, path: KeyPath) -> Iterator[Fault]:
        match unwrap(kind):
            case inspect.UnionType(types=types):
                yield from self._check_union(value, types, path)
            case inspect.StructType() as struct if isinstance(value, dict):
                yield from self._check_struct(value, struct, path)
            case inspect.DictType() as table if isinstance(value, dict):
                yield from self._check_dict(value, table, path)
            case (inspect.ListType() | inspect.VarTupleType()) as items if isinstance(value, list):
                for index, item in enumerate(value):
                    yield from self.check(item, items.item_type, (*path, index))
            case inspect.LiteralType(values=values) if isinstance(value, str):
                yield from _check_choice(value, values, path)
            case inspect.EnumType(cls=choices) if isinstance(value, str):
                yield from _check_choice(value, _enum_values(choices), path)

    def _check_union(self, value: object, types: Sequence[inspect.Type], path: KeyPath) -> Iterator[Fault]:
        ways = [one for one in types if not isinstance(one, inspect.NoneType)]
        if value is None and len(ways) < len(types):
            return
        structs = {one.tag: one for one in map(unwrap, ways) if isinstance(one, inspect.StructType)}
        if isinstance(value, dict) and len(structs) > 1:
            yield from self._check_tagged(value, structs, path)
            return
        fitting = ways if len(ways) == 1 else [way for way in ways if _is_same_form(value, way)]
        for way in fitting[:1]:
            yield from self.check(value, way, path)

    def _check_tagged(self, value: Mapping[str, object], structs: Mapping[Any, Any], path: KeyPath) -> Iterator[Fault]:
        field = next(iter(structs.values())).tag_field
        if field not in value:
            choices = ", ".join(map(quote_value, sorted(structs)))
            yield Fault(path, f"{self._table(path)} needs the key {quote_value(field)}, one of {choices}.")
        elif value[field] in structs:
            yield from self.check(value, structs[value[field]], path)
        else:
            yield from _check_choice(value[field], tuple(structs), (*path, field))

    def _check_struct(self, value: Mapping[str, object], struct: inspect.StructType, path: KeyPath) -> Iterator[Fault]:
        fields = {field.encode_name: field for field in struct.fields}
        known = {*fields, *([struct.tag_field] if struct.tag_field else [])}
        meant: set[str] = set()
        for name, item in value.items():
            if name in fields:
                yield from self.check(item, fields[name].type, (*path, name))
            elif name not in known and struct.forbid_unknown_fields:
                meant.update(get_close_matches(str(name), known, n=1))
                yield Fault((*path, name), self._unknown_key(name, sorted(known), path), at_key=True)
        for name, field in fields.items():
            if field.required and name not in value and name not in meant:
                needed = f"needs the key {quote_value(name)}, which must be {describe_type(field.type)}."
                yield Fault(path, f"{self._table(path)} {needed}")

    def _check_dict(self, value: Mapping[Any, object], table: inspect.DictType, path: KeyPath) -> Iterator[Fault]:
        for name, item in value.items():
            inside = (*path, name)
            if _refusal({name: None}, dict[_python_type(table.key_type), None]) is not None:  # type: ignore[misc]
                must = f"the key {quote_value(name)} in {self._table(path)} must be {describe_type(table.key_type)}."
                yield Fault(inside, must, at_key=True)
            yield from self.check(item, table.value_type, inside)

    def _unknown_key(self, name: object, known: Sequence[str], path: KeyPath) -> str:
        table = f" in {self._table(path)}" if path else ""
        told = f"unknown key {quote_value(name)}{table}"
        places = [] if name in known else list(self._places_of(str(name), self._root, self._at))
        if 0 < len(places) <= _MOST_PLACES:
            return f"{told}; it belongs in {' or '.join(places)}."
        near = get_close_matches(str(name), known, n=1)
        if near:
            return f"{told}; did you mean {quote_value(near[0])}?"
        return f"{told}; the keys are {', '.join(known)}."

    def _places_of(self, name: str, kind: inspect.Type, path: KeyPath) -> Iterator[str]:
        """The tables of the file that have such a key; those that a type tells apart are not looked into."""
        match unwrap(kind):
            case inspect.StructType(fields=fields):
                if any(field.encode_name == name for field in fields):
                    yield self._table(path)
                for field in fields:
                    yield from self._places_of(name, field.type, (*path, field.encode_name))
            case inspect.DictType(value_type=inner):
                yield from self._places_of(name, inner, (*path, "NAME"))
            case inspect.ListType(item_type=inner):
                yield from self._places_of(name, inner, (*path, 0))
            case inspect.UnionType(types=types):
                structs = [one for one in types if not isinstance(one, inspect.NoneType)]
                yield from self._places_of(name, structs[0], path) if len(structs) == 1 else ()

    def _table(self, path: KeyPath) -> str:
        """A table as its header is written, or its path in a file that has no headers."""
        if not path:
            return "the top level of the file"
        if not self._is_toml:
            return path_name(path)
        if isinstance(path[-1], int):
            return f"[[{_header_name(path)}]]"
        return f"[{_header_name(path)}]"


def _header_name(path: KeyPath) -> str:
    return ".".join(_key(part) for part in path if isinstance(part, str))


def _check_choice(value: object, choices: Sequence[Any], path: KeyPath) -> Iterator[Fault]:
    if value in choices:
        return
    allowed = ", ".join(quote_value(choice) for choice in sorted(choices, key=str))
    names = [choice for choice in choices if isinstance(choice, str)]
    near = get_close_matches(str(value).lower(), names, n=1) or [SYNONYMS.get(str(value).lower(), "")]
    hint = f"; did you mean {quote_value(near[0])}?" if near[0] in names else "."
    yield Fault(path, f"{path_name(path)} is {quote_value(value)}, which is not one of {allowed}{hint}")


def _check_again(value: object, kind: inspect.Type, path: KeyPath) -> Iterator[Fault]:
    """Ask msgspec about this value alone: its type, its limits, and what a structure itself says about its fields."""
    plain, told = unwrap(kind), _refusal(value, _python_type(kind))
    if told is None:
        return
    if isinstance(plain, inspect.StructType) and isinstance(value, dict):
        named = next((key for key in _NAMED_KEY.findall(told) if key in value), None)
        place = path if named is None else (*path, named)
        yield Fault(place, _NAMED_KEY.sub(r"\1", told) + ".", at_key=named is not None)
    else:
        must = f"{path_name(path) or 'the file'} must be {describe_type(kind)}"
        is_secret = any(part in SECRET_KEYS for part in path)
        shown = "" if is_secret else f", not {quote_value(value)}{_list_hint(value, plain)}"
        yield Fault(path, f"{must}{shown}.")


def _refusal(value: object, kind: Any) -> str | None:
    """What msgspec has against it."""
    try:
        msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as fault:
        return _POSITION.sub("", str(fault))
    return None


def _python_type(kind: inspect.Type) -> Any:
    """The type to ask msgspec about; what lists and tables hold has been looked at already."""
    match unwrap(kind):
        case inspect.StrType() as text:
            found: Any = Annotated[
                str, Meta(min_length=text.min_length, max_length=text.max_length, pattern=text.pattern)
            ]
        case (inspect.IntType() | inspect.FloatType()) as number:
            limits = {name: limit for name in ("gt", "ge", "lt", "le") if (limit := getattr(number, name)) is not None}
            found = Annotated[int if isinstance(number, inspect.IntType) else float, Meta(**limits)]
        case inspect.BoolType():
            found = bool
        case inspect.DateType():
            found = date
        case inspect.DateTimeType(tz=zone):
            found = Annotated[datetime, Meta(tz=zone)]
        case (
            inspect.ListType(min_length=least, max_length=most)
            | inspect.VarTupleType(min_length=least, max_length=most)
        ):
            found = Annotated[list[Any], Meta(min_length=least, max_length=most)]
        case inspect.DictType():
            found = dict[Any, Any]
        case inspect.StructType(cls=struct) | inspect.EnumType(cls=struct):
            found = struct
        case inspect.LiteralType(values=values):
            found = Literal[values]
        case inspect.UnionType(types=types):
            found = _python_union(types)
        case inspect.NoneType():
            found = None
        case _:
            found = Any
    return found


def _python_union(types: Sequence[inspect.Type]) -> Any:
    union = _python_type(types[0])
    for one in types[1:]:
        union = union | _python_type(one)
    return union


def _list_hint(value: object, kind: inspect.Type) -> str:
    is_list = isinstance(kind, inspect.ListType | inspect.VarTupleType)
    return f"; write [{quote_value(value)}]" if is_list and isinstance(value, str) else ""


def _is_same_form(value: object, kind: inspect.Type) -> bool:
    match unwrap(kind):
        case inspect.ListType() | inspect.VarTupleType():
            return isinstance(value, list)
        case inspect.StructType() | inspect.DictType():
            return isinstance(value, dict)
        case inspect.StrType():
            return isinstance(value, str)
        case _:
            return False


def _enum_values(choices: type[Enum]) -> tuple[Any, ...]:
    return tuple(choice.value for choice in choices)
