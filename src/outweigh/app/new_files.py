"""Write a set of new files: all or none, and nothing is overwritten.

A module of its own because `init` writes the starter suite with it, without loading the suite readers.
"""

import shlex
from collections.abc import Iterable, Mapping
from contextlib import suppress
from pathlib import Path

from outweigh.errors import UsageError, quote_names
from outweigh.ports.suites import DraftFile
from outweigh.store.durable_files import write_atomic


def refuse_to_overwrite(paths: Iterable[Path], folder: Path) -> None:
    """All are looked at before the first is written, so that a refusal leaves everything as it was."""
    there = list(dict.fromkeys(str(found) for path in paths if (found := _existing_obstacle(path, folder)) is not None))
    if there:
        is_one = len(there) == 1
        raise UsageError(
            f"{quote_names(there)} {'is' if is_one else 'are'} already there, and nothing is overwritten. Name another "
            f"folder, as in `outweigh init {shlex.quote(str(folder / 'starter'))}`, or move "
            f"{'it' if is_one else 'them'} away."
        )


def write_files(folder: Path, files: Mapping[str, DraftFile]) -> None:
    """Write every file below the folder, which is made where it is missing; a fault takes back what was written."""
    written: list[Path] = []
    try:
        for path, file in files.items():
            _write_file(folder / path, file)
            written.append(folder / path)
    except UsageError:
        for target in written:
            with suppress(OSError):
                target.unlink()
        raise


GENERATED = ("outweigh-runs/",)
"""What outweigh writes into the folder of a suite, as patterns for git."""


def ignore_generated(folder: Path) -> bool:
    """Add what is generated to the folder's `.gitignore`, which is made where there is none; says whether it changed.

    Lines that are there stay as they are, and a pattern that is there already is not added again.
    """
    file = folder / ".gitignore"
    try:
        before = file.read_bytes() if file.exists() else b""
    except OSError as fault:
        raise UsageError(f"{file} cannot be read: {fault.strerror}.") from fault
    known = {line.strip().strip(b"/") for line in before.splitlines()}
    missing = [pattern for pattern in GENERATED if pattern.strip("/").encode() not in known]
    if not missing:
        return False
    newline = b"\r\n" if b"\r\n" in before else b"\n"
    start = before if not before or before.endswith(b"\n") else before + newline
    write_atomic(file, [start + b"".join(pattern.encode() + newline for pattern in missing)])
    return True


def _existing_obstacle(path: Path, folder: Path) -> Path | None:
    """The file or link itself, or a file where a folder below the given one must be."""
    if path.exists() or path.is_symlink():
        return path
    between = (parent for parent in path.parents if folder in parent.parents)
    return next((each for each in between if (each.exists() or each.is_symlink()) and not each.is_dir()), None)


def _write_file(path: Path, file: DraftFile) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError(f"{path.parent} cannot be made: {fault.strerror}. Name a folder to write to.") from fault
    write_atomic(path, [file.content])
    if file.executable:
        path.chmod(path.stat().st_mode | 0o111)
