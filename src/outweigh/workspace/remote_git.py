"""Branches of a remote, read and made in a private repository.

The user's own git is only asked how to reach the remote and who makes the commit.

No hook of the user's repository runs, no file of the working copy is touched, nothing is fetched into it.
"""

import os
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from subprocess import TimeoutExpired
from tempfile import TemporaryDirectory
from typing import Self

from outweigh.errors import UsageError
from outweigh.model.redact import redact_passwords
from outweigh.ports.forges import FileChange, ForgeError
from outweigh.ports.workspaces import RevisionFile
from outweigh.process import run_process
from outweigh.workspace.git import GitError, git
from outweigh.workspace.revisions import (
    GitRevisions,
    RevisionReader,
    TreeEntry,
    entries_below,
    list_commit,
    refuse_unsafe_path,
    repository_settings,
)

_SECONDS = 60.0
_REMOTE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
# Settings about reaching and authenticating with a remote; none that makes git run a program of the repository.
_COPIED_SETTINGS = re.compile(
    r"(credential|http|https|url|ssh|user|author|committer)\..+|core\.(sshcommand|gitproxy|askpass)", re.IGNORECASE
)
# Variables that would point git at another repository.
_LOCATION_VARIABLES = (
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_OBJECT_DIRECTORY",
    "GIT_COMMON_DIR",
    "GIT_NAMESPACE",
)


class UserGitSettings:
    """The git settings that apply in a folder: the repository's, the user's and the system's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._settings = _read_settings(folder)

    def address(self, remote: str, *, push: bool = False) -> str:
        """The URL of a remote, as git would use it."""
        if not _REMOTE_NAME.fullmatch(remote):
            raise UsageError(f"{remote!r} is not the name of a remote.")
        options = ["--push"] if push else []
        try:
            return _run_user_git(self._folder, "remote", "get-url", *options, "--", remote).strip()
        except UsageError as fault:
            raise UsageError(f"{self._folder} has no remote {remote!r}; name one with --remote.") from fault

    def network_environment(self) -> dict[str, str]:
        """An environment in which git reaches remotes as the user's git does, and never prompts.

        Settings are passed in it rather than on the command line, which every user of the machine could read.
        """
        settings = {"GIT_CONFIG_COUNT": str(len(self._settings))}
        for number, (key, value) in enumerate(self._settings):
            settings |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        closed = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
        return {**_base_environment(), **settings, **closed}

    def identity(self) -> Mapping[str, str]:
        """Author and committer of a commit, as the user's git would set them."""
        now = f"{int(time.time())} +0000"
        found: dict[str, str] = {}
        for role in ("author", "committer"):
            for part in ("name", "email"):
                found[f"GIT_{role}_{part}".upper()] = self._identity_value(role, part)
            found[f"GIT_{role}_DATE".upper()] = now
        return found

    def _identity_value(self, role: str, part: str) -> str:
        settings = {key.lower(): value for key, value in self._settings}
        own = os.environ.get(f"GIT_{role}_{part}".upper()) or settings.get(f"{role}.{part}")
        value = own or settings.get(f"user.{part}")
        if not value:
            raise UsageError(f"git has no author for the commit; set one: git config user.{part} …")
        return value


def _read_settings(folder: Path) -> list[tuple[str, str]]:
    """The settings that apply there, in git's own order; the last of a name wins."""
    listed = _run_user_git(folder, "config", "--null", "--list")
    pairs = (line.partition("\n") for line in listed.split("\0") if line)
    return [(key, value) for key, _, value in pairs if _COPIED_SETTINGS.fullmatch(key)]


def _run_user_git(folder: Path, *arguments: str) -> str:
    """Ask git for settings, as the user would; none of these commands runs a hook or a filter."""
    # For any owner of the folder: in CI it often belongs to another account.
    command = ["git", "-c", "safe.directory=*", *arguments]
    try:
        done = run_process(command, folder=folder, environment=_base_environment(), timeout_seconds=_SECONDS)
    except (OSError, TimeoutExpired) as fault:
        raise UsageError(f"{folder}: git cannot be asked: {fault}.") from fault
    if done.returncode:
        output = done.stderr.decode(errors="replace").strip()
        raise UsageError(f"{folder}: git {arguments[0]}: {output or f'exit code {done.returncode}'}.")
    return done.stdout.decode(errors="replace")


def _base_environment() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _LOCATION_VARIABLES} | {
        "LC_ALL": "C.UTF-8"
    }


_FETCHED = "refs/upstream/fetched"
_NO_SUCH_REF = 2
_DEPTH = "--depth=2"
"""A commit and its parent; more history is never needed."""


