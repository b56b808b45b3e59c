"""Pinned runs: a baseline's records in a folder of its own, for later experiments to reuse.

pin.json            what was pinned: suite, arm, fingerprint, checksums, settings, agents, age
runs-pinned.jsonl   its runs, one sealed line each
artifacts/ab/ab12…  what the runs refer to, by SHA-256
checks.log          every drift check: the runs it made, in figures, and what it found; one sealed line each
check.json          the result of the last check that an earlier release made
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import msgspec
from msgspec import Meta

from outweigh.errors import EvidenceError, UsageError
from outweigh.model.base import Moment
from outweigh.model.pin_check import PinCheck
from outweigh.model.run_record import RunRecord
from outweigh.store.artifact_folder import ArtifactFolder
from outweigh.store.durable_files import write_atomic
from outweigh.store.experiment_file import read_experiment
from outweigh.store.journal import Journal, open_journal, read_journal
from outweigh.store.run_store import FolderRunStore

PIN_FILE, CHECKS_FILE, EARLIER_CHECK_FILE = "pin.json", "checks.log", "check.json"
PIN_WRITER = "pinned"


class Pin(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A pinned run set. Its age is that of its oldest run, not of the pin."""

    schema: Literal["outweigh.pin/1"] = "outweigh.pin/1"
    name: Annotated[str, Meta(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$")]
    pinned_at: Moment
    suite: str
    arm: str
    fingerprint: str
    settings: str | None
    tasks: dict[str, str]
    runs: int
    oldest: Moment
    newest: Moment
    agents: tuple[str, ...]
    evidence_sha256: str


def write_pin(folder: Path, pin: Pin, runs: Sequence[RunRecord], artifacts: ArtifactFolder) -> Path:
    """Keep the runs with everything they name; a pin of that name is not overwritten."""
    target = folder / pin.name
    if (target / PIN_FILE).exists():
        raise UsageError(f"{target} is a pin already; name another with --name, or remove that one.")
    with FolderRunStore.open(target, writer=PIN_WRITER) as store:
        kept = {(record.run_id, record.attempt) for attempts in store.finished().values() for record in attempts}
        for run in runs:
            for digest in run.artifacts.values():
                store.keep(artifacts.read(digest))
            if (run.run_id, run.attempt) not in kept:  # an earlier try at this pin was cut short
                store.append(run)
    _write(target / PIN_FILE, pin)
    return target


class PinChecks:
    """The checks of a pin so far, and where the next one goes. Nobody else adds one meanwhile."""

    def __init__(self, folder: Path, journal: Journal) -> None:
        self._journal = journal
        self.earlier = _decode_checks(folder, journal.lines)

    def append(self, check: PinCheck) -> None:
        """Return when the check is durable."""
        self._journal.append(msgspec.json.encode(check))


@contextmanager
def open_checks(folder: Path) -> Iterator[PinChecks]:
    """Open the checks of a pin to add one."""
    with open_journal(folder / CHECKS_FILE) as journal:
        yield PinChecks(folder, journal)


def read_pin(folder: Path) -> Pin:
    """What was pinned here."""
    try:
        return msgspec.json.decode((folder / PIN_FILE).read_bytes(), type=Pin)
    except FileNotFoundError:
        raise UsageError(f"{folder} is not a pin; `outweigh baseline pin` makes one.") from None
    except (OSError, msgspec.MsgspecError) as fault:
        raise EvidenceError(f"{folder / PIN_FILE} cannot be read: {fault}. Remove the pin and pin again.") from fault


def read_checks(folder: Path) -> tuple[PinCheck, ...]:
    """Every check that was made of a pin; the result of an earlier release's check stands first."""
    lines, _ = read_journal(folder / CHECKS_FILE)
    return _decode_checks(folder, lines)


def read_check(folder: Path) -> PinCheck | None:
    """What the last check found; None where there was none, or it cannot be read any more."""
    checks = read_checks(folder)
    return checks[-1] if checks else None


def _decode_checks(folder: Path, lines: Sequence[bytes]) -> tuple[PinCheck, ...]:
    try:
        checks = [msgspec.json.decode(line, type=PinCheck) for line in lines]
    except msgspec.MsgspecError as fault:
        raise EvidenceError(
            f"{folder / CHECKS_FILE} cannot be read: {fault}. A newer release may have written it; else pin again."
        ) from fault
    try:
        first = msgspec.json.decode((folder / EARLIER_CHECK_FILE).read_bytes(), type=PinCheck)
    except (OSError, msgspec.MsgspecError):
        return tuple(checks)
    return (first, *checks)


def find_pins(folder: Path) -> list[Path]:
    """The folder itself where it is a pin, else the pins in it."""
    if (folder / PIN_FILE).is_file():
        return [folder]
    return sorted(path.parent for path in folder.glob(f"*/{PIN_FILE}"))


def read_settings_fingerprint(folder: Path) -> str | None:
    """The settings that the runs of a pin, or of any store, were made under; None where nobody knows."""
    if (folder / PIN_FILE).is_file():
        return read_pin(folder).settings
    experiment = read_experiment(folder)
    return None if experiment is None else experiment.settings


def _write(path: Path, value: Pin) -> None:
    write_atomic(path, [msgspec.json.format(msgspec.json.encode(value), indent=2), b"\n"])
