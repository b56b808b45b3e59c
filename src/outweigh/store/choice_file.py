"""`choices.jsonl`: which arms the inheriting arms of a store are built on, one sealed line for each choice.

The file only grows. Whoever appends to it has opened the store, which holds its lock and has repaired its logs.
"""

from collections.abc import Iterable
from pathlib import Path

from outweigh.errors import EvidenceError
from outweigh.model.choice import ChoiceRecord
from outweigh.model.codec import decode, encode
from outweigh.model.line_seal import is_sealed, seal
from outweigh.store.append_log import AppendLog

CHOICES_FILE = "choices.jsonl"


def append_choice(folder: Path, choice: ChoiceRecord) -> None:
    """Keep a choice; when this returns, it survives a power cut. What could not be read again is refused."""
    line = seal(encode(choice))
    log = AppendLog(folder / CHOICES_FILE)
    try:
        decode(line)
        log.append(line)
    except ValueError as fault:
        raise EvidenceError(
            f"the choice for {choice.arm!r} could not be read again if it were kept: {fault}."
        ) from fault
    except OSError as fault:
        raise EvidenceError(
            f"the choice for {choice.arm!r} could not be kept in {folder}: {fault.strerror}. What was kept before is "
            "safe; free some disk space, then start again to continue from there."
        ) from fault
    finally:
        log.close()


def read_choices(folder: Path) -> tuple[ChoiceRecord, ...]:
    """Every choice of a store, in the order in which they were made; nothing where there is no such file.

    A line that is damaged is refused: without it the same arm might be chosen again, and otherwise. A last line
    without its end was never acknowledged, and does not count.
    """
    path = folder / CHOICES_FILE
    try:
        lines = path.read_bytes().splitlines(keepends=True)
    except (FileNotFoundError, NotADirectoryError):
        return ()
    except OSError as fault:
        raise EvidenceError(f"{path} cannot be read: {fault.strerror}.") from fault
    return tuple(_read(line, f"{path}:{number}") for number, line in enumerate(lines, start=1) if line.endswith(b"\n"))


def _read(line: bytes, place: str) -> ChoiceRecord:
    try:
        if not is_sealed(line):
            raise ValueError("the line does not match its checksum: it was damaged or changed")
        choice = decode(line)
    except ValueError as fault:
        raise EvidenceError(f"{place}: {fault}. Restore the file from a backup.") from fault
    if not isinstance(choice, ChoiceRecord):
        raise EvidenceError(f"{place} is not a choice. Restore the file from a backup.")
    return choice


def choices_by_arm(choices: Iterable[ChoiceRecord]) -> dict[str, ChoiceRecord]:
    """The choice that counts for each inheriting arm: the only one that names an arm, else the last one.

    An arm that nothing could be chosen for is tried again by the next run; a choice that names an arm is final.
    """
    found: dict[str, ChoiceRecord] = {}
    for choice in choices:
        known = found.get(choice.arm)
        if known is not None and known.chosen is not None:
            raise EvidenceError(
                f"{CHOICES_FILE} has two choices for {choice.arm!r}, and a choice is never changed. Restore the file "
                "from a backup."
            )
        found[choice.arm] = choice
    return found
