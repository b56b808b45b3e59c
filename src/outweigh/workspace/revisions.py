"""Commits of the user's repository: their files, what changed between two of them, and checking one out.

They are read through a private repository that shares the objects, so that no hook, filter or setting of the user's
repository has an effect.
"""

import os
import posixpath
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from outweigh.errors import UsageError
from outweigh.ports.workspaces import RevisionFile
from outweigh.workspace.git import RAW_ATTRIBUTES, GitError, git
from outweigh.workspace.scratch_folder import scratch_folder

REVISION_FILE_LIMIT = 8 * 2**20
REVISION_TOTAL_LIMIT = 64 * 2**20
_LINK_STEPS = 5
_FULL_HASH = re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
_ENTRY = re.compile(rb"(\d{6}) \w+ ([0-9a-f]+) +(\d+|-)\t(.+)", re.DOTALL)
# For any owner of the folder: nothing in it is executed, and in CI it often belongs to another account.
ANY_OWNER = ("-c", "safe.directory=*")
# A partial clone would fetch what it lacks, with the program that its own settings name.
NO_FETCH = {"GIT_ALLOW_PROTOCOL": "none"}


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeEntry:
    """An entry of `git ls-tree`. Modes are git's own; the old 100664 is a regular file too."""

    mode: str
    object_name: str
    size: int

    @property
    def is_file(self) -> bool:
        """Whether it is a regular file, executable or not."""
        return self.mode in ("100644", "100755", "100664")

    @property
    def is_link(self) -> bool:
        """Whether it is a symbolic link."""
        return self.mode == "120000"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamedCommit:
    """A commit by its full hash, with the first line of its message."""

    commit: str
    subject: str


