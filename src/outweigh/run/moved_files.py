"""Which files are no longer as they were tested."""

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256

from outweigh.ports.forges import FileChange
from outweigh.ports.workspaces import RevisionFile
from outweigh.task.arm import OverlayFile

Files = Mapping[str, OverlayFile]


def files_by_path(files: Iterable[RevisionFile]) -> dict[str, OverlayFile]:
    """Files of a revision, known by their content as those of an arm are."""
    return {file.path: _known(file.path, file.content, executable=file.executable) for file in files}


def moved_base(before: Files, after: Files, was: Files | None, now: Files) -> Iterator[str]:
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


def differing(before: Files, after: Files) -> list[str]:
    """Every path that two states do not share."""
    return [path for path in sorted({*before, *after}) if before.get(path) != after.get(path)]


def left_to_do(changes: Iterable[FileChange], now: Files) -> tuple[FileChange, ...]:
    """The changes that the base does not have already."""
    return tuple(change for change in changes if now.get(change.path) != _after(change))


def is_carried_out(changes: Iterable[FileChange], now: Files) -> bool:
    """Whether files are exactly as the changes leave them."""
    return not left_to_do(changes, now)


def _after(change: FileChange) -> OverlayFile | None:
    return None if change.content is None else _known(change.path, change.content, executable=change.executable)


def _known(path: str, content: bytes, *, executable: bool) -> OverlayFile:
    return OverlayFile(path=path, sha256=sha256(content).hexdigest(), executable=executable)
