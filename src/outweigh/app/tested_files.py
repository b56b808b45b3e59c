"""What the arms were when they were tested, checked by the hashes that their runs name, and what has changed since."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

import msgspec

from outweigh.errors import EvidenceError
from outweigh.model.arm import ArmIdentity, OverlayFile, overlay_changes
from outweigh.model.run_record import ArtifactReader, RunRecord
from outweigh.ports.forges import FileChange
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
