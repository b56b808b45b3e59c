"""What each candidate changes in its agent's configuration, added to the page and the JSON of a verdict."""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from outweigh.model.arm import ArmSetups, OverlayChange
from outweigh.report.document import Block, BulletList, Report, Table, Tone, add_blocks
from outweigh.report.json_output import Payload

MOST_SETUP_FILES = 50
SETUP_HASH_LENGTH = 12


def add_setup_changes(report: Report, setup: ArmSetups | None) -> Report:
    """The same answer with the set-up it is about: notes before everything else, files after the reasons.

    On a page with folds, the files are the first of them.
    """
    if setup is None:
        return report
    changed = add_blocks(report, "What changed in the set-up", tuple(_changed_files(setup)))
    blocks = (*_setup_notes(setup), *changed.blocks)
    return replace(report, blocks=blocks, payload={**report.payload, "setup": setup_payload(setup)})


def setup_payload(setup: ArmSetups) -> Payload:
    """Under `setup` in the JSON of `verdict` and `report`."""
    return {
        "baseline": setup.baseline,
        "origins": {name: msgspec.to_builtins(origin) for name, origin in setup.origins.items()},
        "changes": {name: msgspec.to_builtins(setup.changes(name)) for name in setup.candidates},
        "notes": list(setup.notes),
    }


def _setup_notes(setup: ArmSetups) -> Iterator[Block]:
    if setup.notes:
        yield BulletList(title="Read this first", items=setup.notes, tone=Tone.UNSURE)


def _changed_files(setup: ArmSetups) -> Iterator[Block]:
    for name in setup.candidates:
        changes = setup.changes(name)
        if not changes:
            continue
        rows = tuple(
            (one.path, one.kind.value, one.change.value, _format_hashes(one)) for one in changes[:MOST_SETUP_FILES]
        )
        more = len(changes) - MOST_SETUP_FILES
        yield Table(
            title=f"What {_describe_arm(setup, name)} changes about {_describe_arm(setup, setup.baseline)}",
            columns=("", "kind", "change", "content"),
            rows=(*rows, (f"and {more} more", "", "", "")) if more > 0 else rows,
        )


def _describe_arm(setup: ArmSetups, arm: str) -> str:
    origin = setup.origins.get(arm)
    return arm if origin is None else f"{arm} ({origin.ref}, {origin.commit[:SETUP_HASH_LENGTH]})"


def _format_hashes(change: OverlayChange) -> str:
    known = [digest[:SETUP_HASH_LENGTH] for digest in (change.before_sha256, change.after_sha256) if digest is not None]
    return " → ".join(dict.fromkeys(known))
