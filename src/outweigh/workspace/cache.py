"""Workspaces, prepared once per task and laid out per trial: as an overlay mount where possible, else as a copy.

A workspace is fetched from a folder, an archive or a git commit, and committed without its history, which could
hold the solution. That of a task's own image is laid out as it is there, with or without a repository.
"""

import os
import shutil
import tarfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext, suppress
from hashlib import sha256
from pathlib import Path, PurePosixPath
from tempfile import mkdtemp
from threading import Lock
from time import monotonic, sleep

from outweigh.errors import UsageError
from outweigh.model.task import FolderSource, GitSource, TarballSource, Task
from outweigh.ports.sandboxes import SandboxError
from outweigh.process import run_process
from outweigh.workspace.git import RAW_ATTRIBUTES, GitError, git, repository_environment, tree_files
from outweigh.workspace.overlay_mount import overlay_mounted, overlay_mounts_below, unmount
from outweigh.workspace.trash import remove_tree


def unpack_archive(source: Path, target: Path) -> None:
    """Unpack below `target`; TarError when the archive is broken or a member would be outside."""
    with tarfile.open(source) as archive:
        target.mkdir()
        if hasattr(tarfile, "data_filter"):
            archive.extractall(target, filter="data")
        else:
            # Members are checked one by one while unpacking, so links of earlier members exist already.
            archive.extractall(target, members=checked_members(archive, target))


def checked_members(archive: tarfile.TarFile, target: Path) -> Iterator[tarfile.TarInfo]:
    """The members, with safe modes and our own ownership; TarError at the first that would be outside."""
    for member in archive:
        destination = target / member.name.lstrip("/")
        if destination == target:
            continue
        if not (member.isreg() or member.isdir() or member.issym() or member.islnk()):
            raise tarfile.TarError(f"{member.name!r} is a device or a pipe")
        if not _stays_inside(destination.parent, target) or ".." in PurePosixPath(member.name).parts:
            raise tarfile.TarError(f"{member.name!r} would be outside")
        if not member.issym() and not _stays_inside(destination, target):
            raise tarfile.TarError(f"{member.name!r} would be written through a link that leads outside")
        if member.issym() and not _stays_inside(destination.parent / member.linkname, target):
            raise tarfile.TarError(f"{member.name!r} is a link that leads outside")
        if member.islnk() and not _stays_inside(target / member.linkname, target):
            raise tarfile.TarError(f"{member.name!r} is a link that leads outside")
        member.name = str(destination.relative_to(target))
        member.mode = (member.mode & 0o755) | 0o600 | (0o100 if member.isdir() else 0)
        member.uid, member.gid, member.uname, member.gname = os.geteuid(), os.getegid(), "", ""
        yield member


def _stays_inside(path: Path, target: Path) -> bool:
    return path.resolve().is_relative_to(target.resolve())


def fetch_source(task: Task, target: Path) -> None:
    """Fill a new folder with the task's starting files, without git history, which could hold the solution."""
    source = task.workspace
    try:
        if isinstance(source, FolderSource):
            _copy_folder(task, Path(source.path), target, frozenset(source.without))
        elif isinstance(source, GitSource):
            _check_out(task, source, target)
        elif isinstance(source, TarballSource):
            _unpack_tarball(task, Path(source.path), target)
        else:
            target.mkdir()
    except (OSError, shutil.Error) as fault:
        raise UsageError(f"the workspace of task {task.id!r} cannot be prepared: {fault}.") from fault


def _copy_folder(task: Task, source: Path, target: Path, without: frozenset[str]) -> None:
    if not source.is_dir():
        raise UsageError(f"the workspace of task {task.id!r} is the folder {source}, which does not exist; create it.")
    top = str(source)
    shutil.copytree(source, target, symlinks=True, ignore=lambda folder, _: without if folder == top else frozenset())
    _remove_history(target)


def _unpack_tarball(task: Task, source: Path, target: Path) -> None:
    try:
        unpack_archive(source, target)
    except (tarfile.TarError, EOFError) as fault:
        raise UsageError(f"the workspace of task {task.id!r}: {source} cannot be unpacked: {fault}.") from fault
    _remove_history(target)


def _check_out(task: Task, source: GitSource, target: Path) -> None:
    target.mkdir()
    try:
        git("init", "--quiet", "--template=", folder=target)
        found = _fetch_shallow(source, target) or _fetch_all(source, target)
        git("checkout", "--quiet", "--detach", found, folder=target)
    except GitError as fault:
        raise UsageError(
            f"the workspace of task {task.id!r} is commit {source.commit!r} of {source.repository}, which git cannot "
            f"bring: {fault}. Check the address, the commit and your access to it."
        ) from fault
    _remove_history(target)


