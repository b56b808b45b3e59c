"""Workspaces prepared once per task in a cache, and laid out per trial: as an overlay where it can be, as a copy."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from hashlib import sha256
from pathlib import Path
from tempfile import mkdtemp
from threading import Lock

from outweigh.adapters.workspaces.git import AS_IT_IS, GitError, git, repository
from outweigh.adapters.workspaces.listing import files_below
from outweigh.adapters.workspaces.overlay import mounted, mounts_below, unmount
from outweigh.adapters.workspaces.removal import remove
from outweigh.adapters.workspaces.settling import settle
from outweigh.adapters.workspaces.sources import fetch
from outweigh.apart import run_apart
from outweigh.errors import UsageError
from outweigh.ports.sandboxes import SandboxError
from outweigh.task.task import Task

# What tools leave behind by themselves is no work of an agent; it does not belong in a patch.
_BY_THE_WAY = "__pycache__/\n*.pyc\n.pytest_cache/\n.mypy_cache/\n.ruff_cache/\nnode_modules/\n"
_BUILDING = "building-"


class CachedWorkspaces:
    """Keeps one pristine tree per task below `cache`: a git repository with a single commit of everything."""

    def __init__(self, cache: Path, *, overlays: bool = True, remove: Callable[[Path], None] = remove) -> None:
        self._cache = cache.absolute()
        self._overlays = overlays
        self._remove = remove
        self._preparing = Lock()

    def prepare(self, task: Task) -> Path:
        """The pristine workspace of a task, made on first use and never changed."""
        pristine = self._cache / sha256(task.checksum.encode()).hexdigest()[:32]
        with self._preparing:
            if not pristine.exists():
                self._make(task, pristine)
        return pristine

    @contextmanager
    def lay(self, pristine: Path, target: Path) -> Iterator[Path]:
        """A private, writable layout of it at `target`, which must not exist yet."""
        try:
            target.mkdir(parents=True)
        except OSError as fault:
            raise SandboxError(f"no workspace can be laid out at {target}: {fault.strerror}.") from fault
        layout = mounted(pristine, target, self._remove) if self._overlays else nullcontext(enter_result=False)
        with self._removed_at_last(target), layout as is_mounted:
            if not is_mounted:
                _copy(pristine, target)
            yield target

    @contextmanager
    def _removed_at_last(self, folder: Path) -> Iterator[None]:
        try:
            yield
        finally:
            self._remove(folder)

    def sweep(self, folder: Path) -> list[str]:
        """Unmount and remove everything in a folder that only held layouts of a killed engine; says what it found."""
        for mount in mounts_below(folder):
            unmount(mount)
        left = [*(folder.iterdir() if folder.is_dir() else ()), *self._cache.glob(f"{_BUILDING}*")]
        for path in left:
            remove(path)
        return sorted(str(path) for path in left)

    def _make(self, task: Task, pristine: Path) -> None:
        self._cache.mkdir(parents=True, exist_ok=True)
        building = Path(mkdtemp(prefix=_BUILDING, dir=self._cache))
        try:
            fetch(task, building / "tree")
            _commit(building / "tree")
            settle(building / "tree")
            _publish(building / "tree", pristine)
        except GitError as fault:
            raise UsageError(f"the workspace of task {task.id!r} cannot be committed by git: {fault}.") from fault
        finally:
            remove(building)


def _publish(made: Path, pristine: Path) -> None:
    try:
        made.rename(pristine)
    except OSError:
        if not pristine.exists():  # otherwise another engine that shares the cache was faster
            raise


def _commit(tree: Path) -> None:
    git("init", "--quiet", "--template=", folder=tree)
    own = tree / ".git"
    (own / "info").mkdir(exist_ok=True)
    (own / "info" / "exclude").write_text(_BY_THE_WAY)
    attributes = own / "info" / "attributes"
    attributes.write_text(AS_IT_IS)
    names = b"".join(path + b"\0" for path, _ in sorted(files_below(tree), key=lambda item: item[0]))
    # By name and not by `add`, so that neither ignore rules nor nested repositories leave anything out.
    git("update-index", "-z", "--add", "--stdin", folder=tree, stdin=names, environment=repository(own, tree))
    git("commit", "--quiet", "--allow-empty", "--no-verify", "--message=Base", folder=tree)
    attributes.unlink()


def _copy(pristine: Path, target: Path) -> None:
    done = run_apart(["cp", "-a", "--", f"{pristine}/.", str(target)])
    if done.returncode != 0:
        said = done.stderr.decode(errors="replace").strip()
        raise SandboxError(f"the workspace could not be copied to {target}: {said}.")
