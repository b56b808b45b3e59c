"""Where a workspace comes from: a folder, a git repository at a commit, an archive, or nothing."""

import shutil
import tarfile
from pathlib import Path

from outweigh.adapters.workspaces.archives import unpack
from outweigh.adapters.workspaces.git import GitError, git
from outweigh.errors import UsageError
from outweigh.task.task import FolderSource, GitSource, TarballSource, Task


def fetch(task: Task, target: Path) -> None:
    """Fill a new folder with what the task starts from, without any history: it could hold the solution."""
    source = task.workspace
    try:
        if isinstance(source, FolderSource):
            _copy(task, Path(source.path), target, frozenset(source.without))
        elif isinstance(source, GitSource):
            _check_out(task, source, target)
        elif isinstance(source, TarballSource):
            _unpack(task, Path(source.path), target)
        else:
            target.mkdir()
    except (OSError, shutil.Error) as fault:
        raise UsageError(f"the workspace of task {task.id!r} cannot be prepared: {fault}.") from fault


def _copy(task: Task, source: Path, target: Path, without: frozenset[str]) -> None:
    if not source.is_dir():
        raise UsageError(f"the workspace of task {task.id!r} is the folder {source}, which does not exist; create it.")
    top = str(source)
    shutil.copytree(source, target, symlinks=True, ignore=lambda folder, _: without if folder == top else frozenset())
    _forget_history(target)


def _unpack(task: Task, source: Path, target: Path) -> None:
    try:
        unpack(source, target)
    except (tarfile.TarError, EOFError) as fault:
        raise UsageError(f"the workspace of task {task.id!r}: {source} cannot be unpacked: {fault}.") from fault
    _forget_history(target)


def _check_out(task: Task, source: GitSource, target: Path) -> None:
    target.mkdir()
    try:
        git("init", "--quiet", "--template=", folder=target)
        found = _shallow(source, target) or _whole(source, target)
        git("checkout", "--quiet", "--detach", found, folder=target)
    except GitError as fault:
        raise UsageError(
            f"the workspace of task {task.id!r} is commit {source.commit!r} of {source.repository}, which git cannot "
            f"bring: {fault}. Check the address, the commit and your access to it."
        ) from fault
    _forget_history(target)


def _shallow(source: GitSource, folder: Path) -> str | None:
    """One commit without its past; some servers do not give one that is no branch or tag."""
    try:
        git("fetch", "--quiet", "--depth=1", "--no-tags", "--end-of-options", *_named(source), folder=folder)
        return "FETCH_HEAD"
    except GitError:
        return None


def _whole(source: GitSource, folder: Path) -> str:
    everything = "+refs/*:refs/fetched/*"
    git("fetch", "--quiet", "--no-tags", "--end-of-options", source.repository, everything, folder=folder)
    commit = f"{source.commit}^{{commit}}"
    return git("rev-parse", "--verify", "--quiet", "--end-of-options", commit, folder=folder).decode().strip()


def _named(source: GitSource) -> tuple[str, str]:
    return source.repository, source.commit


def _forget_history(folder: Path) -> None:
    own = folder / ".git"
    if own.is_dir() and not own.is_symlink():
        shutil.rmtree(own)
    else:
        own.unlink(missing_ok=True)
