"""Carries out a promotion.

What the arms were when they were tested (each step checked by a hash that the runs name), which files have changed
since, and the branch, commit and pull request. A step that fails undoes what was made.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256

import msgspec

from outweigh.errors import EvidenceError, OutweighError, UsageError
from outweigh.model.arm import ArmIdentity, OverlayFile, overlay_changes
from outweigh.model.run_record import ArtifactReader, RunRecord
from outweigh.ports.forges import (
    FileChange,
    Forge,
    ForgeError,
    ForgeProject,
    PullRequest,
    PullRequestDraft,
    RemoteRepository,
)
from outweigh.ports.workspaces import RevisionFile
from outweigh.verdict.promotion import PromotionArm


def stored_arm_identity(arm: str, fingerprint: str, artifact: ArtifactReader) -> ArmIdentity:
    """What made the arm what it is: the artifact that its fingerprint is the hash of."""
    try:
        return msgspec.json.decode(artifact(fingerprint), type=ArmIdentity)
    except (EvidenceError, msgspec.MsgspecError) as fault:
        raise EvidenceError(
            f"the store does not say what arm {arm!r} was: {fault} It was damaged, made by an older release, or the "
            "arm holds a secret. Run the suite again into a new folder."
        ) from fault


def stored_arm_state(name: str, fingerprint: str, runs: Iterable[RunRecord], artifact: ArtifactReader) -> PromotionArm:
    """What all runs of an arm say, excluded ones too; every artifact that they name is read."""
    fingerprints, kinds, digests = set(), set(), {}
    for run in runs:
        fingerprints.add(run.arm_fingerprint)
        kinds.add(run.agent.kind)
        digests.update({digest: f"{part} of {run.run_id}" for part, digest in run.artifacts.items()})
    return PromotionArm(
        name=name,
        fingerprint=fingerprint,
        run_fingerprints=frozenset(fingerprints),
        agent_kinds=frozenset(kinds),
        lost=tuple(what for digest, what in digests.items() if not _is_intact(digest, artifact)),
    )


def tested_changes(before: ArmIdentity, after: ArmIdentity, artifact: ArtifactReader) -> tuple[FileChange, ...]:
    """From the baseline's files to the candidate's, with the very content that was laid."""
    files = {file.path: file for file in after.overlay}
    return tuple(
        FileChange(
            path=change.path,
            content=artifact(files[change.path].sha256) if change.path in files else None,
            executable=change.path in files and files[change.path].executable,
        )
        for change in overlay_changes(before.overlay, after.overlay)
    )


def _is_intact(digest: str, artifact: ArtifactReader) -> bool:
    try:
        artifact(digest)
    except EvidenceError:
        return False
    return True


FilesByPath = Mapping[str, OverlayFile]


def files_by_path(files: Iterable[RevisionFile]) -> dict[str, OverlayFile]:
    """Files of a revision, known by their content as those of an arm are."""
    return {file.path: _overlay_file(file.path, file.content, executable=file.executable) for file in files}


def changed_in_base(
    before: FilesByPath, after: FilesByPath, was: FilesByPath | None, now: FilesByPath
) -> Iterator[str]:
    """Files of either arm that the base has otherwise than the baseline had.

    `was` is what the baseline's commit holds, None where the arms do not come from git. A file that both arms got from
    elsewhere is no affair of the base's, and one that is as the candidate has it already is no obstacle.
    """
    for path in sorted({*before, *after}):
        tested, there = before.get(path), now.get(path)
        changed = tested != after.get(path)
        elsewhere = not changed and (path not in was if was is not None else there is None)
        if elsewhere or there == tested or (changed and there == after.get(path)):
            continue
        yield path


def differing_paths(before: FilesByPath, after: FilesByPath) -> list[str]:
    """Every path that two states do not share."""
    return [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]


def remaining_changes(changes: Iterable[FileChange], now: FilesByPath) -> tuple[FileChange, ...]:
    """The changes that the base does not have already."""
    return tuple(change for change in changes if now.get(change.path) != _resulting_file(change))


def changes_applied(changes: Iterable[FileChange], now: FilesByPath) -> bool:
    """Whether files are exactly as the changes leave them."""
    return not remaining_changes(changes, now)


def _resulting_file(change: FileChange) -> OverlayFile | None:
    return None if change.content is None else _overlay_file(change.path, change.content, executable=change.executable)


def _overlay_file(path: str, content: bytes, *, executable: bool) -> OverlayFile:
    return OverlayFile(path=path, sha256=sha256(content).hexdigest(), executable=executable)


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


def promote(
    proposal: PromotionProposal,
    upstream: RemoteRepository,
    forge: Forge,
    project: ForgeProject,
    tell: Callable[[str], None],
) -> PromotionResult:
    """Open the pull request, or give back the one that is open already. `tell` hears of every step."""
    existing = forge.find_pull_request(project, proposal.draft.branch, proposal.draft.into)
    if existing is not None and existing.is_open:
        return PromotionResult(pull_request=existing, commit=None, opened=False)
    if existing is not None:
        raise UsageError(
            f"this promotion was proposed already, and its pull request was closed or merged: {existing.url}. "
            "Reopen it there, or gather new evidence."
        )
    return _PromotionSteps(proposal, upstream, forge, project, tell).carry_out()


class _PromotionSteps:
    """The steps of one promotion, with what would take each of them back."""

    def __init__(
        self,
        proposal: PromotionProposal,
        upstream: RemoteRepository,
        forge: Forge,
        project: ForgeProject,
        tell: Callable[[str], None],
    ) -> None:
        self._proposal, self._upstream = proposal, upstream
        self._forge, self._project, self._tell = forge, project, tell
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
            self._tell(left)
            raise
        return PromotionResult(pull_request=opened, commit=commit, opened=opened.is_open)

    def _branch(self) -> str:
        proposal, branch = self._proposal, self._proposal.draft.branch
        there = self._upstream.tip(branch)
        if there is not None:
            self._refuse_foreign(there)
            self._tell(f"{branch} is there already, with exactly these changes")
            return there
        commit = self._upstream.commit(proposal.onto, proposal.folder, proposal.changes, proposal.message)
        if not self._carries_out(commit):
            raise EvidenceError("the commit would not be what was tested; links in the base may be in the way.")
        if not proposal.still_holds():
            raise EvidenceError("the records have changed just now. Decide again.")
        # Noted first: a push that fails on the way back may have arrived.
        self._made.append((f"branch {branch}", lambda: self._remove_branch(commit)))
        self._upstream.push(branch, commit)
        self._tell(f"pushed {branch} ({commit[:12]})")
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
            self._tell(f"opened {opened.url}")
        return opened

    def _refuse_foreign(self, commit: str) -> None:
        """A branch of that name that is not ours is left alone."""
        folder = self._proposal.folder
        prefix = "" if folder in ("", ".") else f"{folder}/"
        ours = {f"{prefix}{change.path}" for change in self._proposal.changes}
        if not self._carries_out(commit) or not set(self._upstream.changed(commit)) <= ours:
            raise UsageError(
                f"the remote has a branch {self._proposal.draft.branch} already, and something else is in it. "
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
            also = f"Taken back: {', '.join(taken)}. " if taken else ""
            return f"{also}This could not be taken back and may remain: {', '.join(remaining)}."
        return f"Taken back: {', '.join(taken)}. Nothing remains open." if taken else "Nothing was made."

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
