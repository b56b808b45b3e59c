"""What a person would write of a specification: what is as usual is left out."""

from typing import Any

import msgspec
from msgspec import NODEFAULT
from msgspec.structs import FieldInfo, fields

from outweigh.task.spec import Spec


def plain_table(spec: Spec) -> dict[str, Any]:
    """The keys of a specification whose values are not the usual ones, with the tag that says its type."""
    config = spec.__struct_config__
    tag = {config.tag_field: config.tag} if config.tag_field is not None else {}
    said = {
        field.encode_name: _plain(value)
        for field in fields(spec)
        if not _is_usual(value := getattr(spec, field.name), field)
    }
    return {**tag, **said}


def _is_usual(value: object, field: FieldInfo) -> bool:
    if field.default is not NODEFAULT:
        return bool(value == field.default)
    return field.default_factory is not NODEFAULT and value == field.default_factory()


def _plain(value: object) -> Any:
    match value:
        case Spec():
            return plain_table(value)
        case dict():
            return {str(key): _plain(item) for key, item in value.items()}
        case list() | tuple():
            return [_plain(item) for item in value]
    return msgspec.to_builtins(value)
