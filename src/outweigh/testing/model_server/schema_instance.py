"""The smallest value that a JSON Schema accepts, well enough for the schemas that agents send."""

from collections.abc import Mapping
from typing import Any

Schema = Mapping[str, Any]
_DEPTH = 20


def instance_of(schema: Schema, text: str, depth: int = 0) -> Any:
    """A value with nothing but what is required; strings hold the text, as far as they may be chosen."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    option = next((schema[union][0] for union in ("anyOf", "oneOf", "allOf") if schema.get(union)), None)
    return _by_type(schema, text, depth) if option is None else instance_of(option, text, depth + 1)


def required_values(schema: Schema, text: str, depth: int = 0) -> dict[str, Any]:
    """A value for every required property of an object."""
    properties = schema.get("properties", {})
    if depth > _DEPTH:
        return {}
    names = [name for name in schema.get("required", ()) if isinstance(name, str)]
    return {name: instance_of(properties.get(name, {}), text, depth + 1) for name in names}


def type_names(schema: Schema) -> frozenset[str]:
    """The types a schema allows, in lower case: Gemini writes them in capitals."""
    stated = schema.get("type", ())
    names = {stated} if isinstance(stated, str) else set(stated)
    for union in ("anyOf", "oneOf"):
        for option in schema.get(union, ()):
            names |= type_names(option)
    return frozenset(name.lower() for name in names)


def _by_type(schema: Schema, text: str, depth: int) -> Any:
    kind = _type_of(schema)
    if kind == "object":
        return required_values(schema, text, depth)
    if kind == "array":
        return [instance_of(schema.get("items", {}), text, depth + 1) for _ in range(int(schema.get("minItems", 0)))]
    if kind in ("integer", "number"):
        return schema.get("minimum", 0)
    return {"boolean": False, "null": None}.get(kind, text)


def _type_of(schema: Schema) -> str:
    names = type_names(schema)
    if not names:
        return "object" if "properties" in schema else "string"
    return min(names - {"null"} or names)
