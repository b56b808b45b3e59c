"""The content of a folder as one hash: the same files give the same hash on every machine."""

import os
import stat
from collections.abc import Iterator
from hashlib import file_digest, sha256
from pathlib import Path

import msgspec

from outweigh.errors import UsageError


def tree_digest(root: Path) -> str:
    """Hash names, kinds, executable bits and content, but not a `.git` folder at the top.

    git changes its own folder by reading it, and workspaces are laid out without it. Other mode bits differ from clone
    to clone.
    """
    whole = sha256()
    for path in paths_below(root):
        if path.relative_to(root).parts[0] == ".git":
            continue
        whole.update(msgspec.json.encode(_entry(root, path)) + b"\n")
    return whole.hexdigest()


def paths_below(root: Path) -> Iterator[Path]:
    """Everything in a folder, in a fixed order; links are listed and not followed."""
    for entry in sorted(root.iterdir(), key=lambda path: os.fsencode(path.name)):
        yield entry
        if entry.is_dir() and not entry.is_symlink():
            yield from paths_below(entry)


def file_sha256(path: Path) -> str:
    """The hash of a file's content."""
    with path.open("rb") as file:
        return file_digest(file, "sha256").hexdigest()


def refuse_link_out(root: Path, link: Path) -> None:
    """Refuse a link that leads out of its folder: it would not survive a copy."""
    target = link.readlink()
    if target.is_absolute() or not link.resolve().is_relative_to(root.resolve()):
        raise UsageError(f"{link} is a link to '{target}', which leads out of {root}. Copy what it points at instead.")


def _entry(root: Path, path: Path) -> tuple[str, str, str]:
    name = os.fsencode(path.relative_to(root)).hex()
    mode = path.lstat().st_mode
    if stat.S_ISLNK(mode):
        refuse_link_out(root, path)
        return name, "link", os.fsencode(path.readlink()).hex()
    if stat.S_ISDIR(mode):
        return name, "folder", ""
    if not stat.S_ISREG(mode):
        raise UsageError(f"{path} is neither a file, a folder nor a link; remove it.")
    return name, "program" if mode & stat.S_IXUSR else "file", file_sha256(path)
