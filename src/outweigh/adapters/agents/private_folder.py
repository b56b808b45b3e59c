"""The folder `.outweigh` in the workspace: what an agent needs beside the task, gone before anything is checked."""

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from shutil import rmtree

from outweigh.ports.sandboxes import Sandbox

PRIVATE_FOLDER = ".outweigh"
"""A reserved name: sandboxes read and write the workspace only, so what does not belong to the task lives here."""


@contextmanager
def private_folder(sandbox: Sandbox) -> Iterator[str]:
    """The folder as seen from inside; leaving the context removes it from the workspace, whatever became of it."""
    try:
        yield f"{sandbox.workspace}/{PRIVATE_FOLDER}"
    finally:
        _remove(sandbox)


def _remove(sandbox: Sandbox) -> None:
    """From outside, for a process that was stopped cannot tidy up; a link is removed and never followed."""
    folder = sandbox.host_workspace / PRIVATE_FOLDER
    if folder.is_dir() and not folder.is_symlink():
        rmtree(folder, ignore_errors=True)
    else:
        with suppress(OSError):
            folder.unlink()
