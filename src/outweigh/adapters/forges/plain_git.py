"""No forge at all: the branch is pushed, and a person opens the pull request."""

from outweigh.adapters.forges.address import page_to_open
from outweigh.ports.forges import ForgeProject, PullRequest, PullRequestDraft


class PlainGit:
    """Needs nothing but git, and opens nothing."""

    name = "git"

    def missing(self, project: ForgeProject) -> str | None:  # noqa: ARG002 - the port's signature
        """Nothing."""
        return None

    def find_pull_request(self, project: ForgeProject, branch: str, into: str) -> PullRequest | None:  # noqa: ARG002
        """Nobody knows."""
        return None

    def open_pull_request(self, project: ForgeProject, draft: PullRequestDraft) -> PullRequest:
        """The address where it can be opened, where that is known."""
        return PullRequest(number=None, url=page_to_open(project, draft.branch), is_open=False)

    def finish_pull_request(self, project: ForgeProject, opened: PullRequest, draft: PullRequestDraft) -> None:
        """Nothing was opened."""

    def close_pull_request(self, project: ForgeProject, opened: PullRequest) -> None:
        """Nothing was opened."""
