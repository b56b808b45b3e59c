"""Importer of Inspect's logs: `.eval` and `.json` files, or a folder of them."""

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from outweigh.errors import EvidenceError
from outweigh.interop.imported_run import field_origins
from outweigh.interop.result_files import read_head, walk_files
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest

_SAMPLED_BYTES = 4096
_ARCHIVE_START = re.compile(rb"PK\x03\x04.{26}(_journal/start\.json|header\.json)", re.DOTALL)
_JSON_START = re.compile(rb'^\s*\{\s*"version"\s*:\s*\d+\s*,\s*"status"\s*:\s*"(started|success|cancelled|error)"')


class InspectImporter:
    """Reads a sample as a task, an epoch as a repeat, a scorer as a check; an arm is a model with its solver.

    The readers are imported on first use, because all importers are loaded to detect a format.
    """

    name = "inspect"
    takes = frozenset({"columns", "transcripts"})
    fields: Mapping[str, FieldOrigin] = field_origins(
        reported="status_detail duration_seconds started_at usage cost step_count checks",
        derived="arm_fingerprint task_checksum family artifacts extra",
    )

    def recognises(self, path: Path) -> bool:
        """Whether a file is a log, or a folder holds one."""
        try:
            return any(_logs_below(path)) if path.is_dir() else _is_log(path)
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord]:
        """Read the runs log by log."""
        from outweigh.interop.inspect_ai.log_runs import read_logs, read_single_log  # noqa: PLC0415

        if request.path.is_dir():
            return read_logs(_logs_below(request.path), request, notes)
        return read_single_log(request, notes)


def _logs_below(folder: Path) -> Iterator[Path]:
    return filter(_is_log, walk_files(folder, lambda name: name.endswith((".eval", ".json"))))


def _is_log(path: Path) -> bool:
    """Whether the first bytes are those of a log; no other program begins its files so."""
    start = read_head(path, _SAMPLED_BYTES)
    if path.suffix == ".eval":
        return _ARCHIVE_START.match(start) is not None
    return path.suffix == ".json" and _JSON_START.match(start) is not None
