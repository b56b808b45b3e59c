"""The other files of promptfoo give the same runs as its JSON: lines, YAML, a table, and its database."""

import csv
import sqlite3
from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.test_promptfoo import a_result

from outweigh.errors import EvidenceError
from outweigh.interop.promptfoo import PromptfooImporter
from outweigh.model.run_record import RunRecord
from outweigh.testing.importer_contract import ImporterContract, read_all

RESULTS: list[dict[str, Any]] = [
    a_result(),
    a_result(promptIdx=1, provider={"id": "openai:gpt-5", "label": "big"}, success=False, failureReason=1),
    a_result(testIdx=1, testCase={"description": "counts", "vars": {"who": "me"}, "assert": [{"type": "is-json"}]}),
]


def as_lines(folder: Path) -> Path:
    path = folder / "output.jsonl"
    path.write_bytes(b"".join(msgspec.json.encode(result) + b"\n" for result in RESULTS))
    return path


def as_yaml(folder: Path) -> Path:
    path = folder / "output.yaml"
    document = {"evalId": "eval-1", "results": {"version": 3, "results": RESULTS}}
    path.write_bytes(msgspec.yaml.encode(document))
    return path


def as_database(folder: Path) -> Path:
    path = folder / "promptfoo.db"
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE evals (id TEXT PRIMARY KEY, created_at INTEGER, results TEXT)")
        database.execute(
            "CREATE TABLE eval_results (id TEXT PRIMARY KEY, eval_id TEXT, prompt_idx INTEGER, test_idx INTEGER, "
            "test_case TEXT, prompt TEXT, provider TEXT, latency_ms INTEGER, cost REAL, response TEXT, error TEXT, "
            "failure_reason INTEGER, success INTEGER, score REAL, grading_result TEXT, named_scores TEXT)"
        )
        database.execute("INSERT INTO evals VALUES ('eval-1', 1, '{}')")
        for number, result in enumerate(RESULTS):
            packed = {name: msgspec.json.encode(value).decode() for name, value in result.items()}
            values = (
                *(str(number), "eval-1", result["promptIdx"], result["testIdx"], packed["testCase"], packed["prompt"]),
                *(packed["provider"], result["latencyMs"], result["cost"], packed["response"], None),
                *(result["failureReason"], int(result["success"]), result["score"], packed["gradingResult"], "{}"),
            )
            database.execute(f"INSERT INTO eval_results VALUES ({', '.join('?' * len(values))})", values)
    database.close()
    return path


def as_table(folder: Path) -> Path:
    path = folder / "output.csv"
    about = ["Status", "Score", "Named Scores", "Grader Reason", "Comment"]
    with path.open("w", newline="") as stream:
        rows = csv.writer(stream)
        rows.writerow(["Description", "who", "[mini] Greet", *about, "[big] Greet", *about])
        rows.writerow(["greets", "world", "hi", "PASS", "1.00", "", "fine", "", "no", "FAIL", "0.00", "", "bad", ""])
        rows.writerow(["counts", "me", "1", "PASS", "1.00", "", "fine", "", "", "ERROR", "", "", "429 busy", ""])
    return path


def outcomes(path: Path) -> set[tuple[str, str, bool | None]]:
    found, _ = read_all(PromptfooImporter(), path)
    runs = [run for run in found if isinstance(run, RunRecord)]
    return {(run.trial.arm, run.trial.task_id, run.checks[0].passed if run.checks else None) for run in runs}


@pytest.mark.parametrize("write", [as_lines, as_yaml, as_database])
def test_other_files_give_the_runs_of_the_json(tmp_path: Path, write: Any) -> None:
    path = write(tmp_path)

    assert PromptfooImporter().recognises(path)
    assert outcomes(path) == {("mini", "greets", True), ("big", "greets", False), ("mini", "counts", True)}
    found, _ = read_all(PromptfooImporter(), path)
    assert {(run.duration_seconds, run.cost.usd) for run in found if isinstance(run, RunRecord)} == {(1.5, 0.25)}


def test_a_table_with_columns_of_one_name_for_each_provider_is_read(tmp_path: Path) -> None:
    path = as_table(tmp_path)

    assert PromptfooImporter().recognises(path)
    assert outcomes(path) == {
        ("mini", "greets", True),
        ("big", "greets", False),
        ("mini", "counts", True),
        ("big", "counts", None),
    }


def test_a_table_of_earlier_versions_has_the_outcome_in_its_cells(tmp_path: Path) -> None:
    path = tmp_path / "output.csv"
    path.write_text("who,[mini] Greet,[big] Greet\nworld,[PASS] (1.00) hi,[FAIL] (0.00) no\n")

    assert PromptfooImporter().recognises(path)
    assert outcomes(path) == {("mini", "who=world", True), ("big", "who=world", False)}


def test_references_within_references_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "output.yaml"
    path.write_text("a: &a [1]\nb: &b [*a, *a]\nresults: [{promptIdx: 0, testIdx: 0, x: *b}]\n")

    with pytest.raises(EvidenceError, match="references within references"):
        read_all(PromptfooImporter(), path)


class TestTables(ImporterContract):
    def importer(self) -> PromptfooImporter:
        return PromptfooImporter()

    def example(self, folder: Path) -> Path:
        return as_table(folder)


class TestLines(ImporterContract):
    def importer(self) -> PromptfooImporter:
        return PromptfooImporter()

    def example(self, folder: Path) -> Path:
        return as_lines(folder)