def _fetch_shallow(source: GitSource, folder: Path) -> str | None:
    """Fetch one commit without its history; None where the server only serves branches and tags."""
    try:
        git("fetch", "--quiet", "--depth=1", "--no-tags", "--end-of-options", *_fetch_arguments(source), folder=folder)
        return "FETCH_HEAD"
    except GitError:
        return None


def _fetch_all(source: GitSource, folder: Path) -> str:
    everything = "+refs/*:refs/fetched/*"
    git("fetch", "--quiet", "--no-tags", "--end-of-options", source.repository, everything, folder=folder)
    commit = f"{source.commit}^{{commit}}"
    return git("rev-parse", "--verify", "--quiet", "--end-of-options", commit, folder=folder).decode().strip()


def _fetch_arguments(source: GitSource) -> tuple[str, str]:
    return source.repository, source.commit


def _remove_history(folder: Path) -> None:
    own = folder / ".git"
    if own.is_dir() and not own.is_symlink():
        shutil.rmtree(own)
    else:
        own.unlink(missing_ok=True)


# Most file systems count time in kernel ticks of up to ten milliseconds, the coarsest in steps of two seconds.
_LONGEST_SECONDS = 10.0
_PAUSE_SECONDS = 0.001


def wait_for_mtime_step(tree: Path) -> None:
    """Wait until a change to the tree gives a file a later time than any file in it has.

    The patch of a run is found by comparing file times, so a change within the same clock tick would be missed.
    """
    newest = max((status.st_ctime_ns for _, status in tree_files(tree)), default=0)
    probe = tree.with_name(f"{tree.name}.clock")
    deadline = monotonic() + _LONGEST_SECONDS
    try:
        while _touch(probe) <= newest:
            if monotonic() > deadline:  # the clock was set back; a tree that is built again has times of the new clock
                raise SandboxError(f"the clock of the file system of {tree} is behind the files that were made there.")
            sleep(_PAUSE_SECONDS)
    finally:
        probe.unlink(missing_ok=True)


def _touch(probe: Path) -> int:
    probe.touch()
    return probe.stat().st_ctime_ns


ImageFiles = Callable[[Task, Path], bool]
"""Fills a new folder with the files of a task's own image; False where the task does not start from one."""

_OWN_REPOSITORY = "repository-of-the-image"
"""Where a pristine tree keeps the repository that an image has in its working directory, if it has one: in `.git`."""

# Files that tools leave behind are not the work of an agent and do not belong in a patch.
_IGNORED_LEFTOVERS = "__pycache__/\n*.pyc\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\nnode_modules/\n"
_BUILDING_PREFIX = "building-"


class WorkspaceCache:
    """Keeps one pristine tree per task below `cache`: a git repository with a single commit of all files."""

    def __init__(
        self,
        cache: Path,
        *,
        overlays: bool = True,
        remove: Callable[[Path], None] = remove_tree,
        image_files: ImageFiles | None = None,
    ) -> None:
        self._cache = cache.absolute()
        self._image_files = image_files
        self._overlays = overlays
        self._remove = remove
        self._preparing = Lock()

    def prepare(self, task: Task) -> Path:
        """The pristine workspace of a task, built on first use and never changed."""
        pristine = self._cache / sha256(task.checksum.encode()).hexdigest()[:32]
        with self._preparing:
            if not pristine.exists():
                self._make(task, pristine)
        return pristine

    @contextmanager
    def lay_out(self, pristine: Path, target: Path) -> Iterator[Path]:
        """Lay out a private, writable workspace at `target`, which must not exist yet."""
        try:
            target.mkdir(parents=True)
        except OSError as fault:
            raise SandboxError(f"the workspace cannot be prepared at {target}: {fault.strerror}.") from fault
        layout = overlay_mounted(pristine, target, self._remove) if self._overlays else nullcontext(enter_result=False)
        with self._removed_afterwards(target), layout as is_mounted:
            if not is_mounted:
                _copy_tree(pristine, target)
            _restore_own_repository(target)
            yield target

    def snapshot(self, workspace: Path, target: Path) -> Path:
        """A workspace as it is now, kept as a pristine one in a new folder."""
        target.mkdir()
        _copy_tree(workspace, target)
        _remove_history(target)
        try:
            _commit(target)
        except GitError as fault:
            raise SandboxError(f"the workspace as the task's setup left it cannot be kept: {fault}.") from fault
        wait_for_mtime_step(target)
        return target

    @contextmanager
    def _removed_afterwards(self, folder: Path) -> Iterator[None]:
        try:
            yield
        finally:
            self._remove(folder)

    def sweep(self, folder: Path) -> list[str]:
        """Unmount and remove everything that a killed engine left in its scratch folder; returns what was there."""
        for mount in overlay_mounts_below(folder):
            unmount(mount)
        left = [*(folder.iterdir() if folder.is_dir() else ()), *self._cache.glob(f"{_BUILDING_PREFIX}*")]
        for path in left:
            remove_tree(path)
        return sorted(str(path) for path in left)

    def _make(self, task: Task, pristine: Path) -> None:
        self._cache.mkdir(parents=True, exist_ok=True)
        building = Path(mkdtemp(prefix=_BUILDING_PREFIX, dir=self._cache))
        try:
            is_from_image = self._image_files is not None and self._image_files(task, building / "tree")
            if is_from_image:
                _set_repository_aside(building / "tree")
            else:
                fetch_source(task, building / "tree")
            _leave_out(building / "tree", task.without)
            _commit(building / "tree")
            if is_from_image:
                _keep_own_repository(building / "tree")
            wait_for_mtime_step(building / "tree")
            _publish(building / "tree", pristine)
        except GitError as fault:
            raise UsageError(f"the workspace of task {task.id!r} cannot be committed by git: {fault}.") from fault
        finally:
            remove_tree(building)


