"""YAML that other programs wrote; what a key with two values means is unknown, and noted."""

from pathlib import Path
from typing import Any

from outweigh.adapters.importers.source_text import as_utf8, read_bytes
from outweigh.errors import EvidenceError, name_some
from outweigh.ports.importers import ImportNotes
from outweigh.task.plain_yaml import decode_yaml


def read_yaml(path: Path, notes: ImportNotes, limit: int) -> Any:
    """The value in a YAML file of at most `limit` bytes; anything else is an EvidenceError."""
    content = as_utf8(read_bytes(path, limit), path, notes)
    try:
        found = decode_yaml(content)
    except ValueError as fault:
        raise EvidenceError(f"{path} is not valid YAML: {fault}.") from fault
    if found.doubtful:
        notes.warn(
            f"{path}: {name_some(found.doubtful)} stands for two values in one place; which is meant is unknown."
        )
    return found.value
