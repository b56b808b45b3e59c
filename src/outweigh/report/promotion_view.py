"""A promotion as a page: what would be, or was, proposed, or why nothing is."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

import msgspec

from outweigh.report.document import Block, Bullets, Listing, Report, Table, Tone
from outweigh.report.payload import Payload
from outweigh.report.wording import visible
from outweigh.task.overlay_change import OverlayChange

SHOWN_FILES = 50
SHOWN_HASH = 12
LONGEST_TITLE = 120
_HARMFUL = re.compile(r"[^\w .,+=()/-]")
_ISSUE = re.compile(r"(?<=\bGH)-(?=\d)", re.IGNORECASE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Destination:
    """Where a promotion goes: a new branch on top of a commit of the base branch, and the forge that is asked."""

    remote: str
    forge: str
    into: str
    onto: str
    branch: str
    title: str
    changes: tuple[OverlayChange, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Carried:
    """What came of it."""

    url: str | None
    number: int | None
    commit: str | None
    opened: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Promotion:
    """The answer of `outweigh promote`; without a destination it did not come to that."""

    baseline: str
    candidate: str
    decision: str
    evidence_sha256: str
    fingerprint: str | None
    refusals: tuple[str, ...]
    destination: Destination | None
    carried: Carried | None


def promotion_report(promotion: Promotion) -> Report:
    """The page of `outweigh promote`."""
    word, tone = _outcome(promotion)
    return Report(
        headline=f"{word}  {promotion.candidate} over {promotion.baseline}",
        tone=tone,
        blocks=tuple(_blocks(promotion)),
        payload=_payload(promotion),
    )


def proposal_title(suite: str, baseline: str, candidate: str) -> str:
    """One line that is nothing but text, wherever it is shown: no reference, no mention, no command."""
    title = f"Promote {harmless(candidate)} over {harmless(baseline)} ({harmless(suite)})"
    return title if len(title) <= LONGEST_TITLE else f"{title[: LONGEST_TITLE - 1]}…"


def harmless(name: str) -> str:
    """A name in which forges see no mention, link, closing word for an issue, or command for their CI."""
    return _ISSUE.sub("·", _HARMFUL.sub("·", visible(" ".join(name.split()))))


def _outcome(promotion: Promotion) -> tuple[str, Tone]:
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
        yield Bullets(title="Why not", items=promotion.refusals, tone=Tone.BAD)
    destination, carried = promotion.destination, promotion.carried
    if destination is None:
        return
    if destination.changes:
        yield Table(title="Files", columns=("", "kind", "change", "content"), rows=tuple(_files(destination.changes)))
    yield Bullets(title="Where", items=tuple(_places(destination, carried)), tone=Tone.PLAIN)
    if destination.notes:
        yield Bullets(title="Notes", items=destination.notes, tone=Tone.UNSURE)
    if not promotion.refusals and carried is None and destination.changes:
        words = "Nothing was done. The same command with these words does it, for this evidence and no other:"
        yield Listing(title=words, lines=(f"--execute --evidence {promotion.evidence_sha256}",))


def _files(changes: tuple[OverlayChange, ...]) -> Iterator[tuple[str, str, str, str]]:
    for one in changes[:SHOWN_FILES]:
        hashes = [digest[:SHOWN_HASH] for digest in (one.before_sha256, one.after_sha256) if digest is not None]
        yield one.path, one.kind.value, one.change.value, " → ".join(dict.fromkeys(hashes))
    if len(changes) > SHOWN_FILES:
        yield f"and {len(changes) - SHOWN_FILES} more", "", "", ""


def _places(destination: Destination, carried: Carried | None) -> Iterator[str]:
    if not destination.changes:
        yield f"{destination.into} of {destination.remote} has all of it already; there is nothing left to propose."
        return
    if carried is not None and carried.number is not None:
        yield f"pull request {carried.number}: {carried.url}"
    elif carried is not None:
        page = f" at {carried.url}" if carried.url else ""
        yield f"the branch was pushed; open the pull request yourself{page}."
    base = f"{destination.into} ({destination.onto[:SHOWN_HASH]})"
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
        "fingerprint": promotion.fingerprint,
        "destination": None if destination is None else msgspec.to_builtins(destination),
        "carried_out": None if carried is None else msgspec.to_builtins(carried),
    }
