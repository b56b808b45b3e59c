"""`tried-arms.json`: what trying a suite's arms showed before the first paid run, so that no arm is tried twice."""

from collections.abc import Iterable
from pathlib import Path

import msgspec

from outweigh.model.base import Name, Stored
from outweigh.store.durable_files import write_atomic

TRIED_ARMS_FILE = "tried-arms.json"


class TriedArm(Stored, frozen=True):
    """The result of one try. `setting` is a hash of all that it depends on: arm, program, sandbox and other arms.

    `faults` are the ways in which the arm is not what it declares, `models` the models that its agent asked for, and
    `apis` the APIs by which it did. `unproven` is what its agent does not show.
    """

    arm: Name
    setting: str
    faults: tuple[str, ...]
    models: tuple[str, ...]
    apis: tuple[str, ...]
    unproven: tuple[str, ...] = ()


class TriedArms(Stored, frozen=True, tag_field="schema", tag="outweigh.tried_arms/1"):
    """All results that are kept."""

    arms: tuple[TriedArm, ...]


def write_tried_arms(folder: Path, arms: Iterable[TriedArm]) -> None:
    """Write the results whole, in place of the earlier ones."""
    kept = TriedArms(arms=tuple(arms))
    write_atomic(folder / TRIED_ARMS_FILE, [msgspec.json.format(msgspec.json.encode(kept), indent=2), b"\n"])


def read_tried_arms(folder: Path) -> tuple[TriedArm, ...]:
    """What was kept; nothing where nothing was, or where it cannot be read: arms can be tried again."""
    try:
        return msgspec.json.decode((folder / TRIED_ARMS_FILE).read_bytes(), type=TriedArms).arms
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return ()
