"""Paths within a workspace that does not exist yet."""

from pathlib import PurePosixPath

from outweigh.errors import UsageError


def workspace_path(path: str, where: str) -> str:
    """The same path in its plain form; UsageError for one that leads out, by the look of it."""
    pure = PurePosixPath(path.replace("\\", "/"))
    if pure.is_absolute() or ".." in pure.parts or "\0" in path or not pure.parts:
        raise UsageError(f"{where}: {path!r} leads out of the workspace; write a path within it.")
    return str(pure)
