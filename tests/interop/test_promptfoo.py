"""Results of promptfoo become runs: providers and prompts are arms, equal tests are repeats, and cached answers have no
figures.
"""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.promptfoo import PromptfooImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import ImporterContract, read_all


def a_result(**more: Any) -> dict[str, Any]:
    return {
        "promptIdx": 0,
        "testIdx": 0,
        "testCase": {"description": "greets", "vars": {"who": "world"}, "assert": [{"type": "contains"}]},
        "provider": {"id": "openai:gpt-4o-mini", "label": "mini"},
        "prompt": {"raw": "Greet world", "label": "Greet {{who}}"},
        "success": True,
        "score": 1,
        "latencyMs": 1500,
        "cost": 0.25,
        "failureReason": 0,
        "response": {"output": "hi", "tokenUsage": {"prompt": 30, "completion": 5, "total": 35}},
        "gradingResult": {
            "pass": True,
            "reason": "All assertions passed",
            "componentResults": [{"pass": True, "assertion": {"type": "contains"}}],
        },
    } | more


def written(path: Path, *results: dict[str, Any]) -> Path:
    stats = {"successes": 1, "failures": 0, "errors": 0}
    document = {"evalId": "eval-1", "results": {"version": 3, "results": results, "stats": stats}, "config": {}}
    path.write_bytes(msgspec.json.encode(document))
    return path


def runs_of(path: Path, **options: object) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(PromptfooImporter(), path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


def one(tmp_path: Path, **more: Any) -> RunRecord:
    (run,), _ = runs_of(written(tmp_path / "output.json", a_result(**more)))
    return run


class TestPromptfoo(ImporterContract):
    def importer(self) -> PromptfooImporter:
        return PromptfooImporter()

    def example(self, folder: Path) -> Path:
        return written(folder / "output.json", a_result(), a_result(testIdx=1), a_result(promptIdx=1, success=False))


def test_every_figure_of_a_result_is_where_it_belongs(tmp_path: Path) -> None:
    run = one(tmp_path)

    assert (run.trial.task_id, run.trial.arm, run.trial.repeat) == ("greets", "mini", 1)
    assert (run.duration_seconds, run.cost.usd, run.usage.input_tokens, run.usage.output_tokens) == (1.5, 0.25, 30, 5)
    assert run.checks is not None
    assert [(check.name, check.passed, check.required) for check in run.checks] == [
        ("success", True, True),
        ("1 contains", True, False),
    ]


def test_a_provider_that_failed_is_no_failed_attempt(tmp_path: Path) -> None:
    failed = one(tmp_path, success=False, failureReason=2, error="429 Too Many Requests", gradingResult=None)
    slow = one(tmp_path, success=False, failureReason=2, error="Request timed out after 300000ms", gradingResult=None)

    assert (failed.status, failed.status_detail, failed.checks) == (Status.INFRA_ERROR, "429 Too Many Requests", None)
    assert slow.status is Status.TIMEOUT


def test_a_failed_assertion_is_a_failed_attempt_even_where_it_is_called_an_error(tmp_path: Path) -> None:
    run = one(tmp_path, success=False, failureReason=None, error="Expected hi", gradingResult={"pass": False})

    assert run.status is Status.COMPLETED
    assert run.checks is not None
    assert run.checks[0].passed is False


def test_success_without_an_assertion_is_not_shown(tmp_path: Path) -> None:
    (run,), notes = runs_of(written(tmp_path / "o.json", a_result(gradingResult={"reason": "No assertions"})))

    assert run.checks == ()
    assert any("no assertion" in warning for warning in notes.warnings)


def test_an_answer_from_the_cache_took_no_time_that_anybody_knows(tmp_path: Path) -> None:
    response = {"output": "hi", "cached": True, "tokenUsage": {"cached": 19, "total": 19}}
    (run,), notes = runs_of(written(tmp_path / "o.json", a_result(latencyMs=2, response=response)))

    assert (run.duration_seconds, run.usage.input_tokens, run.usage.cache_read_tokens) == (None, None, None)
    assert any("--no-cache" in warning for warning in notes.warnings)


def test_figures_of_nothing_are_unknown(tmp_path: Path) -> None:
    run = one(tmp_path, cost=0, response={"tokenUsage": {"prompt": 0, "completion": 0, "total": 0}})

    assert (run.cost.usd, run.usage.input_tokens, run.usage.output_tokens) == (None, None, None)


def test_equal_tests_are_repeats_and_different_ones_of_one_name_are_not(tmp_path: Path) -> None:
    other = {"description": "greets", "vars": {"who": "moon"}}
    runs, _ = runs_of(
        written(tmp_path / "o.json", a_result(testIdx=1), a_result(testIdx=0), a_result(testIdx=2, testCase=other))
    )

    same, again, different = sorted(runs, key=lambda run: run.extra["test_index"])
    assert same.trial.task_id == again.trial.task_id != different.trial.task_id
    assert (same.trial.repeat, again.trial.repeat, different.trial.repeat) == (1, 2, 1)
    assert (same.extra["repeat_label"], "repeat_label" in different.extra) == ("arbitrary", False)


def test_prompts_are_arms_where_there_are_several(tmp_path: Path) -> None:
    path = written(tmp_path / "o.json", a_result(), a_result(promptIdx=1, prompt={"label": "formal"}))

    runs, notes = runs_of(path)

    assert sorted(run.trial.arm for run in runs) == ["mini, formal", "mini, prompt 1"]
    assert "prompt 1 is 'Greet {{who}}'." in notes.warnings


def test_a_document_without_results_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "o.json"
    path.write_text('{"evalId": "x", "results": {"version": 3}}')

    with pytest.raises(EvidenceError, match="no results of promptfoo"):
        runs_of(path)
