"""The page and the JSON of `outweigh parts apply`: which parts may be dropped, and what was written."""

from collections.abc import Iterator, Mapping

from msgspec import Struct

from outweigh.model.evidence_hash import HASH_VERSION
from outweigh.report.document import Block, BulletList, CodeBlock, Report, Table, Tone
from outweigh.report.json_output import Payload


class DropOutcome(Struct, frozen=True, kw_only=True):
    """What was written: a patch, or a pull request; nothing where neither was asked for."""

    patch: str | None = None
    url: str | None = None
    number: int | None = None
    branch: str | None = None


class DroppedParts(Struct, frozen=True, kw_only=True):
    """The parts to drop, the arm without them, and why it is not allowed.

    `files` has the bytes of every file before and after; None after where the file is removed.
    """

    baseline: str
    arm: str
    parts: tuple[str, ...]
    decision: str
    evidence_sha256: str
    refusals: tuple[str, ...]
    files: Mapping[str, tuple[int, int | None]]
    outcome: DropOutcome


def drop_report(dropped: DroppedParts) -> Report:
    """The page of `outweigh parts apply`."""
    return Report(
        headline=f"{_word(dropped)}  {', '.join(dropped.parts)} from {dropped.baseline}",
        tone=Tone.BAD if dropped.refusals else Tone.GOOD,
        blocks=tuple(_blocks(dropped)),
        payload=_payload(dropped),
    )


def _word(dropped: DroppedParts) -> str:
    if dropped.refusals:
        return "NOT DROPPED"
    outcome = dropped.outcome
    return "DROPPED" if outcome.patch or outcome.branch else "READY TO DROP"


def _blocks(dropped: DroppedParts) -> Iterator[Block]:
    if dropped.refusals:
        yield BulletList(title="Why not", items=dropped.refusals, tone=Tone.BAD)
        return
    yield Table(
        title=f"Files ({dropped.arm} is {dropped.decision.replace('_', '-')})",
        columns=("", "bytes", "without them"),
        rows=tuple(
            (path, f"{before:,}", "removed" if after is None else f"{after:,}")
            for path, (before, after) in dropped.files.items()
        ),
    )
    outcome = dropped.outcome
    if outcome.patch is not None:
        yield CodeBlock(title="Written as a patch. To apply it", lines=(f"git apply {outcome.patch}",))
    elif outcome.branch is not None:
        where = outcome.url if outcome.number is not None else f"branch {outcome.branch} was pushed"
        yield BulletList(title="Proposed", items=(f"{where}",), tone=Tone.GOOD)
    else:
        words = "Nothing was written. To write it, add one of these to the same command"
        yield CodeBlock(title=words, lines=("--patch smaller.patch", "--pull-request"))


def _payload(dropped: DroppedParts) -> Payload:
    outcome = dropped.outcome
    return {
        "schema": "outweigh.parts_apply/1",
        "baseline": dropped.baseline,
        "arm": dropped.arm,
        "parts": list(dropped.parts),
        "decision": dropped.decision,
        "may_drop": not dropped.refusals,
        "refusals": list(dropped.refusals),
        "evidence_sha256": dropped.evidence_sha256,
        "evidence_hash_version": HASH_VERSION,
        "files": [
            {"path": path, "bytes": before, "bytes_after": after} for path, (before, after) in dropped.files.items()
        ],
        "patch": outcome.patch,
        "url": outcome.url,
        "number": outcome.number,
        "branch": outcome.branch,
    }