def _leave_out(tree: Path, paths: Sequence[str]) -> None:
    """Remove what the suite leaves out; a link is removed itself, and nothing behind a link is."""
    for path in paths:
        place = tree / path
        if not place.parent.resolve().is_relative_to(tree.resolve()):
            continue
        if place.is_dir() and not place.is_symlink():
            shutil.rmtree(place)
            continue
        with suppress(FileNotFoundError, NotADirectoryError):
            place.unlink()


def _set_repository_aside(tree: Path) -> None:
    """Move a repository that the image has out of the tree, which is to be committed in one of our own."""
    if (tree / ".git").exists() or (tree / ".git").is_symlink():
        (tree / ".git").rename(tree.with_name(_OWN_REPOSITORY))


def _keep_own_repository(tree: Path) -> None:
    """Note that the tree is laid out with the repository of its image, or with none."""
    aside, kept = tree.with_name(_OWN_REPOSITORY), tree / ".git" / _OWN_REPOSITORY
    kept.mkdir()
    if aside.exists() or aside.is_symlink():
        aside.rename(kept / ".git")


def _restore_own_repository(workspace: Path) -> None:
    """Give the agent what the image has: a task may be about its history, or about making one."""
    kept = workspace / ".git" / _OWN_REPOSITORY
    if not kept.is_dir():
        return
    own, aside = kept / ".git", workspace.with_name(f"{workspace.name}.repository")
    has_own = own.exists() or own.is_symlink()
    if has_own:
        _run("cp", "-a", "--", str(own), str(aside))
    shutil.rmtree(workspace / ".git")
    if has_own:
        _run("mv", "--", str(aside), str(workspace / ".git"))


def _publish(made: Path, pristine: Path) -> None:
    try:
        made.rename(pristine)
    except OSError:
        if not pristine.exists():  # otherwise another engine with the same cache was faster
            raise


def _commit(tree: Path) -> None:
    git("init", "--quiet", "--template=", folder=tree)
    own = tree / ".git"
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "exclude").write_text(_IGNORED_LEFTOVERS)
    attributes = own / "info" / "attributes"
    attributes.write_text(RAW_ATTRIBUTES)
    names = b"".join(path + b"\0" for path, _ in sorted(tree_files(tree), key=lambda item: item[0]))
    # By name rather than with `git add`, which would skip ignored files and nested repositories.
    git(
        "update-index",
        "-z",
        "--add",
        "--stdin",
        folder=tree,
        stdin=names,
        environment=repository_environment(own, tree),
    )
    git("commit", "--quiet", "--allow-empty", "--no-verify", "--message=Base", folder=tree)
    attributes.unlink()


def _copy_tree(source: Path, target: Path) -> None:
    _run("cp", "-a", "--", f"{source}/.", str(target))


def _run(*command: str) -> None:
    done = run_process(command)
    if done.returncode != 0:
        output = done.stderr.decode(errors="replace").strip()
        raise SandboxError(f"the workspace could not be copied to {command[-1]}: {output}.")
