"""Test runs of DeepEval become runs; hyperparameters are the arms."""

import json
from pathlib import Path
from typing import Any

from tests.interop.imported import SAMPLES, copied_sample, imported_runs, passes

from outweigh.interop.deepeval import DeepEvalImporter
from outweigh.testing.importer_contract import ImporterContract


def a_case(**more: Any) -> dict[str, Any]:
    metric = {"name": "Correctness", "success": True, "score": 0.8, "reason": "good"}
    return {"name": "test_case_0", "input": "Hi", "success": True, "metricsData": [metric]} | more


def written(path: Path, *cases: dict[str, Any], **more: Any) -> Path:
    path.write_text(json.dumps({"testCases": list(cases), "conversationalTestCases": []} | more))
    return path


class TestTestRuns(ImporterContract):
    def importer(self) -> DeepEvalImporter:
        return DeepEvalImporter()

    def example(self, folder: Path) -> Path:
        return copied_sample("deepeval", folder)


def test_real_files_agree_with_their_own_counts() -> None:
    runs, notes = imported_runs(DeepEvalImporter(), SAMPLES / "deepeval")

    assert passes(runs) == {"large prompt=plain": [True] * 4, "small prompt=plain": [True, False, True, False]}
    assert notes.arm_facts == {
        "large prompt=plain": {"passes": 4, "failures": 0},
        "small prompt=plain": {"passes": 2, "failures": 2},
    }
    assert {(run.cost.usd, run.duration_seconds) for run in runs} == {(0.001, 0.25)}
    assert {run.trial.task_id for run in runs} == {"sum-1-2", "sum-3-4", "sum-5-6", "sum-20-22"}


def test_a_case_that_deepeval_numbered_is_called_by_its_input(tmp_path: Path) -> None:
    (run,), notes = imported_runs(DeepEvalImporter(), written(tmp_path / "today.json", a_case()))

    assert (run.trial.task_id, run.trial.arm) == ("Hi", "today")
    assert "has no hyperparameters" in next(iter(notes.warnings))


def test_a_metric_that_broke_leaves_the_outcome_unknown(tmp_path: Path) -> None:
    broken = a_case(success=False, metricsData=[{"name": "Correctness", "success": False, "error": "no answer"}])

    runs, _ = imported_runs(DeepEvalImporter(), written(tmp_path / "today.json", broken))

    assert passes(runs) == {"today": [None]}


def test_the_time_of_the_metrics_is_not_the_answers(tmp_path: Path) -> None:
    (run,), _ = imported_runs(DeepEvalImporter(), written(tmp_path / "today.json", a_case(runDuration=9.0)))

    assert run.duration_seconds is None
