"""The port of forges: branches of a remote, pull requests, and the comments on them."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

from outweigh.ports.workspaces import RevisionFile


@dataclass(frozen=True, slots=True, kw_only=True)
class FileChange:
    """One file of a promotion, by its path below the configuration's folder; no content means that it goes."""

    path: str
    content: bytes | None
    executable: bool


class ForgeError(Exception):
    """A forge or a remote refused or did not answer; the text says what, and the way out."""


class RemoteRepository(Protocol):
    """A repository's branches as its remote has them. Nothing of the working copy is ever changed."""

    def tip(self, branch: str) -> str | None:
        """The commit a branch is at, with its files at hand; None where there is no such branch."""

    def files(self, commit: str, folder: str, wanted: Callable[[str], bool]) -> Iterator[RevisionFile]:
        """The wanted files below a folder of a commit that was asked for, by path."""

    def changed(self, commit: str) -> list[str]:
        """Every path that a commit does not share with its parent."""

    def commit(self, onto: str, folder: str, changes: Sequence[FileChange], message: str) -> str:
        """A new commit with exactly these changes, known to nobody yet."""

    def push(self, branch: str, commit: str) -> None:
        """Make a branch that does not exist yet; ForgeError where that cannot be done."""

    def remove(self, branch: str, commit: str) -> None:
        """Remove a branch that is still at this commit; ForgeError where that cannot be done."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ForgeProject:
    """A repository on a forge: the host, the path there, and the address of the API where somebody named one."""

    host: str
    path: str
    api_url: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequestDraft:
    """A pull request that is to be opened. `draft` asks for one that cannot be merged yet."""

    branch: str
    into: str
    title: str
    body: str
    draft: bool
    reviewers: tuple[str, ...]
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class PullRequest:
    """A pull request as the forge knows it; without a number it is only the address where one can be opened."""

    number: int | None
    url: str | None
    is_open: bool


class Forge(Protocol):
    """Where pull requests are opened. Whatever it refuses is a ForgeError; its token is never shown."""

    @property
    def name(self) -> str:
        """The name that --forge takes."""

    def missing(self, project: ForgeProject) -> str | None:
        """What is missing for it to be asked from here, with the way out; None when nothing is."""

    def find_pull_request(self, project: ForgeProject, branch: str, into: str) -> PullRequest | None:
        """The pull request of a branch, an open one before a closed one."""

    def open_pull_request(self, project: ForgeProject, draft: PullRequestDraft) -> PullRequest:
        """Open one, or give back the open one that there is already."""

    def finish_pull_request(self, project: ForgeProject, opened: PullRequest, draft: PullRequestDraft) -> None:
        """Add the labels and ask the reviewers."""

    def close_pull_request(self, project: ForgeProject, opened: PullRequest) -> None:
        """Close it without merging."""


class PullRequestComments(Protocol):
    """The comments of one pull request."""

    def upsert(self, body: str, number_of: Callable[[str], int]) -> str:
        """Write the comment, or bring ours with the same first line up to date; returns where it is.

        A comment in which `number_of` finds a larger number is from a later run, and stays.
        """
