"""The changes file: what became of each merged change, one JSON object per line."""

from pathlib import Path

import msgspec

from outweigh.errors import UsageError
from outweigh.score.changes import Change


def read_changes(path: str) -> list[Change]:
    """Read `{"id": …, "arm": …, "failed": …, "reverted": …}` lines."""
    decoder = msgspec.json.Decoder(Change)
    changes = []
    try:
        for number, line in enumerate(Path(path).read_bytes().splitlines(), start=1):
            if line.strip():
                changes.append(_decode(decoder, line, f"{path}:{number}"))
    except OSError as fault:
        raise UsageError(f"--changes {path} cannot be read: {fault.strerror}.") from fault
    if len({(change.arm, change.id) for change in changes}) < len(changes):
        raise UsageError(f"--changes {path} names a change of one arm twice; list every change once.")
    return changes


def _decode(decoder: "msgspec.json.Decoder[Change]", line: bytes, place: str) -> Change:
    try:
        return decoder.decode(line)
    except (msgspec.MsgspecError, UnicodeDecodeError) as fault:
        raise UsageError(f"{place}: {fault}. A change has id, arm, failed and reverted.") from fault
