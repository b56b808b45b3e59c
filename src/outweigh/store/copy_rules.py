"""What may be copied over what: the rest of the same store, and never another one.

Logs only grow, so a copy that is older holds the beginning of each. What outweigh always writes as a whole is replaced;
what people write is not.
"""

from collections.abc import Iterator
from pathlib import Path

from outweigh.errors import EvidenceError, UsageError, quote_names
from outweigh.store.experiment_file import EXPERIMENT_FILE, ExperimentFile, read_experiment
from outweigh.store.label_file import LABEL_FILE
from outweigh.store.scan_file import SCAN_FILE
from outweigh.store.store_files import only_grows
from outweigh.store.store_snapshot import StoreSnapshot, begins_with, first_difference

_OWN_FILES = frozenset({LABEL_FILE, SCAN_FILE})
"""A copy may have these where its source has none."""
_REPLACED_SUFFIX = ".json"


def refuse_other_store(given: StoreSnapshot, found: StoreSnapshot, source: str, target: str) -> None:
    """UsageError or EvidenceError where a target holds something that a copy of this source would mix with or lose."""
    differ = [name for name in given.digests if found.digests.get(name, given.digests[name]) != given.digests[name]]
    if EXPERIMENT_FILE in differ and (changes := tuple(_other_experiment(given.folder, found.folder, target))):
        raise UsageError(
            f"{target} holds another experiment than {source}: {' and '.join(changes)} differ. Two experiments are "
            "never put into one store; name another target."
        )
    own = [name for name in found.digests if name not in given.digests and name not in _OWN_FILES]
    if own:
        raise UsageError(
            f"{target} holds {quote_names(own)}, and {source} does not: it is another store, or has runs of its own. "
            "Name another target."
        )
    for name in differ:
        _refuse_difference(name, given.path(name), found.path(name), source, target)


def _other_experiment(given: Path, found: Path, target: str) -> Iterator[str]:
    """In what two experiments differ that are not one. Arms and tasks may have been added to one, and notes."""
    one, other = read_experiment(given), _read_target(found, target)
    if one is None or other is None:
        return
    for field in ("suite", "baseline", "seed", "executor"):
        if getattr(one, field) != getattr(other, field):
            yield field
    if one.arms.get(one.baseline) != other.arms.get(one.baseline):
        yield f"the set-up of {one.baseline!r}"
    if changed := [task for task in one.tasks.keys() & other.tasks.keys() if one.tasks[task] != other.tasks[task]]:
        yield f"the tasks {quote_names(sorted(changed))}"


def _read_target(folder: Path, target: str) -> ExperimentFile | None:
    try:
        return read_experiment(folder)
    except EvidenceError as fault:
        raise EvidenceError(
            f"{target}/{EXPERIMENT_FILE} cannot be read: it was damaged, or written by another release. Remove that "
            "file, and copy again."
        ) from fault


def _refuse_difference(name: str, given: Path, found: Path, source: str, target: str) -> None:
    if name.endswith(_REPLACED_SUFFIX):
        return
    if not only_grows(name):
        raise UsageError(
            f"{name} differs in {source} and {target}, and a copy would lose what was written to one of them. Make "
            "them equal, or remove the one that is out of date."
        )
    if begins_with(given, found):
        return
    if begins_with(found, given):
        raise UsageError(f"{target} has more runs than {source}: {name} is longer there. Copy in the other direction.")
    raise EvidenceError(
        f"{target}/{name} is not what {source} has, from line {first_difference(given, found)} on: it was damaged or "
        "edited, or is of another experiment. Nothing was copied. Name another target, or remove that file and copy "
        "again."
    )
