"""Tables in files of other programs, held to their form: what does not fit is a sentence with a way out."""

import re
from collections.abc import Iterator
from difflib import get_close_matches
from pathlib import Path
from typing import Annotated, Any, TypeVar

import msgspec
from msgspec import Meta, inspect

from outweigh.errors import UsageError

WORDS = r"\A(?=[^\x00]*\Z)\s*\S"
"""A pattern for what somebody is to read or to run: not empty, and without the sign that ends every word."""

Text = Annotated[str, Meta(pattern=WORDS, max_length=1_000_000)]

_UNKNOWN_KEY = re.compile(r"unknown field `([^`]*)`")


class ForeignTable(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A table with known keys. One that nobody knows is refused: it may be a misspelt check that would go missing."""


T = TypeVar("T", bound=ForeignTable)


def foreign_table(value: object, kind: type[T], source: Path) -> T:
    """The value as that table; UsageError where it is none."""
    try:
        return msgspec.convert(value, kind, str_keys=True)
    except msgspec.ValidationError as fault:
        raise UsageError(f"{source}: {fault}.{_way_out(str(fault), kind)}") from None


def _way_out(fault: str, kind: type[ForeignTable]) -> str:
    unknown = _UNKNOWN_KEY.search(fault)
    if unknown is None:
        return " Mend it there, and read the suite again."
    near = get_close_matches(unknown[1], set(_keys(inspect.type_info(kind))), n=1)
    return f" Did you mean `{near[0]}`?" if near else " Nothing would be done with it here: take it out."


def _keys(kind: inspect.Type) -> Iterator[str]:
    """Those of the table and of all tables that may stand in it."""
    match kind:
        case inspect.StructType(fields=fields):
            yield from (field.encode_name for field in fields)
            for field in fields:
                yield from _keys(field.type)
        case inspect.ListType(item_type=item):
            yield from _keys(item)
        case inspect.UnionType(types=types):
            for each in types:
                yield from _keys(each)


def is_table_with(value: Any, *keys: str) -> bool:
    """Whether a value is a table that has all these keys, for a first look."""
    return isinstance(value, dict) and all(key in value for key in keys)
