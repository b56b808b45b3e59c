"""What is packed with Zstandard, which the zip reader of older Pythons does not know."""

import zipfile
from typing import Any

from outweigh.errors import EvidenceError


def unpack_zstandard(packed: bytes, limit: int) -> bytes:
    """What was packed, and no more than so many bytes of it; what was not is a BadZipFile."""
    zstandard = _zstandard()
    try:
        with zstandard.ZstdDecompressor().stream_reader(packed, read_across_frames=True) as reader:
            content: bytes = reader.read(limit)
    except zstandard.ZstdError as fault:
        raise zipfile.BadZipFile(str(fault)) from fault
    return content


def _zstandard() -> Any:
    """Loaded when the first such member is read; whoever imports no such archive need not have it."""
    try:
        import zstandard  # noqa: PLC0415
    except ImportError as fault:
        raise EvidenceError(
            "this archive is packed with Zstandard; install what unpacks it: pip install 'outweigh[inspect]'."
        ) from fault
    return zstandard
