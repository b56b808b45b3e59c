"""Whether a path holds run records already, so that there is nothing to import."""

import re
from pathlib import Path

from outweigh.adapters.stores.jsonl import PARQUET, SUFFIX
from outweigh.adapters.stores.parquet import is_own_parquet

_HEAD_BYTES = 4096
_RECORD = re.compile(rb'^\s*\{\s*"schema"\s*:\s*"outweigh\.')


def holds_own_records(path: Path) -> bool:
    """By how its lines begin, or by the columns of a Parquet file; a folder by any file in it."""
    if path.is_dir():
        return any(map(_has_own_lines, path.glob(f"*{SUFFIX}")))
    return is_own_parquet(path) if path.suffix == PARQUET else _has_own_lines(path)


def _has_own_lines(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return _RECORD.match(stream.read(_HEAD_BYTES)) is not None
    except OSError:
        return False
