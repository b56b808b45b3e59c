"""YAML that other people wrote, limited to plain values: no aliases, limited depth, no key with two values.

A file of its own because PyYAML is slow to load and needed by few.
"""

from importlib import import_module
from typing import Any, NamedTuple

from outweigh.errors import requires_extra

YAML_DEPTH_LIMIT = 64


class PlainYaml(NamedTuple):
    """What a text says, and the keys that stand for two values in one place: each of them is None in `value`."""

    value: Any
    doubtful: tuple[str, ...]


def decode_yaml(content: bytes | str) -> PlainYaml:
    """The value of a YAML text; ValueError says, as the end of a sentence, why there is none."""
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
    """References can double a text at every line; they are seen, as is nesting, before anything is built."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > YAML_DEPTH_LIMIT or isinstance(event, yaml.AliasEvent):
            raise ValueError("it refers to itself, or is nested without end")


def _strict_loader(loader: Any, doubtful: list[str]) -> Any:
    """A loader that gives nothing for a key with two values, where others give the last; such keys go to `doubtful`."""

    class Strict(loader):  # type: ignore[misc]  # which one it is depends on how PyYAML was built
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            said: dict[str, Any] = {}
            pairs = [(key.value, value.value) for key, value in node.value if isinstance(key.value, str)]
            both = [key for key, value in pairs if said.setdefault(key, value) != value]
            doubtful.extend(both)
            return super().construct_mapping(node, deep) | dict.fromkeys(both)

    return Strict
