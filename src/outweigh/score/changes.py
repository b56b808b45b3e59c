"""What became of an arm's changes after they were merged, from a file the user keeps."""

from collections.abc import Collection

import msgspec

from outweigh.record.stored import Name
from outweigh.stats.quantity import Quantity, known, unknown

NO_CHANGES = unknown("no changes file covers this arm")


class Change(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """One merged change of one arm: did it fail in service, was it reverted by a reviewer."""

    id: Name
    arm: Name
    failed: bool
    reverted: bool


def change_fail_percentage(changes: Collection[Change]) -> Quantity:
    """Failed changes / all changes."""
    return known(sum(change.failed for change in changes) / len(changes)) if changes else NO_CHANGES


def pr_revert_rate(changes: Collection[Change]) -> Quantity:
    """Reverted changes / all changes."""
    return known(sum(change.reverted for change in changes) / len(changes)) if changes else NO_CHANGES
