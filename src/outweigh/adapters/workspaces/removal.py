"""Taking away trees that an agent may have made hard to remove: closed folders, endless nesting."""

import shutil
from pathlib import Path

from outweigh.apart import run_apart


def remove(folder: Path) -> None:
    """Remove a tree, whatever is in it; nothing there is fine."""
    try:
        shutil.rmtree(folder)
    except (OSError, RecursionError):
        _remove_by_force(folder)


def _remove_by_force(folder: Path) -> None:
    """By programs, which no depth of nesting stops; a process each, so not for the ordinary tree."""
    if folder.exists() or folder.is_symlink():
        _run("rm", "-rf", folder)
    if folder.exists():
        _run("chmod", "-R", folder, "u+rwX")
        _run("rm", "-rf", folder)


def _run(program: str, option: str, folder: Path, *operands: str) -> None:
    run_apart([program, option, *operands, "--", str(folder)])
