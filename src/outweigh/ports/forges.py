"""The port of forges: branches of a remote, pull requests, and their comments."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from outweigh.ports.workspaces import RevisionFile


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One changed file of a promotion, by its path below the configuration folder; content None deletes it."""

    path: str
    content: bytes | None
    executable: bool


class ForgeError(Exception):
    """A forge or a remote rejected a request or did not answer; the message says what to do."""


class RemoteRepository(Protocol):
    """The branches of a repository's remote. The working copy is never changed."""

    def tip(self, branch: str) -> str | None:
        """The commit at the tip of a branch, fetched so that its files can be read; None without such a branch."""

    def files(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> Iterator[RevisionFile]:
        """The wanted files below a folder of a fetched commit, by path."""

    def changed(self, commit: str) -> list[str]:
        """Every path that a commit changes compared with its parent."""

    def commit(self, onto: str, folder: str, changes: Sequence[FileChange], message: str) -> str:
        """Create a commit with exactly these changes, without pushing it."""

    def push(self, branch: str, commit: str) -> None:
        """Create a branch on the remote; raise ForgeError where it exists or cannot be created."""

    def remove(self, branch: str, commit: str) -> None:
        """Delete a branch that is still at this commit; raise ForgeError where that fails."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeProject:
    """A repository on a forge: its host, its path, and the address of the API where the user gave one."""

    host: str
    path: str
    api_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestDraft:
    """A pull request to open. `draft` asks the forge to mark it as not ready to merge."""

    branch: str
    into: str
    title: str
    body: str
    draft: bool
    reviewers: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request on a forge; without a number it is only the address where the user can open one."""

    number: int | None
    url: str | None
    is_open: bool


class Forge(Protocol):
    """Opens and closes pull requests. Every failure is a ForgeError; no message shows the token."""

    @property
    def name(self) -> str:
        """The name that --forge takes."""

    def missing(self, project: ForgeProject) -> str | None:
        """What must be installed or set to use the forge from here; None when it can be used."""

    def find_pull_request(self, project: ForgeProject, branch: str, into: str) -> PullRequest | None:
        """The pull request of a branch, preferring an open one to a closed one."""

    def open_pull_request(self, project: ForgeProject, draft: PullRequestDraft) -> PullRequest:
        """Open a pull request, or return the one that is already open."""

    def finish_pull_request(self, project: ForgeProject, opened: PullRequest, draft: PullRequestDraft) -> None:
        """Add the labels and request the reviews."""

    def close_pull_request(self, project: ForgeProject, opened: PullRequest) -> None:
        """Close it without merging."""


class PullRequestComments(Protocol):
    """The comments of one pull request."""

    def upsert(self, body: str, run_number_of: Callable[[str], int]) -> str:
        """Create our comment, or update the one with the same first line; returns its address.

        A comment in which `run_number_of` finds a larger number belongs to a later run and is not overwritten.
        """
