"""A patch between two states of some files, as `git apply` takes it."""

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory

from outweigh.workspace.git import RAW_ATTRIBUTES, git

Files = Mapping[str, tuple[bytes, bool]]
"""Content, and whether it can be executed, by path."""


def file_patch(before: Files, after: Files) -> bytes:
    """What turns the one state into the other, byte for byte; binary files are in it as a whole."""
    with TemporaryDirectory(prefix="outweigh-patch-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        git("init", "--quiet", folder=folder)
        (folder / ".git" / "info").mkdir(exist_ok=True)
        (folder / ".git" / "info" / "attributes").write_text(RAW_ATTRIBUTES)
        trees = [_write_tree(folder, files) for files in (before, after)]
        return git("diff-tree", "-p", "--binary", "--no-color", "--no-ext-diff", "--no-renames", *trees, folder=folder)


def _write_tree(folder: Path, files: Files) -> str:
    """The files as a tree of git's, whatever the working folder holds."""
    git("read-tree", "--empty", folder=folder)
    lines = []
    for path, (content, executable) in sorted(files.items()):
        name = git("hash-object", "-w", "--stdin", "--no-filters", folder=folder, stdin=content).decode().strip()
        lines.append(f"{'100755' if executable else '100644'} {name}\t{path}".encode() + b"\0")
    git("update-index", "-z", "--index-info", folder=folder, stdin=b"".join(lines))
    return git("write-tree", folder=folder).decode().strip()
