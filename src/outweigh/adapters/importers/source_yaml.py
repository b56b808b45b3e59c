"""YAML that other programs wrote: no references, no endless nesting, and nothing where a key has two values."""

from importlib import import_module
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.source_text import as_utf8, read_bytes
from outweigh.errors import EvidenceError, name_some
from outweigh.ports import ImportNotes

DEPTH_LIMIT = 64


def read_yaml(path: Path, notes: ImportNotes, limit: int) -> Any:
    """The value in a YAML file of at most `limit` bytes; anything else is an EvidenceError."""
    yaml = import_module("yaml")  # loaded when such a file is read, and by nobody else

    content = as_utf8(read_bytes(path, limit), path, notes)
    quick = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        _refuse_traps(yaml.parse(content, quick), yaml)
        doubtful: list[str] = []
        found = yaml.load(content, _strict(quick, doubtful))
    except (yaml.YAMLError, ValueError, RecursionError, OverflowError) as fault:
        raise EvidenceError(f"{path} is not valid YAML: {str(fault).splitlines()[0]}.") from fault
    if doubtful:
        notes.warn(f"{path}: {name_some(doubtful)} stands for two values in one place; which is meant is unknown.")
    return found


def _refuse_traps(events: Any, yaml: Any) -> None:
    """References can double a text at every line; they are seen, as is nesting, before anything is built."""
    depth = 0
    for event in events:
        depth += isinstance(event, yaml.CollectionStartEvent) - isinstance(event, yaml.CollectionEndEvent)
        if depth > DEPTH_LIMIT or isinstance(event, yaml.AliasEvent):
            raise ValueError("it refers to itself, or is nested without end")


def _strict(loader: Any, doubtful: list[str]) -> Any:
    """A loader that gives nothing for a key with two values, where others give the last; such keys go to `doubtful`."""

    class Strict(loader):  # type: ignore[misc]  # which one it is depends on how PyYAML was built
        def construct_mapping(self, node: Any, deep: bool = False) -> Any:
            said: dict[str, Any] = {}
            pairs = [(key.value, value.value) for key, value in node.value if isinstance(key.value, str)]
            both = [key for key, value in pairs if said.setdefault(key, value) != value]
            doubtful.extend(both)
            return super().construct_mapping(node, deep) | dict.fromkeys(both)

    return Strict
