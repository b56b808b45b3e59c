"""What an arm was when it was tested, from its store alone: each step is checked by a hash that the runs name."""

from collections.abc import Callable, Iterable

import msgspec

from outweigh.errors import EvidenceError
from outweigh.ports.forges import FileChange
from outweigh.record.run_record import RunRecord
from outweigh.task.arm import ArmIdentity
from outweigh.task.overlay_change import overlay_changes
from outweigh.verdict.standing import ArmStanding

ReadArtifact = Callable[[str], bytes]
"""A kept artifact by its hash; EvidenceError where it is gone or damaged."""


def tested_identity(arm: str, fingerprint: str, artifact: ReadArtifact) -> ArmIdentity:
    """What made the arm what it is: the artifact that its fingerprint is the hash of."""
    try:
        return msgspec.json.decode(artifact(fingerprint), type=ArmIdentity)
    except (EvidenceError, msgspec.MsgspecError) as fault:
        raise EvidenceError(
            f"the store does not say what arm {arm!r} was: {fault} It was damaged, made by an older release, or the "
            "arm holds a secret. Run the suite again into a new folder."
        ) from fault


def arm_standing(name: str, fingerprint: str, runs: Iterable[RunRecord], artifact: ReadArtifact) -> ArmStanding:
    """What all runs of an arm say, excluded ones too; every artifact that they name is read."""
    fingerprints, kinds, digests = set(), set(), {}
    for run in runs:
        fingerprints.add(run.arm_fingerprint)
        kinds.add(run.agent.kind)
        digests.update({digest: f"{part} of {run.run_id}" for part, digest in run.artifacts.items()})
    return ArmStanding(
        name=name,
        fingerprint=fingerprint,
        run_fingerprints=frozenset(fingerprints),
        agent_kinds=frozenset(kinds),
        lost=tuple(what for digest, what in digests.items() if not _is_whole(digest, artifact)),
    )


def tested_changes(before: ArmIdentity, after: ArmIdentity, artifact: ReadArtifact) -> tuple[FileChange, ...]:
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


def _is_whole(digest: str, artifact: ReadArtifact) -> bool:
    try:
        artifact(digest)
    except EvidenceError:
        return False
    return True
