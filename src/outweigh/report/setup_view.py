"""What a candidate changes about its agent's configuration, and what a reader of its verdict must know before that."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import msgspec

from outweigh.report.document import Block, Bullets, Report, Table, Tone
from outweigh.report.payload import Payload
from outweigh.task.arm import ArmOrigin, OverlayFile
from outweigh.task.overlay_change import OverlayChange, overlay_changes

SHOWN_FILES = 50
SHOWN_HASH = 12


@dataclass(frozen=True, slots=True, kw_only=True)
class Setup:
    """What the store says about its arms: their files, where those come from, and notes for every reader."""

    baseline: str
    candidates: tuple[str, ...]
    overlays: Mapping[str, Sequence[OverlayFile]]
    origins: Mapping[str, ArmOrigin]
    notes: tuple[str, ...]

    def changes(self, candidate: str) -> tuple[OverlayChange, ...] | None:
        """The files that differ from the baseline's; None where the store does not know both."""
        if not {self.baseline, candidate} <= self.overlays.keys():
            return None
        return overlay_changes(self.overlays[self.baseline], self.overlays[candidate])


def with_setup(report: Report, setup: Setup | None) -> Report:
    """The same answer with the set-up it is about: notes before everything else, files after the reasons."""
    if setup is None:
        return report
    first, *rest = report.blocks
    blocks = (*_notes(setup), first, *_files(setup), *rest)
    return replace(report, blocks=blocks, payload={**report.payload, "setup": setup_payload(setup)})


def setup_payload(setup: Setup) -> Payload:
    """Under `setup` in the JSON of `verdict` and `report`."""
    return {
        "baseline": setup.baseline,
        "origins": {name: msgspec.to_builtins(origin) for name, origin in setup.origins.items()},
        "changes": {name: msgspec.to_builtins(setup.changes(name)) for name in setup.candidates},
        "notes": list(setup.notes),
    }


def _notes(setup: Setup) -> Iterator[Block]:
    if setup.notes:
        yield Bullets(title="Read this first", items=setup.notes, tone=Tone.BAD)


def _files(setup: Setup) -> Iterator[Block]:
    for name in setup.candidates:
        changes = setup.changes(name)
        if not changes:
            continue
        rows = tuple((one.path, one.kind.value, one.change.value, _hashes(one)) for one in changes[:SHOWN_FILES])
        more = len(changes) - SHOWN_FILES
        yield Table(
            title=f"What {_named(setup, name)} changes about {_named(setup, setup.baseline)}",
            columns=("", "kind", "change", "content"),
            rows=(*rows, (f"and {more} more", "", "", "")) if more > 0 else rows,
        )


def _named(setup: Setup, arm: str) -> str:
    origin = setup.origins.get(arm)
    return arm if origin is None else f"{arm} ({origin.ref}, {origin.commit[:SHOWN_HASH]})"


def _hashes(change: OverlayChange) -> str:
    known = [digest[:SHOWN_HASH] for digest in (change.before_sha256, change.after_sha256) if digest is not None]
    return " → ".join(dict.fromkeys(known))
