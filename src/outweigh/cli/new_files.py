"""Files that were not there before: all or none, and nothing is overwritten."""

import shlex
from collections.abc import Iterable, Mapping
from pathlib import Path

from outweigh.adapters.stores.whole_file import write_whole
from outweigh.errors import UsageError, name_some
from outweigh.ports import SuiteFile


def refuse_to_overwrite(paths: Iterable[Path], folder: Path) -> None:
    """All are looked at before the first is written, so that a refusal leaves everything as it was."""
    there = [str(path) for path in paths if path.exists() or path.is_symlink()]
    if there:
        is_one = len(there) == 1
        raise UsageError(
            f"{name_some(there)} {'is' if is_one else 'are'} there already, and nothing is overwritten. Name another "
            f"folder, as in `outweigh init {shlex.quote(str(folder / 'starter'))}`, or move "
            f"{'it' if is_one else 'them'} away."
        )


def write_files(folder: Path, files: Mapping[str, SuiteFile]) -> None:
    """Write every file below the folder, which is made where it is missing."""
    for path, file in files.items():
        _write(folder / path, file)


def _write(path: Path, file: SuiteFile) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as fault:
        raise UsageError(f"{path.parent} cannot be made: {fault.strerror}. Name a folder to write to.") from fault
    write_whole(path, [file.content])
    if file.executable:
        path.chmod(path.stat().st_mode | 0o111)
