"""The page and the JSON of `outweigh promote`, and the title and body of the pull request it opens."""

import re
from collections.abc import Iterator

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from outweigh.model.arm import OverlayChange
from outweigh.model.evidence_hash import HASH_VERSION
from outweigh.report.document import Block, BulletList, CodeBlock, Report, Table, Tone
from outweigh.report.formatting import escape_controls
from outweigh.report.json_output import Payload

MOST_BODY_CHARACTERS = 60_000
"""Forges take a little more; what is beyond is cut off at the end of a line."""
_TRUNCATED = "\n\n(cut here: a forge takes no longer text)\n"


def add_hashes(verdict: Report, *, evidence_sha256: str, fingerprints: dict[str, str], onto: str) -> Report:
    """The verdict's page, with the hashes that tie the change to what was tested."""
    rows = (
        ("evidence", evidence_sha256),
        *((f"fingerprint of {name}", value) for name, value in fingerprints.items()),
        ("base commit", onto),
    )
    table = Table(title="What was tested, and is proposed here byte for byte", columns=("", "hash"), rows=rows)
    return replace(verdict, blocks=(*verdict.blocks, table))


def truncate_body(body: str) -> str:
    """The text where it is short enough, else its beginning, in whole lines."""
    if len(body) <= MOST_BODY_CHARACTERS:
        return body
    return body[: MOST_BODY_CHARACTERS - len(_TRUNCATED)].rpartition("\n")[0] + _TRUNCATED


MOST_CHANGED_FILES = 50
SHORT_HASH_LENGTH = 12
MOST_TITLE_CHARACTERS = 120
_UNSAFE_CHARACTERS = re.compile(r"[^\w .,+=()/-]")
_ISSUE_REFERENCE = re.compile(r"(?<=\bGH)-(?=\d)", re.IGNORECASE)


class PromotionTarget(Struct, frozen=True, kw_only=True):
    """Where a promotion goes: a new branch on top of a commit of the base branch, and the forge that is asked."""

    remote: str
    forge: str
    into: str
    onto: str
    branch: str
    title: str
    changes: tuple[OverlayChange, ...]
    notes: tuple[str, ...]


class PromotionOutcome(Struct, frozen=True, kw_only=True):
    """What came of it."""

    url: str | None
    number: int | None
    commit: str | None
    opened: bool


class Promotion(Struct, frozen=True, kw_only=True):
    """The answer of `outweigh promote`; without a destination it did not come to that."""

    baseline: str
    candidate: str
    decision: str
    evidence_sha256: str
    fingerprint: str | None
    refusals: tuple[str, ...]
    destination: PromotionTarget | None
    carried: PromotionOutcome | None


def promotion_report(promotion: Promotion) -> Report:
    """The page of `outweigh promote`."""
    word, tone = _describe_outcome(promotion)
    return Report(
        headline=f"{word}  {promotion.candidate} over {promotion.baseline}",
        tone=tone,
        blocks=tuple(_blocks(promotion)),
        payload=_payload(promotion),
    )


def pull_request_title(suite: str, baseline: str, candidate: str) -> str:
    """One line that is nothing but text, wherever it is shown: no reference, no mention, no command."""
    title = f"Promote {neutralize_name(candidate)} over {neutralize_name(baseline)} ({neutralize_name(suite)})"
    return title if len(title) <= MOST_TITLE_CHARACTERS else f"{title[: MOST_TITLE_CHARACTERS - 1]}…"


def neutralize_name(name: str) -> str:
    """A name in which forges see no mention, link, closing word for an issue, or command for their CI."""
    return _ISSUE_REFERENCE.sub("·", _UNSAFE_CHARACTERS.sub("·", escape_controls(" ".join(name.split()))))


def _describe_outcome(promotion: Promotion) -> tuple[str, Tone]:
    carried = promotion.carried
    if promotion.refusals:
        return "NOT PROMOTED", Tone.BAD
    if promotion.destination is not None and not promotion.destination.changes:
        return "PROMOTED BEFORE", Tone.GOOD
    if carried is None:
        return "READY TO PROMOTE", Tone.GOOD
    if carried.number is None:
        return "PUSHED", Tone.GOOD
    return ("PROMOTED" if carried.opened else "PROMOTED BEFORE"), Tone.GOOD


def _blocks(promotion: Promotion) -> Iterator[Block]:
    if promotion.refusals:
        yield BulletList(title="Why not", items=promotion.refusals, tone=Tone.BAD)
    destination, carried = promotion.destination, promotion.carried
    if destination is None:
        return
    if destination.changes:
        yield Table(
            title="Files", columns=("", "kind", "change", "content"), rows=tuple(_file_rows(destination.changes))
        )
    yield BulletList(title="Where", items=tuple(_target_lines(destination, carried)), tone=Tone.PLAIN)
    if destination.notes:
        yield BulletList(title="Notes", items=destination.notes, tone=Tone.UNSURE)
    if not promotion.refusals and carried is None and destination.changes:
        words = "Nothing was done. To do it, for exactly this evidence, add to the same command:"
        yield CodeBlock(title=words, lines=(f"--execute --evidence {promotion.evidence_sha256}",))


def _file_rows(changes: tuple[OverlayChange, ...]) -> Iterator[tuple[str, str, str, str]]:
    for one in changes[:MOST_CHANGED_FILES]:
        hashes = [digest[:SHORT_HASH_LENGTH] for digest in (one.before_sha256, one.after_sha256) if digest is not None]
        yield one.path, one.kind.value, one.change.value, " → ".join(dict.fromkeys(hashes))
    if len(changes) > MOST_CHANGED_FILES:
        yield f"and {len(changes) - MOST_CHANGED_FILES} more", "", "", ""


def _target_lines(destination: PromotionTarget, carried: PromotionOutcome | None) -> Iterator[str]:
    if not destination.changes:
        yield f"{destination.into} of {destination.remote} has all of it already; there is nothing left to propose."
        return
    if carried is not None and carried.number is not None:
        yield f"pull request {carried.number}: {carried.url}"
    elif carried is not None:
        page = f" at {carried.url}" if carried.url else ""
        yield f"the branch was pushed; open the pull request yourself{page}."
    base = f"{destination.into} ({destination.onto[:SHORT_HASH_LENGTH]})"
    yield f"branch {destination.branch}, on {base} of {destination.remote}"
    yield f"forge {destination.forge}: {destination.title}"


def _payload(promotion: Promotion) -> Payload:
    destination, carried = promotion.destination, promotion.carried
    return {
        "schema": "outweigh.promotion/1",
        "baseline": promotion.baseline,
        "candidate": promotion.candidate,
        "decision": promotion.decision,
        "may_promote": not promotion.refusals,
        "refusals": list(promotion.refusals),
        "evidence_sha256": promotion.evidence_sha256,
        "evidence_hash_version": HASH_VERSION,
        "fingerprint": promotion.fingerprint,
        "destination": None if destination is None else msgspec.to_builtins(destination),
        "carried_out": None if carried is None else msgspec.to_builtins(carried),
    }
