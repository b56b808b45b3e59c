"""What changed in a workspace, as a patch against the pristine tree.

The workspace's own `.git` is never looked at: its settings can name programs that git would run, on the host and as the
engine. All git work is done with a repository that borrows from the pristine one.
"""

import os
import shutil
import stat
from collections.abc import Iterable, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from outweigh.adapters.workspaces.git import AS_IT_IS, GitError, git, repository
from outweigh.adapters.workspaces.listing import files_below
from outweigh.ports import SandboxError

FILE_LIMIT = 8 * 2**20
PATCH_LIMIT = 32 * 2**20
_NOTES_LIMIT = 100


def diff(workspace: Path, pristine: Path) -> bytes:
    """The changes as `git apply` takes them, new files included; what is left out is named on top.

    New files count unless the pristine tree's own rules ignore them: rules that the agent wrote hide nothing.
    """
    workspace, pristine = workspace.absolute(), pristine.absolute()
    try:
        with TemporaryDirectory(prefix="outweigh-diff-") as scratch:
            return _diff(workspace, pristine, _borrowed(pristine, Path(scratch)))
    except GitError as fault:  # the agent made a tree that git cannot take: no reason to lose the run
        return f"# the changes could not be written down: {fault}\n".encode()
    except OSError as fault:
        raise SandboxError(f"the changes in the workspace could not be written down: {fault}.") from fault


def _borrowed(pristine: Path, folder: Path) -> Path:
    """A repository that reads the pristine one's objects, and keeps what it adds to itself."""
    own = pristine / ".git"
    for name in ("objects/info", "refs", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    (folder / "HEAD").write_bytes(git("rev-parse", "HEAD", folder=pristine, environment=repository(own, pristine)))
    (folder / "objects/info/alternates").write_bytes(os.fsencode(own / "objects") + b"\n")
    (folder / "info/attributes").write_text(AS_IT_IS)
    shutil.copy2(own / "index", folder / "index")
    return folder


def _diff(workspace: Path, pristine: Path, borrowed: Path) -> bytes:
    ours = repository(borrowed, workspace)
    before = set(_split(git("ls-files", "-z", folder=workspace, environment=ours)))
    found = dict(files_below(workspace))
    ignored = _ignored(pristine, [name for name in found if name not in before])
    choice = _Choice(workspace, pristine)
    for name in sorted(found.keys() - ignored):
        choice.consider(name, found[name], is_new=name not in before)
    for option, names in (("--force-remove", sorted(before - found.keys())), ("--replace", choice.taken)):
        if names:
            words = ("update-index", "-z", "--add", option, "--stdin")
            git(*words, folder=workspace, stdin=_joined(names), environment=ours)
    show = ("diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "HEAD")
    return choice.notes() + git(*show, folder=workspace, environment=ours)


class _Choice:
    """What goes into a patch, within its limits; what does not is kept with the reason."""

    def __init__(self, workspace: Path, pristine: Path) -> None:
        self._workspace, self._pristine = workspace, pristine
        self._left = PATCH_LIMIT
        self._left_out: list[str] = []
        self.taken: list[bytes] = []

    def consider(self, name: bytes, status: os.stat_result, *, is_new: bool) -> None:
        path = os.fsdecode(name)
        # What has its old size may still have changed, but cannot make the patch larger than the task already is.
        grows = is_new or (self._pristine / path).lstat().st_size != status.st_size
        if grows and status.st_size > min(FILE_LIMIT, self._left):
            self._left_out.append(f"# left out for its size: {path!r}, {status.st_size} bytes")
        elif stat.S_ISREG(status.st_mode) and not os.access(self._workspace / path, os.R_OK):
            self._left_out.append(f"# left out because it cannot be read: {path!r}")
        else:
            self._left -= status.st_size if grows else 0
            self.taken.append(name)

    def notes(self) -> bytes:
        more = len(self._left_out) - _NOTES_LIMIT
        lines = [*self._left_out[:_NOTES_LIMIT], *([f"# and {more} more"] if more > 0 else [])]
        return "".join(f"{line}\n" for line in lines).encode()


def _ignored(pristine: Path, names: Sequence[bytes]) -> set[bytes]:
    if not names:
        return set()
    try:
        found = git(
            "check-ignore",
            *("--no-index", "-z", "--stdin"),
            folder=pristine,
            stdin=_joined(names),
            environment=repository(pristine / ".git", pristine),
            accept=1,  # nothing is ignored
        )
    except GitError:  # a name that lies beyond a link of the pristine tree: better too much than too little
        return set()
    return set(_split(found))


def _split(listing: bytes) -> list[bytes]:
    return [name for name in listing.split(b"\0") if name]


def _joined(names: Iterable[bytes]) -> bytes:
    return b"".join(name + b"\0" for name in names)
