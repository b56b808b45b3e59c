"""What differs between the files of two arms: added, removed, modified."""

from collections.abc import Iterable
from enum import StrEnum

from outweigh.task.arm import OverlayFile
from outweigh.task.configuration import ConfigurationKind, configuration_kind
from outweigh.task.spec import Spec


class ChangeKind(StrEnum):
    """What happened to a file on the way from the baseline to the candidate."""

    ADDED = "added"
    REMOVED = "removed"
    MODIFIED = "modified"


class OverlayChange(Spec, frozen=True, kw_only=True):
    """One file that the two arms do not share; the hashes are of its content before and after."""

    path: str
    kind: ConfigurationKind
    change: ChangeKind
    before_sha256: str | None
    after_sha256: str | None


def overlay_changes(before: Iterable[OverlayFile], after: Iterable[OverlayFile]) -> tuple[OverlayChange, ...]:
    """Every file that differs, by path; one that only became a program, or ceased to be one, is modified."""
    old, new = ({file.path: file for file in files} for files in (before, after))
    return tuple(
        _change(path, old.get(path), new.get(path)) for path in sorted({*old, *new}) if old.get(path) != new.get(path)
    )


def _change(path: str, old: OverlayFile | None, new: OverlayFile | None) -> OverlayChange:
    return OverlayChange(
        path=path,
        kind=configuration_kind(path) or ConfigurationKind.OTHER,
        change=_change_kind(old, new),
        before_sha256=None if old is None else old.sha256,
        after_sha256=None if new is None else new.sha256,
    )


def _change_kind(old: OverlayFile | None, new: OverlayFile | None) -> ChangeKind:
    if old is None:
        return ChangeKind.ADDED
    return ChangeKind.REMOVED if new is None else ChangeKind.MODIFIED
