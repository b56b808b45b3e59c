"""People's labels of the runs of a store, in the file that `outweigh judge --calibrate` reads.

The file is replaced as a whole, under a lock: after a crash it has the labels from before or from after a change, and
two writers do not undo each other's. Rows that somebody wrote by hand stay as they are.
"""

import csv
import fcntl
import io
import os
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

from msgspec import Struct
from msgspec.structs import asdict

from outweigh.errors import EvidenceError, UsageError
from outweigh.store.durable_files import write_atomic
from outweigh.store.read_only_stores import refuse_read_only

LABEL_FILE = "labels.csv"
LABEL_FIELDS = ("run_id", "criterion", "score", "label", "note")
PASS_LABEL, FAIL_LABEL = "pass", "fail"

_WAY_OUT = "Repair the file, or move it away to start a new one."

LabelKey = tuple[str, str]
"""A run, and one of its criteria; the criterion is empty for the whole run."""


class RunLabel(Struct, frozen=True, kw_only=True):
    """One row of the file, every column as it is written there; an empty one says nothing."""

    run_id: str
    criterion: str = ""
    score: str = ""
    label: str = ""
    note: str = ""

    @property
    def key(self) -> LabelKey:
        """What the label is about."""
        return self.run_id, self.criterion

    @property
    def is_empty(self) -> bool:
        """Whether it says nothing, so that it need not be kept."""
        return not (self.score or self.label or self.note)


def label_file(store: Path) -> Path:
    """Where the labels of a store are: in its folder, or beside a single file of records."""
    return store / LABEL_FILE if store.is_dir() else store.with_name(f"{store.stem}.{LABEL_FILE}")


def read_run_labels(file: Path) -> dict[LabelKey, RunLabel]:
    """The labels by what they are about; empty where there is no file, EvidenceError where it is none of labels."""
    try:
        text = file.read_bytes().decode("utf-8-sig")
    except FileNotFoundError:
        return {}
    except (OSError, UnicodeDecodeError) as fault:
        raise EvidenceError(f"{file} cannot be read: {fault}. {_WAY_OUT}") from fault
    try:
        return {label.key: label for label in _parse(text, file)}
    except csv.Error as fault:
        raise EvidenceError(f"{file} is not CSV: {fault}. {_WAY_OUT}") from fault


def _parse(text: str, file: Path) -> Iterator[RunLabel]:
    reader = csv.DictReader(io.StringIO(text, newline=""), strict=True)
    if unknown := [name for name in reader.fieldnames or () if name not in LABEL_FIELDS]:
        raise EvidenceError(
            f"{file} has a column {unknown[0]!r}, which is none of {', '.join(LABEL_FIELDS)}. {_WAY_OUT}"
        )
    for row in reader:
        yield RunLabel(**{name: row.get(name) or "" for name in LABEL_FIELDS})


def change_run_label(file: Path, key: LabelKey, change: Callable[[RunLabel], RunLabel]) -> None:
    """Change what is said about a run or criterion, beginning with an empty label; an empty one is not kept."""
    refuse_read_only(file)
    with _locked(file):
        labels = read_run_labels(file)
        run_id, criterion = key
        labels[key] = change(labels.get(key) or RunLabel(run_id=run_id, criterion=criterion))
        write_atomic(file, [_render(label for label in labels.values() if not label.is_empty).encode()])


def _render(labels: Iterable[RunLabel]) -> str:
    stream = io.StringIO(newline="")
    writer = csv.DictWriter(stream, LABEL_FIELDS, lineterminator="\n")
    writer.writeheader()
    writer.writerows(asdict(label) for label in labels)
    return stream.getvalue()


@contextmanager
def _locked(file: Path) -> Iterator[None]:
    """Wait for other writers of the same file. The lock file stays, so that everybody locks the same one."""
    try:
        lock = os.open(file.with_name(f".{file.name}.lock"), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
    except OSError as fault:
        raise UsageError(f"{file} cannot be written: {fault.strerror}.") from fault
    try:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
    finally:
        os.close(lock)
