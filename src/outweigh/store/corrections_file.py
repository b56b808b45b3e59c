"""The file of corrections in a store (`arms.toml`): read with every reading of its records, written by nobody else.

A store that a suite is run into has none: its suite names arms and tasks, and a run that goes on must find them so.
"""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.corrections import (
    CORRECTIONS_FILE,
    CORRECTIONS_SCHEMA,
    Corrections,
    CorrectionStep,
    CorrectionSteps,
)
from outweigh.model.run_record import RunRecord
from outweigh.ports.stores import RecordSource
from outweigh.store.durable_files import write_atomic
from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.store.read_only_stores import refuse_read_only
from outweigh.store.store_lock import StoreLock

_NOT_A_SUITES = (
    f"its suite names its arms and tasks, so they are not put right in {CORRECTIONS_FILE}. To look at its runs by "
    "other names, copy its .jsonl files into an empty folder."
)


def read_corrections(folder: Path) -> bytes | None:
    """The file of a folder; None where it has none."""
    try:
        return (folder / CORRECTIONS_FILE).read_bytes()
    except FileNotFoundError:
        return None
    except OSError as fault:
        raise EvidenceError(f"{folder / CORRECTIONS_FILE} cannot be read: {fault.strerror}.") from fault


def work_out(folder: Path, name: str, content: bytes, source: RecordSource) -> Corrections:
    """What the file does to the runs of its store."""
    place = f"{name}/{CORRECTIONS_FILE}"
    if (folder / EXPERIMENT_FILE).exists():
        raise EvidenceError(f"{place}: {_NOT_A_SUITES} Remove the file.")
    runs = (located.record for located in source.records(lambda _: None))
    return Corrections(content, place, (run for run in runs if isinstance(run, RunRecord)))


def refuse_corrections(folder: Path) -> None:
    """Refuse to run a suite into a store that has such a file."""
    if (folder / CORRECTIONS_FILE).exists():
        raise UsageError(
            f"{folder / CORRECTIONS_FILE} puts names of arms or tasks right, and a suite's are not. Name another "
            "folder with -o."
        )


def write_corrections(folder: Path, steps: CorrectionSteps, source: RecordSource) -> Corrections:
    """Replace the file, once it is known to fit the records; refused while the store is written to."""
    refuse_read_only(folder)
    if (folder / EXPERIMENT_FILE).exists():
        raise UsageError(f"{folder}: {_NOT_A_SUITES}")
    lock = StoreLock.take(folder)
    try:
        content = to_toml(steps).encode()
        try:
            worked_out = work_out(folder, str(folder), content, source)
        except EvidenceError as fault:
            raise UsageError(f"{fault} Nothing was changed.") from fault
        write_atomic(folder / CORRECTIONS_FILE, [content])
    finally:
        lock.release()
    return worked_out


def to_toml(steps: CorrectionSteps) -> str:
    """The file, as a person would write it."""
    lines = [
        "# Arms and tasks of this store that were put right after its runs. The records themselves are as they were.",
        "# Steps are applied in order. Remove the file to see the store as it was recorded.",
        f'schema = "{CORRECTIONS_SCHEMA}"',
        *_tables("arms", steps.arms),
        *_tables("tasks", steps.tasks),
    ]
    return "\n".join(lines) + "\n"


def _tables(kind: str, steps: Sequence[CorrectionStep]) -> Iterator[str]:
    for step in steps:
        yield f"\n[[{kind}]]"
        for name in step.__struct_fields__:
            value = getattr(step, name)
            if value:
                yield f"{name} = {_toml(value)}"


def _toml(value: str | Sequence[str]) -> str:
    if isinstance(value, str):
        return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f"[{', '.join(map(_toml, value))}]"
