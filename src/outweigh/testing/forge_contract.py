"""The contract of forges. Subclass it, return your forge, and pytest runs the tests."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass

from outweigh.ports.forges import Forge, ForgeError, ForgeProject, PullRequestDraft

PULL_REQUEST_DRAFT = PullRequestDraft(
    branch="outweigh/promote-1",
    into="main",
    title="Promote a over b",
    body="It improved.\n",
    draft=True,
    reviewers=("ada",),
    labels=("agents", "tested"),
)


@dataclass(frozen=True, slots=True)
class ForgeTestProject:
    """A forge, and a project on it that has no pull request yet."""

    forge: Forge
    project: ForgeProject


class ForgeContract(ABC):
    """Claims about a forge that opens pull requests."""

    @abstractmethod
    def project(self) -> AbstractContextManager[ForgeTestProject]:
        """A project on a forge that works."""

    @abstractmethod
    def unreachable_project(self) -> ForgeTestProject:
        """A project on a forge that does not answer."""

    def test_a_branch_without_a_pull_request_has_none(self) -> None:
        """So one may be opened."""
        with self.project() as tested:
            assert tested.forge.missing(tested.project) is None
            assert (
                tested.forge.find_pull_request(tested.project, PULL_REQUEST_DRAFT.branch, PULL_REQUEST_DRAFT.into)
                is None
            )

    def test_what_was_opened_is_found_by_its_branch(self) -> None:
        """And by no other branch."""
        with self.project() as tested:
            opened = tested.forge.open_pull_request(tested.project, PULL_REQUEST_DRAFT)
            tested.forge.finish_pull_request(tested.project, opened, PULL_REQUEST_DRAFT)

            assert opened.is_open
            assert (
                tested.forge.find_pull_request(tested.project, PULL_REQUEST_DRAFT.branch, PULL_REQUEST_DRAFT.into)
                == opened
            )
            assert tested.forge.find_pull_request(tested.project, "another", PULL_REQUEST_DRAFT.into) is None

    def test_opening_twice_opens_one(self) -> None:
        """The second call returns the first pull request."""
        with self.project() as tested:
            first = tested.forge.open_pull_request(tested.project, PULL_REQUEST_DRAFT)

            assert tested.forge.open_pull_request(tested.project, PULL_REQUEST_DRAFT) == first

    def test_a_closed_one_is_found_as_closed(self) -> None:
        """Somebody decided against it, and that must not be forgotten."""
        with self.project() as tested:
            tested.forge.close_pull_request(
                tested.project, tested.forge.open_pull_request(tested.project, PULL_REQUEST_DRAFT)
            )
            found = tested.forge.find_pull_request(tested.project, PULL_REQUEST_DRAFT.branch, PULL_REQUEST_DRAFT.into)

            assert found is not None
            assert not found.is_open

    def test_a_forge_that_is_gone_is_an_error_of_its_own_kind(self) -> None:
        """So that a promotion can undo what it has done so far."""
        tested = self.unreachable_project()
        said = ""
        try:
            tested.forge.open_pull_request(tested.project, PULL_REQUEST_DRAFT)
        except ForgeError as error:
            said = str(error)

        assert said
