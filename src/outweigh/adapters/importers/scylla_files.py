"""Small files in ProjectScylla's folders: JSON documents that may be missing, and `MODEL.md`."""

import re
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.source_text import read_json, read_text
from outweigh.ports.importers import ImportNotes
from outweigh.transcript.foreign import mapping

_SAYS = re.compile(r"^\*\*(?P<key>[^*]+)\*\*:\s*(?P<value>.+?)\s*$", re.MULTILINE)


def document(path: Path, notes: ImportNotes) -> dict[str, Any]:
    """A JSON object; an empty one where there is no file."""
    return mapping(read_json(path, notes)) if path.is_file() else {}


def about_model(path: Path, notes: ImportNotes) -> dict[str, str]:
    """What a `MODEL.md` says, by its bold words: who answered, in which version, when."""
    if not path.is_file():
        return {}
    return {found["key"]: found["value"] for found in _SAYS.finditer(read_text(path, notes))}
