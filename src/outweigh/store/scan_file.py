"""`scan.json`: what the scan for cheats found in a store's runs. It can be made again at any time."""

from collections.abc import Sequence
from pathlib import Path

import msgspec

from outweigh.model.scan_result import ScanFile
from outweigh.store.durable_files import write_atomic

SCAN_FILE = "scan.json"


def write_scan(folder: Path, scan: ScanFile) -> None:
    """Write it whole, in place of an earlier one; a run is a line, so that the file can be read by eye."""
    write_atomic(folder / SCAN_FILE, _lines(scan))


def _lines(scan: ScanFile) -> Sequence[bytes]:
    head = msgspec.json.encode(msgspec.structs.replace(scan, runs=()))
    runs = b",\n".join(msgspec.json.encode(run) for run in scan.runs)
    return head.removesuffix(b"]}"), b"\n" if runs else b"", runs, b"]}\n"


def read_scan(folder: Path) -> ScanFile | None:
    """What was kept; None where nothing was, or where it cannot be read: the runs can be scanned again."""
    try:
        return msgspec.json.decode((folder / SCAN_FILE).read_bytes(), type=ScanFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        return None
