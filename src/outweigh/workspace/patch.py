"""What changed in a workspace, as a patch against the pristine tree.

The workspace's own `.git` is never read: its settings can name programs that git would run, on the host and as the
engine. All git work is done with a repository that borrows the objects of the pristine one.
"""

import os
import stat
from collections.abc import Iterable, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path
from tempfile import TemporaryDirectory
from types import MappingProxyType

from outweigh.ports.sandboxes import SandboxError
from outweigh.workspace.git import BASE_BRANCH, RAW_ATTRIBUTES, GitError, git, repository_environment, tree_files

PATCH_FILE_LIMIT = 8 * 2**20
PATCH_LIMIT = 32 * 2**20
PATCH_COUNT_LIMIT = 20_000
LAID_FILE_LIMIT = 2**30
"""A larger file is not what an arm laid there."""
_NOTES_LIMIT = 100
# Otherwise names that mean `.git` on other systems are passed over in silence. Nothing is written under them here.
_ANY_NAME = ("-c", "core.protectNTFS=false", "-c", "core.protectHFS=false")


def workspace_patch(
    workspace: Path, pristine: Path, laid: Mapping[str, str] = MappingProxyType({}), *, scratch: Path | None = None
) -> bytes:
    """The changes as a patch for `git apply`, new files included; files left out are listed at the top.

    `laid` are overlay files, by path and SHA-256: unchanged, they are not part of the patch.

    New files are included unless the pristine tree's ignore rules match; rules that the agent wrote do not count.
    Temporary files are made in `scratch`, so that they are cleaned up should the process be killed.
    """
    workspace, pristine = workspace.absolute(), pristine.absolute()
    try:
        before, after = dict(tree_files(pristine)), dict(tree_files(workspace))
        removed = sorted(before.keys() - after.keys())
        touched = [
            name
            for name, status in after.items()
            if (name not in before or _differs(status, before[name])) and not _is_as_laid(workspace, name, laid)
        ]
        if not removed and not touched:
            return b""
        choice = _PatchSelection(workspace, before)
        for name in sorted({*touched} - _ignored(pristine, [name for name in touched if name not in before])):
            choice.consider(name, after[name])
        with TemporaryDirectory(prefix="outweigh-diff-", dir=scratch) as folder:
            return choice.notes() + _patch(workspace, _borrowed(pristine, Path(folder)), removed, choice.taken)
    except GitError as fault:  # the agent made a tree that git cannot read, which is no reason to lose the run
        return f"# the changes could not be written down: {fault}\n".encode()
    except OSError as fault:
        raise SandboxError(f"the changes in the workspace could not be written down: {fault}.") from fault


def _differs(now: os.stat_result, then: os.stat_result) -> bool:
    """Whether a file may have changed. An overlay keeps all of these for untouched files, and ctime cannot be set."""
    return _traits(now) != _traits(then)


def _is_as_laid(workspace: Path, name: bytes, laid: Mapping[str, str]) -> bool:
    path = os.fsdecode(name)
    if path not in laid:
        return False
    file = workspace / path
    # lstat first: the agent may have replaced the file by a link, a pipe or a folder, or by a hole of a terabyte.
    status = file.lstat()
    if not stat.S_ISREG(status.st_mode) or status.st_size > LAID_FILE_LIMIT:
        return False
    with file.open("rb") as content:
        return file_digest(content, "sha256").hexdigest() == laid[path]


def _traits(status: os.stat_result) -> tuple[int, ...]:
    return status.st_ctime_ns, status.st_mtime_ns, status.st_size, status.st_ino, status.st_mode


def _borrowed(pristine: Path, folder: Path) -> Path:
    """A repository that reads the pristine one's objects and stores its own elsewhere."""
    own = pristine / ".git"
    for name in ("objects/info", "refs", "info"):
        (folder / name).mkdir(parents=True)
    (folder / "config").write_text("[core]\n\trepositoryformatversion = 0\n\tbare = false\n")
    (folder / "HEAD").write_bytes((own / "refs/heads" / BASE_BRANCH).read_bytes())
    (folder / "objects/info/alternates").write_bytes(os.fsencode(own / "objects") + b"\n")
    (folder / "info/attributes").write_text(RAW_ATTRIBUTES)
    # Not the pristine index: git compares its file times by the second, and would miss quick changes.
    git("read-tree", "HEAD", folder=folder, environment={"GIT_DIR": str(folder)})
    return folder


def _patch(workspace: Path, borrowed: Path, removed: Sequence[bytes], taken: Sequence[bytes]) -> bytes:
    ours = repository_environment(borrowed, workspace)
    for option, names in (("--force-remove", removed), ("--replace", taken)):
        if names:
            words = ("update-index", "-z", "--add", option, "--stdin")
            git(*_ANY_NAME, *words, folder=workspace, stdin=_joined(names), environment=ours)
    show = ("diff", "--cached", "--binary", "--no-color", "--no-ext-diff", "--no-textconv", "--no-renames", "HEAD")
    return git(*show, folder=workspace, environment=ours)


class _PatchSelection:
    """The files that go into a patch, within its size limits, and those left out with the reason."""

    def __init__(self, workspace: Path, before: Mapping[bytes, os.stat_result]) -> None:
        self._workspace, self._before = workspace, before
        self._left = PATCH_LIMIT
        self._left_out: list[str] = []
        self.taken: list[bytes] = []

    def consider(self, name: bytes, status: os.stat_result) -> None:
        path = os.fsdecode(name)
        # A file of unchanged size may have changed, but cannot make the patch larger than the task already is.
        grows = name not in self._before or self._before[name].st_size != status.st_size
        if any(part.lower() == b".git" for part in name.split(b"/")):
            self._left_out.append(f"# left out because git refuses its name: {path!r}")
        elif len(self.taken) >= PATCH_COUNT_LIMIT:
            self._left_out.append(f"# left out after {PATCH_COUNT_LIMIT:,} other files: {path!r}")
        elif grows and status.st_size > min(PATCH_FILE_LIMIT, self._left):
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
            environment=repository_environment(pristine / ".git", pristine),
            accept=1,  # nothing is ignored
        )
    except GitError:  # a path below a link of the pristine tree: rather include too much than too little
        return set()
    return set(_split(found))


def _split(listing: bytes) -> list[bytes]:
    return [name for name in listing.split(b"\0") if name]


def _joined(names: Iterable[bytes]) -> bytes:
    return b"".join(name + b"\0" for name in names)
