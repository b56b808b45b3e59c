"""Evaluations of MLflow become runs: rows of tables, or scored traces, wherever they are stored."""

import json
import shutil
import sqlite3
from pathlib import Path
from typing import Any

import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.mlflow.database import read_database_runs
from outweigh.interop.mlflow.importer import MlflowImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import ImporterContract, read_all

SAMPLES = Path(__file__).parent / "samples" / "mlflow"
BY_OK = {"columns": {"success": "ok"}}
WITHOUT_WRITES = frozenset({"input_tokens"})
"""Models without cache writes report only cache reads; all other input is fresh."""


def runs_of(path: Path, **options: object) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(MlflowImporter(), path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


def by_arm(runs: list[RunRecord]) -> dict[tuple[str, str], RunRecord]:
    return {(run.trial.arm, run.trial.task_id): run for run in runs}


def success(run: RunRecord) -> bool | None:
    assert run.checks is not None
    (required,) = (check for check in run.checks if check.required)
    return required.passed


def database(folder: Path, *more: str) -> Path:
    path = folder / "mlflow.db"
    with sqlite3.connect(path) as made:
        made.executescript(f"BEGIN; {(SAMPLES / 'database.sql').read_text()} {';'.join((*more, 'COMMIT'))};")
    made.close()
    return path


def table(path: Path, *rows: dict[str, Any]) -> Path:
    """A table as MLflow logs it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps({"columns": list(rows[0]), "data": [list(row.values()) for row in rows]}))
    return path


def row(asked: str = "Say hello", *, ok: Any = True) -> dict[str, Any]:
    return {"inputs": asked, "outputs": "hello", "ok/score": ok}


class TestTables(ImporterContract):
    def importer(self) -> MlflowImporter:
        return MlflowImporter()

    def example(self, folder: Path) -> Path:
        return shutil.copytree(SAMPLES / "tables", folder / "tables", dirs_exist_ok=True)


class TestTraces(ImporterContract):
    alternatives = WITHOUT_WRITES

    def importer(self) -> MlflowImporter:
        return MlflowImporter()

    def example(self, folder: Path) -> Path:
        return shutil.copytree(SAMPLES / "traces", folder / "traces", dirs_exist_ok=True)

    def options(self) -> dict[str, object]:
        return dict(BY_OK)


class TestDatabase(ImporterContract):
    alternatives = WITHOUT_WRITES

    def importer(self) -> MlflowImporter:
        return MlflowImporter()

    def example(self, folder: Path) -> Path:
        return database(folder)

    def options(self) -> dict[str, object]:
        return dict(BY_OK)


class TestResultTable(ImporterContract):
    alternatives = WITHOUT_WRITES

    def importer(self) -> MlflowImporter:
        return MlflowImporter()

    def example(self, folder: Path) -> Path:
        return Path(shutil.copy(SAMPLES / "result_df.json", folder / "result_df.json"))

    def options(self) -> dict[str, object]:
        return dict(BY_OK)


def test_a_table_of_the_second_version_has_a_run_for_each_row_and_an_arm_for_each_run_of_mlflow() -> None:
    runs, notes = runs_of(SAMPLES / "tables")

    found = by_arm(runs)
    assert [success(found["plain", task]) for task in ("Say hello", "Say bye", "2+2")] == [True, False, True]
    assert [success(found["with-notes", task]) for task in ("Say hello", "Say bye", "2+2")] == [True, True, True]
    assert notes.facts == {"plain: ok/mean": 0.6666666666666666, "with-notes: ok/mean": 1.0}
    run = found["plain", "Say hello"]
    assert (run.duration_seconds, run.agent.model) == (0.0104560852, "small-1")
    assert run.extra["scores"] == {"ok": True, "length": 5.0}
    assert not notes.warnings


def test_tokens_of_an_answer_are_not_those_of_a_run_unless_somebody_says_so() -> None:
    """`token_count` counts the words of the answer with one tokenizer for all models."""
    path = SAMPLES / "tables"

    (kept, *_), _ = runs_of(path)
    (stated, *_), _ = runs_of(path, columns={"output_tokens": "token_count"})

    assert (kept.usage.output_tokens, kept.extra["token_count"]) == (None, 1)
    assert stated.usage.output_tokens == 1


def test_scored_traces_are_the_same_from_a_folder_and_from_a_database(tmp_path: Path) -> None:
    from_folder = by_arm(runs_of(SAMPLES / "traces", **BY_OK)[0])
    from_database = by_arm(runs_of(database(tmp_path), **BY_OK)[0])

    def stated(run: RunRecord) -> tuple[object, ...]:
        return (run.status, run.usage, run.checks, run.task_checksum, run.arm_fingerprint, run.extra["params"])

    for task in ("Say hello", "Say bye", "2+2"):
        assert stated(from_folder["plain", task]) == stated(from_database["plain", task])
    assert sorted(from_database) == [
        *(("plain", task) for task in ("2+2", "Say bye", "Say hello")),
        *(("with-notes", task) for task in ("2+2", "Say bye", "Say hello")),
    ]


def test_tokens_of_a_trace_never_include_the_cache_and_stay_unknown_where_it_is(tmp_path: Path) -> None:
    """120 of input, of which 100 were read from the cache and 5 written to it."""
    uncached = "UPDATE trace_info SET cache_read_input_tokens = NULL, cache_creation_input_tokens = NULL"
    (tmp_path / "uncached").mkdir()

    known = by_arm(runs_of(database(tmp_path), **BY_OK)[0])["plain", "Say hello"].usage
    unknown = by_arm(runs_of(database(tmp_path / "uncached", uncached), **BY_OK)[0])["plain", "Say hello"]

    assert (known.input_tokens, known.output_tokens) == (15, 7)
    assert (known.cache_read_tokens, known.cache_write_tokens) == (100, 5)
    assert (unknown.usage.input_tokens, unknown.usage.output_tokens) == (None, 7)
    assert unknown.extra["token_usage"]["input_tokens"] == 120


def test_a_model_that_writes_no_cache_has_what_was_not_read_as_input(tmp_path: Path) -> None:
    path = database(tmp_path, "UPDATE trace_info SET cache_creation_input_tokens = NULL")

    usage = by_arm(runs_of(path, **BY_OK)[0])["plain", "Say hello"].usage

    assert (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (20, 100, None)


def test_what_broke_was_not_answered_wrongly_though_mlflow_counts_it_so(tmp_path: Path) -> None:
    run = by_arm(runs_of(database(tmp_path), **BY_OK)[0])["plain", "Say bye"]

    assert (run.status, run.checks) == (Status.INFRA_ERROR, None)
    assert "529" in (run.status_detail or "")
    assert run.extra["scores"]["ok"] is False


def test_a_scorer_that_failed_leaves_a_case_undecided_and_says_why() -> None:
    runs, _ = runs_of(SAMPLES / "result_df.json", columns={"success": "polite"})
    (asked,) = (run for run in runs if run.trial.task_id == "Say hello")

    assert success(asked) is True
    assert {run.trial.arm for run in runs} == {"result_df"}


def test_which_of_several_passes_is_the_success_is_for_the_user_to_say() -> None:
    with pytest.raises(EvidenceError, match=r"several scores that say pass or fail: .*--map success="):
        runs_of(SAMPLES / "traces")

    assert {check.name for check in (runs_of(SAMPLES / "traces", **BY_OK)[0][-1].checks or ())} == {"ok", "polite"}


def test_a_number_is_no_pass_until_it_is_called_one_and_is_0_or_1(tmp_path: Path) -> None:
    path = table(tmp_path / "t.json", {"inputs": "a", "match/score": 1}, {"inputs": "b", "match/score": 0.0})

    unsaid, notes = runs_of(path)
    said, _ = runs_of(path, columns={"success": "match"})

    assert [run.checks for run in unsaid] == [None, None]
    assert any("--map success=match" in warning for warning in notes.warnings)
    assert [success(run) for run in said] == [True, False]
    with pytest.raises(EvidenceError, match="neither a pass nor a failure"):
        runs_of(SAMPLES / "tables", columns={"success": "length"})


def test_a_score_that_is_not_there_is_named_with_those_that_are() -> None:
    with pytest.raises(EvidenceError, match="has no score 'okay'; it has ok, length"):
        runs_of(SAMPLES / "tables", columns={"success": "okay"})


def test_a_table_alone_is_an_arm_by_its_file_and_equal_inputs_are_repeats(tmp_path: Path) -> None:
    path = table(tmp_path / "nightly.json", row(), row(), row("Say bye", ok="no"))

    runs, _ = runs_of(path)
    named, _ = runs_of(path, arm="plain")

    assert [(run.trial.arm, run.trial.task_id, run.trial.repeat) for run in runs] == [
        ("nightly", "Say hello", 1),
        ("nightly", "Say hello", 2),
        ("nightly", "Say bye", 1),
    ]
    assert success(runs[-1]) is False
    assert {run.trial.arm for run in named} == {"plain"}


def test_an_older_export_says_what_broke_and_asks_the_same_as_its_traces(tmp_path: Path) -> None:
    """As `result_df` of MLflow 3.5 has it."""
    rows = [
        {
            "request_id": "f94c5b1e",
            "inputs": {"question": "Say bye"},
            "outputs": None,
            "expectations": {"expected_response": "bye"},
            "tags": {},
            "ok/value": False,
            "ok/error_message": None,
            "error_message": "Failed to invoke the predict_fn with {'question': 'Say bye'}: HTTP 529: overloaded",
        }
    ]
    path = tmp_path / "plain.json"
    path.write_text(json.dumps(rows))

    assert MlflowImporter().recognises(path)
    (run,), _ = runs_of(path)
    assert (run.status, run.checks, run.trial.task_id) == (Status.INFRA_ERROR, None, "Say bye")
    traced = by_arm(runs_of(SAMPLES / "traces", **BY_OK)[0])["plain", "Say bye"]
    assert run.task_checksum == traced.task_checksum


def test_an_export_beside_the_runs_themselves_is_left_out_and_named(tmp_path: Path) -> None:
    folder = shutil.copytree(SAMPLES / "tables", tmp_path / "tables")
    table(folder / "exported.json", row())

    runs, notes = runs_of(folder)

    assert len(runs) == 6
    (warning,) = notes.warnings
    assert warning.startswith("exported is not in the folder of a run and is left out")


def test_a_table_without_inputs_needs_a_column_for_its_tasks(tmp_path: Path) -> None:
    path = table(tmp_path / "t.json", {"case": 7, "outputs": "x", "ok/score": True})

    with pytest.raises(EvidenceError, match=r"--map task_id=COLUMN\. It has case, outputs, ok/score"):
        runs_of(path)
    (run,), _ = runs_of(path, columns={"task_id": "case"})
    assert run.trial.task_id == "7"


def test_a_copy_counts_once_and_so_does_a_table_of_the_same_traces(tmp_path: Path) -> None:
    shutil.copytree(SAMPLES / "tables", tmp_path / "tables")
    shutil.copytree(SAMPLES / "tables", tmp_path / "tables" / "backup")
    (tmp_path / "traces").mkdir()
    database(tmp_path / "traces")
    shutil.copy(SAMPLES / "result_df.json", tmp_path / "traces" / "plain.json")

    copied, notes = runs_of(tmp_path / "tables")
    exported, more = runs_of(tmp_path / "traces", **BY_OK)

    assert (len(copied), len(exported)) == (6, 6)
    assert any(warning.startswith("6 results are there twice") for warning in notes.warnings)
    assert any(warning.startswith("3 results are there twice") for warning in more.warnings)


def test_two_results_of_one_row_and_run_are_both_handed_on_to_be_refused(tmp_path: Path) -> None:
    for folder, passed in (("one", True), ("other", False)):
        table(tmp_path / folder / ("0a" * 16) / "artifacts" / "eval_results_table.json", row(ok=passed))

    runs, _ = runs_of(tmp_path)

    assert len(runs) == 2
    assert len({run.run_id for run in runs}) == 1


def test_runs_of_one_name_and_different_parameters_are_told_apart(tmp_path: Path) -> None:
    path = database(tmp_path, "UPDATE runs SET name = 'nightly'")

    runs, notes = runs_of(path, **BY_OK)

    arms = {run.trial.arm for run in runs}
    assert len(arms) == 2
    assert all(arm.startswith("nightly@") for arm in arms)
    assert any("different parameters" in warning for warning in notes.warnings)


def test_deleted_runs_are_left_out_and_unfinished_ones_are_called_so(tmp_path: Path) -> None:
    path = database(
        tmp_path,
        "UPDATE runs SET lifecycle_stage = 'deleted' WHERE name = 'plain'",
        "UPDATE runs SET status = 'RUNNING' WHERE name = 'with-notes'",
    )

    runs, notes = runs_of(path, **BY_OK)

    assert {run.trial.arm for run in runs} == {"with-notes"}
    assert any(warning.startswith("3 results are of runs that were deleted") for warning in notes.warnings)
    assert "with-notes is running, not finished; its 3 results are read." in notes.warnings


def test_traces_that_nobody_scored_are_no_evaluation(tmp_path: Path) -> None:
    unscored = database(tmp_path, "DELETE FROM assessments WHERE trace_id LIKE 'tr-79dc%'")

    runs, notes = runs_of(unscored, **BY_OK)

    assert len(runs) == 5
    assert "1 traces were scored by no evaluation; they are left out." in notes.warnings


def test_inputs_that_look_alike_in_short_are_different_tasks(tmp_path: Path) -> None:
    path = table(tmp_path / "t.json", row("x" * 200 + "a"), row("x" * 200 + "b"))

    runs, _ = runs_of(path)

    assert len({run.trial.task_id for run in runs}) == 2


def test_a_row_with_too_few_cells_is_kept_with_its_place(tmp_path: Path) -> None:
    path = tmp_path / "t.json"
    path.write_text('{"columns": ["inputs", "ok/score"], "data": [["a", true], ["b"]]}')

    runs, notes = runs_of(path)

    assert len(runs) == 1
    assert notes.unreadable[0].reason == "row 2 has not as many cells as there are columns"


@pytest.mark.parametrize("content", ["a: &a [1]\nb: *a\n", "a: [", "[" * 500, "run_id: !!python/object:os.system x\n"])
def test_a_run_or_a_trace_that_is_none_is_kept_with_its_place_and_the_others_are_read(
    tmp_path: Path, content: str
) -> None:
    tables = shutil.copytree(SAMPLES / "tables", tmp_path / "tables")
    traces = shutil.copytree(SAMPLES / "traces", tmp_path / "traces")
    next(tables.rglob("*/artifacts")).with_name("meta.yaml").write_text(content)
    next(traces.rglob("trace_info.yaml")).write_text(content)

    of_tables, table_notes = runs_of(tables)
    of_traces, trace_notes = runs_of(traces, **BY_OK)

    assert (len(of_tables), len(of_traces)) == (3, 2)
    for notes, name in ((table_notes, "meta.yaml"), (trace_notes, "trace_info.yaml")):
        assert any(Path(each.source).name == name and "not valid YAML" in each.reason for each in notes.unreadable)


def test_exported_tables_are_arms_by_their_files_even_where_they_say_the_same(tmp_path: Path) -> None:
    """A folder that is called `artifacts` makes no run of what is in it."""
    for called in ("plain", "with-notes"):
        table(tmp_path / "artifacts" / f"{called}.json", row())

    runs, notes = runs_of(tmp_path / "artifacts")

    assert [run.trial.arm for run in runs] == ["plain", "with-notes"]
    assert not notes.warnings


@pytest.mark.parametrize(
    "trap",
    [
        "ALTER TABLE runs ADD COLUMN x TEXT GENERATED ALWAYS AS (hex(zeroblob(300000000))) VIRTUAL",
        "DROP TABLE params; CREATE VIRTUAL TABLE params USING fts4(key, value, run_uuid)",
        "DROP TABLE params; CREATE VIEW params AS SELECT 1 AS key, 2 AS value, run_uuid FROM runs",
    ],
)
def test_a_database_that_makes_up_what_it_holds_is_not_read(tmp_path: Path, trap: str) -> None:
    path = database(tmp_path, trap)

    assert not MlflowImporter().recognises(path)
    with pytest.raises(EvidenceError, match="is computed as it is read"):
        list(read_database_runs(path))


def test_columns_that_mlflow_computes_and_stores_are_no_trap(tmp_path: Path) -> None:
    stored = "CREATE TABLE spans (trace_id, parent_span_id, content, ns INTEGER GENERATED ALWAYS AS (1 + 1) STORED)"

    assert MlflowImporter().recognises(database(tmp_path, f"DROP TABLE spans; {stored}"))


def test_a_text_without_end_is_a_sentence(tmp_path: Path) -> None:
    path = database(tmp_path, "UPDATE runs SET name = zeroblob(70000000)")

    with pytest.raises(EvidenceError, match="cannot be read as a database of MLflow"):
        list(read_database_runs(path))


def test_tables_and_databases_of_others_are_not_taken_for_evaluations(tmp_path: Path) -> None:
    logged = table(tmp_path / "prices.json", {"item": "a", "price": 1})
    with sqlite3.connect(tmp_path / "other.db") as other:
        other.execute("CREATE TABLE runs (id)")
    other.close()

    assert not MlflowImporter().recognises(logged)
    assert not MlflowImporter().recognises(tmp_path / "other.db")
    assert not MlflowImporter().recognises(tmp_path)
    with pytest.raises(EvidenceError, match="no evaluation of MLflow"):
        runs_of(tmp_path)


def test_a_field_that_no_column_can_be_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="--map repeat is not used by mlflow"):
        runs_of(table(tmp_path / "t.json", row()), columns={"repeat": "inputs"})
