"""What a source states about its arms: kept in the manifest, and readable in stores that have none."""

from collections.abc import Iterator
from pathlib import Path

from outweigh.app.import_results import ImportOptions, import_source
from outweigh.interop.imported_run import field_origins, imported_run
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes, ImportRequest
from outweigh.store.records import MANIFEST_FILE, read_imports

NO_OPTIONS = ImportOptions(arm=None, tasks=None, columns={}, skip_invalid=False)


class OneRun:
    """An importer of one run, which states these accuracies of its arm."""

    name = "one-run"
    fields = field_origins(reported="")

    def __init__(self, *accuracies: float) -> None:
        self.accuracies = accuracies

    def recognises(self, path: Path) -> bool:
        return path.is_file()

    def read(self, request: ImportRequest, notes: ImportNotes) -> Iterator[RunRecord | Judgment]:
        for accuracy in self.accuracies:
            notes.state("plain", "accuracy", accuracy)
        yield imported_run(run_id="run", task_id="task", arm="plain", repeat=1)


def stated_facts(tmp_path: Path, *accuracies: float) -> object:
    (tmp_path / "results").write_text("results")
    import_source(OneRun(*accuracies), tmp_path / "results", tmp_path / "runs", NO_OPTIONS)
    return read_imports(tmp_path / "runs")[0].arm_facts


def test_a_figure_that_a_source_states_about_an_arm_is_in_the_manifest(tmp_path: Path) -> None:
    assert stated_facts(tmp_path, 0.36) == {"plain": {"accuracy": 0.36}}


def test_every_figure_is_kept_where_a_source_states_several(tmp_path: Path) -> None:
    assert stated_facts(tmp_path, 0.36, 0.4, 0.38) == {"plain": {"accuracy": [0.36, 0.4, 0.38]}}


def test_a_manifest_without_figures_of_arms_is_what_earlier_releases_wrote(tmp_path: Path) -> None:
    assert stated_facts(tmp_path) == {}
    assert "arm_facts" not in (tmp_path / "runs" / MANIFEST_FILE).read_text()
