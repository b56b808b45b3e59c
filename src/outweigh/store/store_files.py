"""Which files of a store a reader may follow while an engine writes to it.

Readers that follow a store, such as the viewer, ask here, so that only this package knows the names of its files.
"""

import os
import re
from fnmatch import fnmatch
from pathlib import Path

from outweigh.model.corrections import CORRECTIONS_FILE
from outweigh.store.artifact_folder import ARTIFACTS_FOLDER
from outweigh.store.experiment_file import EXPERIMENT_FILE
from outweigh.store.judging_file import CALIBRATION_PATTERN, JUDGING_FILE
from outweigh.store.label_file import LABEL_FILE
from outweigh.store.ledger import LEDGER_FILE
from outweigh.store.pins import CHECKS_FILE, EARLIER_CHECK_FILE, PIN_FILE
from outweigh.store.preflight_file import PREFLIGHT_FILE
from outweigh.store.records import MANIFEST_FILE, RECORDS_SUFFIX
from outweigh.store.run_store import ATTEMPT_LOGS
from outweigh.store.scan_file import SCAN_FILE
from outweigh.store.shard_files import SHARD_PATTERN
from outweigh.store.store_lock import LOCK_FILE
from outweigh.store.tried_arms_file import TRIED_ARMS_FILE

_KEPT_FILES = (
    f"*{RECORDS_SUFFIX}",
    ATTEMPT_LOGS,
    CALIBRATION_PATTERN,
    CORRECTIONS_FILE,
    EXPERIMENT_FILE,
    JUDGING_FILE,
    LABEL_FILE,
    LEDGER_FILE,
    MANIFEST_FILE,
    PREFLIGHT_FILE,
    SCAN_FILE,
    TRIED_ARMS_FILE,
    SHARD_PATTERN,
    PIN_FILE,
    CHECKS_FILE,
    EARLIER_CHECK_FILE,
)
_LOG_SUFFIX = ".log"
_ARTIFACT = "[0-9a-f][0-9a-f]/*"
_RULE_FILES = (CALIBRATION_PATTERN, EXPERIMENT_FILE, JUDGING_FILE, LEDGER_FILE, SCAN_FILE, SHARD_PATTERN)
_ARTIFACT_NAME = re.compile(rf"{ARTIFACTS_FOLDER}/([0-9a-f]{{2}})/(\1[0-9a-f]{{62}})")


def record_files(path: Path) -> list[Path]:
    """The files with the records of a store, or the single file that a path names."""
    return sorted(path.glob(f"*{RECORDS_SUFFIX}")) if path.is_dir() else [path]


def files_to_keep(folder: Path, *, artifacts: bool) -> list[Path]:
    """Everything that makes a store what it is, in order; no lock, no damaged lines, and no report beside it."""
    found = {file for pattern in _KEPT_FILES for file in folder.glob(pattern) if not file.name.startswith(".")}
    if artifacts:
        found |= {*(folder / ARTIFACTS_FOLDER).glob(_ARTIFACT)}
    return sorted(file for file in found if file.is_file())


def rule_files(path: Path) -> list[Path]:
    """The files by which the records of a store are judged and compared; beside a single file, the ledger alone."""
    if not path.is_dir():
        ledger = path.parent / LEDGER_FILE
        return [ledger] if ledger.is_file() else []
    return sorted(file for pattern in _RULE_FILES for file in path.glob(pattern) if file.is_file())


def is_kept_file(name: str) -> bool:
    """Whether a file of a store is one of those that make it what it is, artifacts apart."""
    return not name.startswith(".") and any(fnmatch(name, pattern) for pattern in _KEPT_FILES)


def artifact_digest(name: str) -> str | None:
    """The SHA-256 that an artifact is named after, by its name in the store; None for other files."""
    found = _ARTIFACT_NAME.fullmatch(name)
    return None if found is None else found[2]


def only_grows(name: str) -> bool:
    """Whether a file of a store is only ever added to."""
    return name.endswith((RECORDS_SUFFIX, _LOG_SUFFIX))


def attempt_logs(path: Path) -> list[Path]:
    """The logs of attempts that were begun; none for a single file."""
    return sorted(path.glob(ATTEMPT_LOGS)) if path.is_dir() else []


def size_on_disk(path: Path) -> int:
    """Bytes of all files of a store, or of the single file that a path names."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file() and not file.is_symlink())


def was_locked(folder: Path) -> bool:
    """Whether an engine has ever locked a folder; without that, nobody appends to its files."""
    return (folder / LOCK_FILE).exists()


FileState = tuple[str, int, int]
"""The name of a file, when it was changed last, and its size."""


def rule_file_states(path: Path) -> tuple[FileState, ...]:
    """The states of the files beside the records, such as rules, calibrations and the ledger; empty for a single file.

    While they and the records stay as they are, so does the verdict.
    """
    if not path.is_dir():
        return ()
    try:
        with os.scandir(path) as entries:
            found = [entry for entry in entries if _holds_rules(entry.name) and entry.is_file()]
            states = [(entry.name, entry.stat().st_mtime_ns, entry.stat().st_size) for entry in found]
    except OSError:
        return ()
    return tuple(sorted(states))


def _holds_rules(name: str) -> bool:
    is_record = name.endswith(RECORDS_SUFFIX) or fnmatch(name, ATTEMPT_LOGS)
    return not is_record and not name.startswith(".") and name not in (LOCK_FILE, LABEL_FILE)
