"""The repair of a log after a crash, which destroys nothing that was ever acknowledged.

A last line without its line feed was never acknowledged, and is cut off. Every other line that cannot be read stays
where it is, byte for byte, and a copy of all of them is kept beside the log.
"""

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.codec import InvalidLine
from outweigh.store.durable_files import write_atomic

DAMAGED_PREFIX = "damaged-"
_SHOWN = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRepair:
    """What was found in one log: the torn end that was cut off, and the lines that cannot be read, with their copy."""

    torn: InvalidLine | None
    damaged: tuple[InvalidLine, ...]
    copy: Path | None


def repair_log(path: Path, take: Callable[[bytes], object]) -> LogRepair:
    """Give every line to `take`, which raises where it cannot read one; cut off a last line that has no end."""
    torn: InvalidLine | None = None
    damaged: list[InvalidLine] = []
    unreadable: list[bytes] = []
    whole = 0
    with path.open("r+b") as stream:
        for number, line in enumerate(stream, start=1):
            if not line.endswith(b"\n"):
                torn = InvalidLine(str(path), number, "the file ends in the middle of a line; cut off")
                os.ftruncate(stream.fileno(), whole)
                break
            whole += len(line)
            if (fault := _fault(line, take)) is not None:
                damaged.append(InvalidLine(str(path), number, fault))
                unreadable.append(line)
        # The writer that was killed may have left lines that are whole and not yet on the disk.
        os.fsync(stream.fileno())
    return LogRepair(torn=torn, damaged=tuple(damaged), copy=_keep_copy(path, unreadable) if unreadable else None)


def _fault(line: bytes, take: Callable[[bytes], object]) -> str | None:
    if line.isspace():
        return None
    try:
        take(line)
    except (ValueError, msgspec.MsgspecError, RecursionError) as fault:
        return str(fault)
    return None


def _keep_copy(path: Path, lines: Sequence[bytes]) -> Path:
    """Lines that cannot be read, in a file named by their content: it is written once, and never over another."""
    digest = sha256(b"".join(lines)).hexdigest()
    # Not `.jsonl`, which would be read as records.
    copy = path.with_name(f"{DAMAGED_PREFIX}{path.stem}-{digest[:12]}.log")
    if not copy.exists():
        write_atomic(copy, lines)
    return copy


def refuse_damage(repairs: Sequence[LogRepair], *, go_on_without: bool) -> None:
    """Refuse to go on where lines cannot be read, unless the user says to go on without them."""
    damaged = [line for repair in repairs for line in repair.damaged]
    if not damaged or go_on_without:
        return
    more = f"; and {len(damaged) - _SHOWN} more lines" if len(damaged) > _SHOWN else ""
    copies = " and ".join(str(repair.copy) for repair in repairs if repair.copy is not None)
    raise EvidenceError(
        f"{'; '.join(map(str, damaged[:_SHOWN]))}{more}. Nothing was changed, and a copy is in {copies}. Restore the "
        "file from a backup, or pass --go-on-without to repeat what they recorded (evidence with damaged lines "
        "never promotes)."
    )
