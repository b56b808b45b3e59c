"""`preflight.json`: what a suite's tasks showed before any run, kept beside the records of their runs."""

from pathlib import Path

import msgspec

from outweigh.errors import UsageError
from outweigh.model.preflight_result import Preflight
from outweigh.store.durable_files import write_atomic

PREFLIGHT_FILE = "preflight.json"


def write_preflight(folder: Path, preflight: Preflight) -> None:
    """Write it whole, in place of an earlier one; the folder is made where it is missing."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError(f"{folder} cannot be made: {fault.strerror}. Name a folder to write to with -o.") from fault
    write_atomic(folder / PREFLIGHT_FILE, [msgspec.json.format(msgspec.json.encode(preflight), indent=2), b"\n"])


def read_preflight(folder: Path) -> Preflight | None:
    """What was kept; None where nothing was, or where it cannot be read: tasks can be tried again."""
    try:
        return msgspec.json.decode((folder / PREFLIGHT_FILE).read_bytes(), type=Preflight)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None
