"""Types of msgspec in the words of people who write files."""

from collections.abc import Iterator
from typing import Any

from msgspec import inspect

from outweigh.errors import quote_value

_MANY_CHARACTERS = 10_000
"""A longer limit is not worth a word."""


def describe_type(kind: inspect.Type) -> str:
    """What a value of this type must be: "a whole number from 1 to 5"."""
    if isinstance(kind, inspect.Metadata):
        described = (kind.extra_json_schema or {}).get("description")
        return str(described) if described else describe_type(kind.type)
    match kind:
        case inspect.BoolType():
            told = "true or false"
        case inspect.IntType():
            told = f"a whole number{_limits(kind)}"
        case inspect.FloatType():
            told = f"a number{_limits(kind)}"
        case inspect.StrType():
            told = f"text{_lengths(kind)}"
        case inspect.LiteralType(values=values):
            told = f"one of {', '.join(map(quote_value, values))}"
        case inspect.EnumType(cls=choices):
            told = f"one of {', '.join(sorted(quote_value(choice.value) for choice in choices))}"
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            told = f"a list{_plural(item)}{_list_lengths(kind)}"
        case inspect.DictType(value_type=item):
            told = f"a table{_plural(item)}"
        case inspect.StructType():
            told = "a table"
        case inspect.UnionType(types=types):
            ways = (describe_type(one) for one in types if not isinstance(one, inspect.NoneType))
            told = " or ".join(dict.fromkeys(ways))
        case _:
            told = "a value"
    return told


def unwrap(kind: inspect.Type) -> inspect.Type:
    """The type itself, without its description."""
    while isinstance(kind, inspect.Metadata):
        kind = kind.type
    return kind


def _limits(kind: inspect.IntType | inspect.FloatType) -> str:
    if kind.ge is not None and kind.le is not None:
        return f" from {_number(kind.ge)} to {_number(kind.le)}"
    limits = " and ".join(_single_limits(kind))
    return f" {limits}" if limits else ""


def _single_limits(kind: inspect.IntType | inspect.FloatType) -> Iterator[str]:
    if kind.gt is not None:
        yield f"above {_number(kind.gt)}"
    if kind.ge is not None:
        yield f"of at least {_number(kind.ge)}"
    if kind.lt is not None:
        yield f"below {_number(kind.lt)}"
    if kind.le is not None:
        yield f"up to {_number(kind.le)}"


def _number(limit: float) -> str:
    return f"{limit:,.0f}" if limit == int(limit) else f"{limit:g}"


def _lengths(kind: inspect.StrType) -> str:
    if kind.pattern is not None:
        return f" that matches {kind.pattern}"
    if kind.max_length is not None and kind.max_length < _MANY_CHARACTERS:
        return f" of {kind.min_length or 0:,} to {kind.max_length:,} characters"
    return " that is not empty" if kind.min_length else ""


def _list_lengths(kind: Any) -> str:
    if kind.max_length is not None:
        return f", {kind.min_length or 0:,} to {kind.max_length:,} of them"
    return ", at least one" if kind.min_length else ""


def _plural(item: inspect.Type) -> str:
    match unwrap(item):
        case inspect.StrType():
            return " of texts"
        case inspect.IntType() | inspect.FloatType():
            return " of numbers"
        case inspect.StructType() | inspect.DictType() | inspect.UnionType():
            return " of tables"
        case _:
            return ""