class GitUpstream:
    """One remote of a repository."""

    def __init__(self, top: Path, private: Path, remote: str) -> None:
        self._top, self._private = top, private
        self._user = UserGitSettings(top)
        self.address = self._user.address(remote)
        self._push_address = self._user.address(remote, push=True)

    @classmethod
    @contextmanager
    def open(cls, repository: Path, remote: str) -> Iterator[Self]:
        """Open a remote of the repository that contains a folder; what is fetched is removed afterwards."""
        revisions = GitRevisions(repository)
        with TemporaryDirectory(prefix="outweigh-upstream-", ignore_cleanup_errors=True) as name:
            private = Path(name)
            for part in ("objects", "refs"):
                (private / part).mkdir()
            (private / "HEAD").write_text("ref: refs/heads/none\n")
            (private / "config").write_text(repository_settings("0" * revisions.hash_length))
            yield cls(revisions.top, private, remote)

    def default_branch(self) -> str:
        """The remote's default branch."""
        output = self._run_remote("ls-remote", "--symref", "--", self.address, "HEAD").decode(errors="replace")
        for line in output.splitlines():
            target, _, name = line.partition("\t")
            if name == "HEAD" and target.startswith("ref: refs/heads/"):
                return target.removeprefix("ref: refs/heads/")
        raise UsageError("the remote does not say which branch is the main one; name it with --into.")

    def tip(self, branch: str) -> str | None:
        """The commit of a branch, fetched with its parent; None where there is no such branch."""
        reference = self._reference(branch)
        output = self._run_remote("ls-remote", "--exit-code", "--", self.address, reference, accept=_NO_SUCH_REF)
        if not output.strip():
            return None
        options = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head", _DEPTH)
        self._run_remote("fetch", *options, "--", self.address, f"+{reference}:{_FETCHED}")
        return self._run_local("rev-parse", "--verify", f"{_FETCHED}^{{commit}}").decode().strip()

    def files(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> Iterator[RevisionFile]:
        """The wanted files below a folder of a fetched or a new commit."""
        return GitRevisions(self._private).files(commit, folder, wanted)

    def changed(self, commit: str) -> list[str]:
        """Every path that a commit does not share with its parent."""
        parents = self._run_local("rev-list", "--parents", "--max-count=1", commit).decode().split()[1:]
        old = list_commit(self._private, parents[0]) if len(parents) == 1 else {}
        new = list_commit(self._private, commit)
        return sorted(path for path in {*old, *new} if old.get(path) != new.get(path))

    def commit(self, onto: str, folder: str, changes: Sequence[FileChange], message: str) -> str:
        """Make a commit on top of a fetched one; changes to anything but regular files are refused."""
        entries = list_commit(self._private, onto)
        places = {change.path: _place(self._private, entries, folder, change) for change in changes}
        index = {"GIT_INDEX_FILE": str(self._private / "index")}
        self._run_local("read-tree", onto, environment=index)
        lines = [self._index_line(change, places[change.path]) for change in changes]
        self._run_local("update-index", "-z", "--index-info", stdin=b"".join(lines), environment=index)
        tree = self._run_local("write-tree", environment=index).decode().strip()
        made = self._run_local(
            "commit-tree", tree, "-p", onto, "-F", "-", stdin=message.encode(), environment=dict(self._user.identity())
        )
        return made.decode().strip()

    def push(self, branch: str, commit: str) -> None:
        """Create the branch; the lease refuses one that exists already."""
        reference = self._reference(branch)
        self._push(f"--force-with-lease={reference}:", f"{commit}:{reference}")

    def remove(self, branch: str, commit: str) -> None:
        """Remove the branch if it is still at this commit."""
        reference = self._reference(branch)
        self._push(f"--force-with-lease={reference}:{commit}", f":{reference}")

    def _push(self, lease: str, refspec: str) -> None:
        options = ("--quiet", "--no-verify", "--no-follow-tags", "--recurse-submodules=no", "--no-signed", lease)
        self._run_remote("push", *options, "--", self._push_address, refspec)

    def _reference(self, branch: str) -> str:
        reference, wrong = f"refs/heads/{branch}", f"{branch!r} is not the name of a branch."
        if branch.startswith("-"):
            raise UsageError(wrong)
        try:
            self._run_local("check-ref-format", reference)
        except ForgeError as fault:
            raise UsageError(wrong) from fault
        return reference

    def _index_line(self, change: FileChange, place: str) -> bytes:
        if change.content is None:
            return b"0 " + b"0" * GitRevisions(self._private).hash_length + b"\t" + os.fsencode(place) + b"\0"
        name = self._run_local("hash-object", "-w", "--stdin", "--no-filters", stdin=change.content).strip()
        mode = b"100755" if change.executable else b"100644"
        return mode + b" " + name + b"\t" + os.fsencode(place) + b"\0"

    def _run_local(self, *arguments: str, stdin: bytes = b"", environment: dict[str, str] | None = None) -> bytes:
        try:
            place = {"GIT_DIR": str(self._private), **(environment or {})}
            return git(*arguments, folder=self._private, stdin=stdin, environment=place)
        except GitError as fault:
            raise ForgeError(f"git {arguments[0]}: {fault}.") from fault

    def _run_remote(self, *arguments: str, accept: int = 0) -> bytes:
        """Run git over the network, as the user's git would; a relative URL starts at the top of their repository."""
        environment = {**self._user.network_environment(), "GIT_DIR": str(self._private)}
        try:
            return git(*arguments, folder=self._top, environment=environment, accept=accept)
        except GitError as fault:
            raise ForgeError(redact_passwords(f"git {arguments[0]} was refused: {fault}.")) from fault


def _place(private: Path, entries: dict[str, TreeEntry], folder: str, change: FileChange) -> str:
    """The path that a change is written to. A link to a file of the same folder is followed and stays a link."""
    refuse_unsafe_path(change.path)
    prefix = "" if folder in ("", ".") else f"{PurePosixPath(folder)}/"
    whole = f"{prefix}{change.path}"
    for parent in PurePosixPath(whole).parents:
        if str(parent) in entries:
            raise UsageError(
                f"{whole!r} cannot be written: {str(parent)!r} is not a folder in the base, but a link, a file or a "
                "submodule. Promote it by hand."
            )
    if any(path.startswith(f"{whole}/") for path in entries):
        raise UsageError(f"{whole!r} cannot be written: it is a folder in the base. Promote it by hand.")
    if change.content is None or whole not in entries:
        return whole
    return prefix + RevisionReader(private, dict(entries_below(entries, folder))).plain(change.path)