class GitRevisions:
    """The revisions of the repository that contains a folder."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder

    @property
    def top(self) -> Path:
        """The repository's working folder."""
        return Path(self._rev_parse("--show-toplevel", why="it is not in a working copy of a git repository"))

    @property
    def hash_length(self) -> int:
        """The length of its object names in hexadecimal digits."""
        kind = self._rev_parse("--show-object-format", why="it is not in a git repository")
        return 64 if kind == "sha256" else 40

    def commit(self, ref: str) -> str:
        """The full hash of the commit that a ref names; a ref is never passed to git as an option."""
        if ref.startswith("-") or not ref.isprintable() or not ref.strip():
            raise UsageError(f"{ref!r} is not the name of a branch, a tag or a commit.")
        why = f"there is no commit {ref!r}. Fetch it first; a CI job that checks out one commit alone does not have it"
        found = self._rev_parse("--verify", "--quiet", "--end-of-options", f"{ref}^{{commit}}", why=why)
        if not _FULL_HASH.fullmatch(found):
            raise UsageError(f"{self._folder}: {ref!r} does not mean one commit.")
        return found

    def files(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> Iterator[RevisionFile]:
        """The wanted files below a folder of a commit, by their paths in it. Only regular files are accepted.

        A link is followed where it leads to a file of the same folder in the same commit, and refused otherwise.
        """
        with self._borrowed(commit) as repository:
            entries = dict(entries_below(list_commit(repository, commit), folder))
            found = RevisionReader(repository, entries).read(path for path in sorted(entries) if wanted(path))
        for path, (content, executable) in found.items():
            yield RevisionFile(path=path, content=content, executable=executable)

    def changed(self, before: str, after: str) -> list[str]:
        """Every path that differs between two commits."""
        with self._borrowed(before) as repository:
            old, new = list_commit(repository, before), list_commit(repository, after)
        return sorted(path for path in {*old, *new} if old.get(path) != new.get(path))

    def commits_between(self, before: str, after: str) -> list[NamedCommit]:
        """Every commit after the first one up to the second, oldest first, along the first parents.

        Raise UsageError where the first is not on that line.
        """
        with self._borrowed(after) as repository:
            shown = "--format=%H%x00%P%x00%s"
            listed = _read(repository, "log", "--first-parent", "--reverse", shown, f"{before}..{after}", "--")
        lines = [line.split("\0", 2) for line in listed.decode(errors="replace").splitlines()]
        if before != after and (not lines or lines[0][1].partition(" ")[0] != before):
            raise UsageError(
                f"{before[:12]} is not an ancestor of {after[:12]} along first parents, so there is no line of commits "
                "between them. Name two commits of one branch."
            )
        return [NamedCommit(commit=commit, subject=subject) for commit, _, subject in lines]

    def check_out(self, commit: str, target: Path) -> None:
        """Check out a commit into an empty folder, byte for byte; tasks that name this repository still find it."""
        own = self._rev_parse("--absolute-git-dir", why="it is not in a git repository")
        with self._borrowed(commit) as repository:
            environment = {
                "GIT_DIR": str(repository),
                "GIT_WORK_TREE": str(target),
                "GIT_INDEX_FILE": str(repository / "index"),
            }
            try:
                git("read-tree", commit, folder=target, environment=environment)
                git("checkout-index", "--all", folder=target, environment=environment)
            except GitError as fault:
                raise UsageError(f"commit {commit} of {self._folder} cannot be prepared: {fault}.") from fault
        (target / ".git").write_text(f"gitdir: {own}\n")

    def _rev_parse(self, *arguments: str, why: str) -> str:
        try:
            found = git(*ANY_OWNER, "rev-parse", *arguments, folder=self._folder, environment=NO_FETCH)
            return found.decode().strip()
        except (GitError, UnicodeDecodeError) as fault:
            raise UsageError(f"{self._folder}: {why}.") from fault

    @contextmanager
    def _borrowed(self, commit: str) -> Iterator[Path]:
        objects = Path(
            self._folder, self._rev_parse("--git-path", "objects", why="it is not in a git repository")
        ).resolve()
        with borrowed_objects(objects, commit) as folder:
            yield folder


@contextmanager
def borrowed_objects(objects: Path, commit: str) -> Iterator[Path]:
    """A private bare repository that reads the objects of another and has none of its settings."""
    with scratch_folder("git") as folder:
        for part in ("objects/info", "refs", "info"):
            (folder / part).mkdir(parents=True)
        (folder / "HEAD").write_text("ref: refs/heads/none\n")
        (folder / "config").write_text(repository_settings(commit))
        (folder / "objects/info/alternates").write_bytes(os.fsencode(objects) + b"\n")
        (folder / "info/attributes").write_text(RAW_ATTRIBUTES)
        yield folder


def repository_settings(commit: str) -> str:
    """The configuration of a bare repository with object names of the same length."""
    longer = len(commit) == 64
    format_version = "1\n[extensions]\n\tobjectFormat = sha256\n[core]\n" if longer else "0\n"
    return f"[core]\n\trepositoryformatversion = {format_version}\tbare = true\n"


def list_commit(repository: Path, commit: str) -> dict[str, TreeEntry]:
    """Every entry of a commit except folders, by path."""
    listed = _read(repository, "ls-tree", "-r", "-z", "-l", "--full-tree", commit)
    entries: dict[str, TreeEntry] = {}
    for line in filter(None, listed.split(b"\0")):
        mode, name, size, path = _parts(line)
        # Names that are not valid text stay distinct, because their bytes are escaped.
        entries[os.fsdecode(path)] = TreeEntry(
            mode=mode.decode(), object_name=name.decode(), size=int(size) if size != b"-" else 0
        )
    return entries


def _parts(line: bytes) -> tuple[bytes, bytes, bytes, bytes]:
    found = _ENTRY.fullmatch(line)
    if found is None:
        raise UsageError(f"git lists a file in a way that cannot be read: {line[:200]!r}.")
    mode, name, size, path = found.groups()
    return mode, name, size, path


def entries_below(entries: Mapping[str, TreeEntry], folder: str) -> Iterator[tuple[str, TreeEntry]]:
    """The entries below a folder, by their paths in it."""
    prefix = "" if folder in ("", ".") else f"{PurePosixPath(folder)}/"
    for path, entry in entries.items():
        if path.startswith(prefix):
            yield path.removeprefix(prefix), entry


def refuse_unsafe_path(path: str) -> None:
    """Refuse a path that leads out or into `.git`, or that is not printable."""
    strange = any(part.lower() == ".git" or part in ("", ".", "..") for part in path.split("/"))
    if strange or "\\" in path or not path.isprintable():
        raise UsageError(f"{path!r} is not a path that can be written to a workspace; rename it.")


def _refuse_large(path: str, size: int, total: int) -> None:
    if size > REVISION_FILE_LIMIT:
        raise UsageError(
            f"{path!r} has {size:,} bytes; a file of an agent's configuration has {REVISION_FILE_LIMIT:,} at most."
        )
    if total > REVISION_TOTAL_LIMIT:
        raise UsageError(
            f"the files of the configuration have more than {REVISION_TOTAL_LIMIT:,} bytes; name a smaller folder."
        )


class RevisionReader:
    """Reads files of one commit; links are followed, and anything but regular files is refused."""

    def __init__(self, repository: Path, entries: Mapping[str, TreeEntry]) -> None:
        self._repository, self._entries = repository, entries

    def read(self, paths: Iterable[str]) -> dict[str, tuple[bytes, bool]]:
        """The content of each file, and whether it is executable."""
        places = {path: self.plain(path) for path in paths}
        total = 0
        for path, place in places.items():
            total += self._entries[place].size
            _refuse_large(path, self._entries[place].size, total)
        contents = read_contents(self._repository, [self._entries[place].object_name for place in places.values()])
        found = {path: self._entries[place] for path, place in places.items()}
        return {path: (contents[entry.object_name], entry.mode == "100755") for path, entry in found.items()}

    def plain(self, path: str) -> str:
        """The regular file that a path leads to, following links within the commit only."""
        refuse_unsafe_path(path)
        entry = self._entries[path]
        if not (entry.is_file or entry.is_link):
            raise UsageError(
                f"{path!r} is a submodule, so what is in it is not part of the commit; copy its files instead."
            )
        place = path
        for _ in range(_LINK_STEPS):
            found = self._entries.get(place)
            if found is None or found.is_file:
                break
            place = self._target(place, found)
        if found is None or not found.is_file:
            raise UsageError(
                f"{path!r} is a link to {place!r}, which is not a file in the configuration's folder; copy it instead."
            )
        return place

    def _target(self, place: str, entry: TreeEntry) -> str:
        _refuse_large(place, entry.size, entry.size)
        target = os.fsdecode(read_contents(self._repository, [entry.object_name])[entry.object_name])
        return posixpath.normpath(posixpath.join(posixpath.dirname(place), target))


def read_contents(repository: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The contents of objects by their names; raise UsageError where one is not there."""
    wanted = list(dict.fromkeys(names))
    if not wanted:
        return {}
    stream = _read(repository, "cat-file", "--batch", stdin="".join(f"{name}\n" for name in wanted).encode())
    found: dict[str, bytes] = {}
    place = 0
    for name in wanted:
        end = stream.index(b"\n", place)
        size = stream[place:end].rpartition(b" ")[2]
        if not size.isdigit():
            raise UsageError(f"the repository does not have the object {name}; fetch it completely, without a filter.")
        found[name] = stream[end + 1 : end + 1 + int(size)]
        place = end + 2 + int(size)
    return found


def _read(repository: Path, *arguments: str, stdin: bytes = b"") -> bytes:
    try:
        return git(*arguments, folder=repository, environment={"GIT_DIR": str(repository)}, stdin=stdin)
    except GitError as fault:
        raise UsageError(
            f"the repository cannot be read; was it fetched completely, without a filter? {fault}."
        ) from fault
