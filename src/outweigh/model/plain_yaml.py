"""YAML that other people wrote, limited to plain values: no aliases, limited depth, no key with two values.

Also where its keys and values stand, for error messages.

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


class YamlPositions:
    """The position of every key and value of a YAML text that `decode_yaml` has accepted, by its path."""

    def __init__(self, text: str) -> None:
        yaml = import_module("yaml")
        self._marks: dict[tuple[str, ...], tuple[Any, Any]] = {}
        root = yaml.compose(text, yaml.SafeLoader)
        if root is not None:
            self._add((), root, root)

    def of_key(self, path: tuple[str | int, ...]) -> tuple[int, int]:
        """Where the key stands; an item of a list has none, so it is the item itself."""
        return self._position(path, 0)

    def of_value(self, path: tuple[str | int, ...]) -> tuple[int, int]:
        """Where the value starts."""
        return self._position(path, 1)

    def _add(self, path: tuple[str, ...], key: Any, value: Any) -> None:
        self._marks[path] = (key.start_mark, value.start_mark)
        if value.id == "mapping":
            for inner_key, inner in value.value:
                self._add((*path, str(inner_key.value)), inner_key, inner)
        elif value.id == "sequence":
            for index, item in enumerate(value.value):
                self._add((*path, str(index)), item, item)

    def _position(self, path: tuple[str | int, ...], which: int) -> tuple[int, int]:
        names = tuple(map(str, path))
        while names and names not in self._marks:
            names = names[:-1]
        if names not in self._marks:
            return 1, 1
        mark = self._marks[names][which]
        return mark.line + 1, mark.column + 1
