"""What every forge must do. Subclass the contract, give it your forge, and pytest runs the claims."""

from abc import ABC, abstractmethod
from contextlib import AbstractContextManager
from dataclasses import dataclass

from outweigh.ports.forges import Forge, ForgeError, ForgeProject, PullRequestDraft

DRAFT = PullRequestDraft(
    branch="outweigh/promote-1",
    into="main",
    title="Promote a over b",
    body="It improved.\n",
    draft=True,
    reviewers=("ada",),
    labels=("agents", "tested"),
)


@dataclass(frozen=True, slots=True)
class Ground:
    """A forge that can be asked about a project without any pull request yet."""

    forge: Forge
    project: ForgeProject


class ForgeContract(ABC):
    """Claims about a Forge that opens pull requests."""

    @abstractmethod
    def ground(self) -> AbstractContextManager[Ground]:
        """A project on a forge that works."""

    @abstractmethod
    def gone(self) -> Ground:
        """A project on a forge that does not answer."""

    def test_a_branch_without_a_pull_request_has_none(self) -> None:
        """Then one may be opened."""
        with self.ground() as ground:
            assert ground.forge.missing(ground.project) is None
            assert ground.forge.find_pull_request(ground.project, DRAFT.branch, DRAFT.into) is None

    def test_what_was_opened_is_found_by_its_branch(self) -> None:
        """And by no other."""
        with self.ground() as ground:
            opened = ground.forge.open_pull_request(ground.project, DRAFT)
            ground.forge.finish_pull_request(ground.project, opened, DRAFT)

            assert opened.is_open
            assert ground.forge.find_pull_request(ground.project, DRAFT.branch, DRAFT.into) == opened
            assert ground.forge.find_pull_request(ground.project, "another", DRAFT.into) is None

    def test_opening_twice_opens_one(self) -> None:
        """The second gives back the first."""
        with self.ground() as ground:
            first = ground.forge.open_pull_request(ground.project, DRAFT)

            assert ground.forge.open_pull_request(ground.project, DRAFT) == first

    def test_a_closed_one_is_found_as_closed(self) -> None:
        """Somebody decided against it; that is not forgotten."""
        with self.ground() as ground:
            ground.forge.close_pull_request(ground.project, ground.forge.open_pull_request(ground.project, DRAFT))
            found = ground.forge.find_pull_request(ground.project, DRAFT.branch, DRAFT.into)

            assert found is not None
            assert not found.is_open

    def test_a_forge_that_is_gone_is_an_error_of_its_own_kind(self) -> None:
        """Whoever promotes can then take back what was made."""
        ground = self.gone()
        said = ""
        try:
            ground.forge.open_pull_request(ground.project, DRAFT)
        except ForgeError as error:
            said = str(error)

        assert said
