"""Open the pull request of a promotion: branch, commit, push, open. A step that fails undoes what was made."""

from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256

from outweigh.app.observer import Notify
from outweigh.app.tested_files import changes_applied, files_by_path
from outweigh.errors import EvidenceError, OutweighError, UsageError
from outweigh.ports.forges import (
    FileChange,
    Forge,
    ForgeError,
    ForgeProject,
    PullRequest,
    PullRequestDraft,
    RemoteRepository,
)

BRANCH_PREFIX = "outweigh/promote-"
_BRANCH_DIGITS = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionProposal:
    """What is to be proposed: these changes below a folder, on top of a commit, as this pull request.

    `still_holds` says, right before anything leaves the machine, whether the evidence is still the same.
    """

    onto: str
    folder: str
    changes: tuple[FileChange, ...]
    message: str
    draft: PullRequestDraft
    still_holds: Callable[[], bool]


@dataclass(frozen=True, slots=True, kw_only=True)
class PromotionResult:
    """What is there now, and whether it was made just now."""

    pull_request: PullRequest
    commit: str | None
    opened: bool


def branch_name(evidence_sha256: str, fingerprint: str, into: str) -> str:
    """The same evidence about the same candidate has the same branch, so that it is promoted once."""
    key = "\n".join((evidence_sha256, fingerprint, into))
    return BRANCH_PREFIX + sha256(key.encode()).hexdigest()[:_BRANCH_DIGITS]


def open_pull_request(
    proposal: PromotionProposal,
    upstream: RemoteRepository,
    forge: Forge,
    project: ForgeProject,
    notify: Notify,
) -> PromotionResult:
    """Open the pull request, or give back the one that is open already. `notify` hears of every step."""
    existing = forge.find_pull_request(project, proposal.draft.branch, proposal.draft.into)
    if existing is not None and existing.is_open:
        return PromotionResult(pull_request=existing, commit=None, opened=False)
    if existing is not None:
        raise UsageError(
            f"this promotion was proposed already, and its pull request was closed or merged: {existing.url}. "
            "Reopen it there, or gather new evidence."
        )
    return _PromotionSteps(proposal, upstream, forge, project, notify).carry_out()


class _PromotionSteps:
    """The steps of one promotion, with what would take each of them back."""

    def __init__(
        self,
        proposal: PromotionProposal,
        upstream: RemoteRepository,
        forge: Forge,
        project: ForgeProject,
        notify: Notify,
    ) -> None:
        self._proposal, self._upstream = proposal, upstream
        self._forge, self._project, self._notify = forge, project, notify
        self._made: list[tuple[str, Callable[[], str | None]]] = []

    def carry_out(self) -> PromotionResult:
        """All steps, or none."""
        try:
            commit = self._branch()
            opened = self._open()
            self._forge.finish_pull_request(self._project, opened, self._proposal.draft)
        except BaseException as fault:
            left = self._take_back()
            if isinstance(fault, ForgeError):
                raise UsageError(f"{fault} {left}") from fault
            if isinstance(fault, OutweighError):
                raise type(fault)(f"{fault} {left}") from fault
            self._notify(left)
            raise
        return PromotionResult(pull_request=opened, commit=commit, opened=opened.is_open)

    def _branch(self) -> str:
        proposal, branch = self._proposal, self._proposal.draft.branch
        there = self._upstream.tip(branch)
        if there is not None:
            self._refuse_foreign(there)
            self._notify(f"{branch} exists already, with exactly these changes")
            return there
        commit = self._upstream.commit(proposal.onto, proposal.folder, proposal.changes, proposal.message)
        if not self._carries_out(commit):
            raise EvidenceError("the commit would not be what was tested; links in the base may be the cause.")
        if not proposal.still_holds():
            raise EvidenceError("the records have changed just now. Decide again.")
        # Noted first: a push that fails on the way back may have arrived.
        self._made.append((f"branch {branch}", lambda: self._remove_branch(commit)))
        self._upstream.push(branch, commit)
        self._notify(f"pushed {branch} ({commit[:12]})")
        return commit

    def _open(self) -> PullRequest:
        draft = self._proposal.draft
        self._made.append(("pull request", self._close))
        try:
            opened = self._forge.open_pull_request(self._project, draft)
        except ForgeError:
            # The answer may have been lost and not the request.
            found = self._forge.find_pull_request(self._project, draft.branch, draft.into)
            if found is None or not found.is_open:
                raise
            opened = found
        if opened.is_open:
            self._notify(f"opened {opened.url}")
        return opened

    def _refuse_foreign(self, commit: str) -> None:
        """A branch of that name that is not ours is left alone."""
        folder = self._proposal.folder
        prefix = "" if folder in ("", ".") else f"{folder}/"
        ours = {f"{prefix}{change.path}" for change in self._proposal.changes}
        if not self._carries_out(commit) or not set(self._upstream.changed(commit)) <= ours:
            raise UsageError(
                f"the remote has a branch {self._proposal.draft.branch} already, with other content. "
                "Look at it, remove it, and try again."
            )

    def _carries_out(self, commit: str) -> bool:
        paths = {change.path for change in self._proposal.changes}
        found = self._upstream.files(commit, self._proposal.folder, paths.__contains__)
        return changes_applied(self._proposal.changes, files_by_path(found))

    def _take_back(self) -> str:
        """Undo in reverse order, whatever fails on the way; says what was taken back and what remains."""
        taken, remaining = [], []
        for what, undo in reversed(self._made):
            try:
                done = undo()
            except (ForgeError, OutweighError) as fault:
                remaining.append(f"{what} ({fault})")
            else:
                taken += [done] if done else []
        if remaining:
            also = f"Undone: {', '.join(taken)}. " if taken else ""
            return f"{also}This could not be undone and may remain: {', '.join(remaining)}."
        return f"Undone: {', '.join(taken)}. Nothing remains open." if taken else "Nothing was made."

    def _remove_branch(self, commit: str) -> str | None:
        branch = self._proposal.draft.branch
        if self._upstream.tip(branch) != commit:
            return None
        self._upstream.remove(branch, commit)
        return f"branch {branch}"

    def _close(self) -> str | None:
        draft = self._proposal.draft
        found = self._forge.find_pull_request(self._project, draft.branch, draft.into)
        if found is None or not found.is_open:
            return None
        self._forge.close_pull_request(self._project, found)
        return f"pull request {found.url} (closed)"
