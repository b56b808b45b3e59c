"""Results of ProjectScylla: the folders that its experiments fill, or the tables that its analysis makes of them."""

from collections.abc import Iterator, Mapping
from pathlib import Path

from outweigh.adapters.importers.imported_run import origins
from outweigh.adapters.importers.scylla_folders import folder_records, has_run_folder
from outweigh.adapters.importers.scylla_table import is_scylla_table, table_records
from outweigh.errors import EvidenceError
from outweigh.ports.importers import FieldOrigin, ImportNotes, ImportRequest
from outweigh.record.judgment import Judgment
from outweigh.record.run_record import RunRecord


class Scylla:
    """An experiment is a task; an arm is a model with a tier and its subtest, since subtests are set up differently.

    The project's duration includes its judges; a run's is the agent's alone. Whether a run passed is what its judges
    agreed on, and their judgments come with it.
    """

    name = "scylla"
    reads_also = frozenset({"claude-code", "codex"})
    fields: Mapping[str, FieldOrigin] = origins(
        reported="status status_detail agent duration_seconds usage cost step_count checks",
        derived="family started_at task_checksum warnings extra",
    )

    def recognises(self, path: Path) -> bool:
        """By the columns of its tables, or by a result where its folders have one."""
        try:
            return is_scylla_table(path) or has_run_folder(path)
        except (EvidenceError, OSError):
            return False

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
        """The tables where there are some: an experiment's folder has none, an analysis has nothing else."""
        if not is_scylla_table(request.path) and has_run_folder(request.path):
            return folder_records(request.path, notes)
        return table_records(request.path, notes)
