"""YAML that other people wrote, limited to plain values: no aliases, limited depth, no key with two values.

A separate file because PyYAML is slow to load and rarely needed.
"""

from importlib import import_module
from typing import Any, NamedTuple

from outweigh.errors import requires_extra

YAML_DEPTH_LIMIT = 64


class PlainYaml(NamedTuple):
    """The value of a text, and the keys with two values in one place, which are None in `value`."""

    value: Any
    doubtful: tuple[str, ...]


def decode_yaml(content: bytes | str) -> PlainYaml:
    """The value of a YAML text; the message of a ValueError can end a sentence."""
    with requires_extra("reading YAML", "yaml"):
        yaml = import_module("yaml")  # slow to load, and few need it
    quick = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    doubtful: list[str] = []
    try:
        _refuse_aliases_and_depth(yaml.parse(content, quick), yaml)
        value = yaml.load(content, _strict_loader(quick, doubtful))
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as fault:
        raise ValueError(" ".join(str(fault).split())) from None
    return PlainYaml(value, tuple(dict.fromkeys(doubtful)))


def _refuse_aliases_and_depth(events: Any, yaml: Any) -> None:
    """Reject aliases, which can grow a text exponentially, and deep nesting, before anything is built."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > YAML_DEPTH_LIMIT or isinstance(event, yaml.AliasEvent):
            raise ValueError("it refers to itself, or is nested without end")


def _strict_loader(loader: Any, doubtful: list[str]) -> Any:
    """A loader that gives None for a key with two values, instead of the last one, and adds it to `doubtful`."""

    class Strict(loader):  # type: ignore[misc]  # which one it is depends on how PyYAML was built
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            first: dict[str, Any] = {}
            pairs = [(key.value, value.value) for key, value in node.value if isinstance(key.value, str)]
            both = [key for key, value in pairs if first.setdefault(key, value) != value]
            doubtful.extend(both)
            return super().construct_mapping(node, deep) | dict.fromkeys(both)

    return Strict
