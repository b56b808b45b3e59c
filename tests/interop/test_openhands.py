"""Outputs of OpenHands' benchmarks become runs, scored by the report beside them or by their own results."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interop.imported import imported_runs, passes

from outweigh.interop.openhands import OpenHandsImporter
from outweigh.interop.swe_bench import SweBenchImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import DIFF_ARTIFACT
from outweigh.testing.importer_contract import ImporterContract


def an_event(kind: str, second: int, **more: Any) -> dict[str, Any]:
    source = "environment" if kind == "ObservationEvent" else "agent"
    return {"kind": kind, "timestamp": f"2026-01-01T10:00:{second:02}.5", "source": source} | more


def an_output(instance: str = "astropy__astropy-1", **more: Any) -> dict[str, Any]:
    """A line of the present form."""
    return {
        "instance_id": instance,
        "attempt": 1,
        "test_result": {"git_patch": "diff --git a/a.py b/a.py\n"},
        "instruction": "Fix it.",
        "metadata": {
            "llm": {"model": "litellm_proxy/claude-sonnet-4-5", "temperature": 0.0},
            "dataset": "princeton-nlp/SWE-bench_Verified",
            "max_iterations": 100,
            "eval_output_dir": "outputs/swe/claude-sonnet-4-5_sdk_1_maxiter_100_N_initial",
        },
        "history": [
            an_event("ActionEvent", 1, llm_response_id="r1", tool_name="terminal"),
            an_event("ObservationEvent", 4),
            an_event("ActionEvent", 6, llm_response_id="r2", tool_name="finish"),
            an_event("ActionEvent", 6, llm_response_id="r2", tool_name="terminal"),
        ],
        "metrics": {
            "accumulated_cost": 0.42,
            "accumulated_token_usage": {
                "prompt_tokens": 1000,
                "completion_tokens": 50,
                "cache_read_tokens": 700,
                "cache_write_tokens": 200,
            },
        },
        "error": None,
        "instance": {"problem_statement": "It breaks."},
    } | more


def an_old_output(instance: str = "django__django-2", **more: Any) -> dict[str, Any]:
    """A line of the form before 2025-10, with the result of the tests in it."""
    called = {"model_response": {"id": "r1"}}
    action = {"id": 1, "timestamp": "2025-01-01T10:00:00", "source": "agent", "action": "run"}
    return {
        "instance_id": instance,
        "test_result": {"git_patch": "diff\n", "report": {"resolved": True}},
        "metadata": {
            "agent_class": "CodeActAgent",
            "llm_config": {"model": "openai/gpt-4o"},
            "eval_output_dir": "evaluation_outputs/gpt-4o_maxiter_30_N_v0.20-no-hint-run_1",
            "max_iterations": 30,
        },
        "history": [[action | {"tool_call_metadata": called}, {"source": "environment", "observation": "run"}]],
        "metrics": {"accumulated_cost": 0.0, "token_usages": [{"prompt_tokens": 9, "completion_tokens": 4}]},
        "error": None,
    } | more


def written(path: Path, *outputs: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{json.dumps(each)}\n" for each in outputs))
    return path


def a_report(folder: Path, *, resolved: list[str], unresolved: list[str]) -> None:
    report = {"total_instances": 500, "resolved_ids": resolved, "unresolved_ids": unresolved, "error_ids": []}
    (folder / "output.report.json").write_text(json.dumps(report))


class TestOutput(ImporterContract):
    def importer(self) -> OpenHandsImporter:
        return OpenHandsImporter()

    def example(self, folder: Path) -> Path:
        return written(folder / "output.jsonl", an_output(), an_output("astropy__astropy-2"))


class TestOldOutput(ImporterContract):
    def importer(self) -> OpenHandsImporter:
        return OpenHandsImporter()

    def example(self, folder: Path) -> Path:
        return written(folder / "output.jsonl", an_old_output(), an_old_output("django__django-3"))


def test_every_figure_of_a_line_is_where_it_belongs(tmp_path: Path) -> None:
    (run,), _ = imported_runs(OpenHandsImporter(), written(tmp_path / "output.jsonl", an_output()))

    assert (run.trial.task_id, run.trial.arm, run.family) == (
        "astropy__astropy-1",
        "claude-sonnet-4-5",
        "astropy/astropy",
    )
    assert (run.usage.input_tokens, run.usage.cache_read_tokens, run.usage.cache_write_tokens) == (100, 700, 200)
    assert (run.usage.output_tokens, run.cost.usd, run.duration_seconds) == (50, 0.42, 5.0)
    assert (run.step_count, run.tool_call_count) == (2, 3)
    assert DIFF_ARTIFACT in run.artifacts


def test_the_report_beside_an_output_decides(tmp_path: Path) -> None:
    path = written(tmp_path / "output.jsonl", an_output("a__b-1"), an_output("a__b-2"), an_output("a__b-3"))
    a_report(tmp_path, resolved=["a__b-1"], unresolved=["a__b-2"])

    runs, notes = imported_runs(OpenHandsImporter(), path)

    assert passes(runs) == {"claude-sonnet-4-5": [True, False, None]}
    assert notes.arm_facts == {"claude-sonnet-4-5": {"resolved": 1}}


@pytest.mark.parametrize(
    ("result", "passed"),
    [
        ({"git_patch": ""}, False),
        ({"git_patch": "diff"}, None),
        ({"score": True}, True),
        ({"report": {"resolved": False}}, False),
        ({"final_score": {"result": 2, "total": 3}}, False),
        ({"final_score": {"result": 0, "total": 0}}, None),
    ],
)
def test_each_benchmark_states_its_result_in_its_way(tmp_path: Path, result: Any, passed: bool | None) -> None:
    runs, _ = imported_runs(OpenHandsImporter(), written(tmp_path / "output.jsonl", an_output(test_result=result)))

    assert passes(runs) == {"claude-sonnet-4-5": [passed]}


@pytest.mark.parametrize(
    ("error", "status"),
    [
        ("AgentRuntimeNotReadyError: gone", Status.INFRA_ERROR),
        ("Timeout after 3600 seconds", Status.TIMEOUT),
        ("RuntimeError: Agent reached maximum iteration.", Status.BUDGET_EXCEEDED),
        ("AgentStuckInLoopError: Agent got stuck in a loop", Status.AGENT_ERROR),
        ("litellm.RateLimitError: 429 Too Many Requests", Status.INFRA_ERROR),
    ],
)
def test_an_error_says_whose_it_was(tmp_path: Path, error: str, status: Status) -> None:
    (run,), _ = imported_runs(OpenHandsImporter(), written(tmp_path / "output.jsonl", an_output(error=error)))

    assert run.status is status


def test_folders_of_several_runs_are_repeats_and_other_notes_other_arms(tmp_path: Path) -> None:
    for folder, note in (("1", "v1-run_1"), ("2", "v1-run_2"), ("3", "v2-run_1")):
        raw = an_old_output()
        raw["metadata"]["eval_output_dir"] = f"x/gpt-4o_maxiter_30_N_{note}"
        written(tmp_path / folder / "output.jsonl", raw)
        written(tmp_path / folder / "output.critic_attempt_1.jsonl", raw)

    runs, _ = imported_runs(OpenHandsImporter(), tmp_path)

    assert sorted((run.trial.arm, run.trial.repeat) for run in runs) == [
        ("CodeActAgent openai/gpt-4o v1", 1),
        ("CodeActAgent openai/gpt-4o v1", 2),
        ("CodeActAgent openai/gpt-4o v2", 1),
    ]


def test_a_cache_that_is_counted_apart_is_not_subtracted(tmp_path: Path) -> None:
    usage = {"prompt_tokens": 10, "completion_tokens": 5, "cache_read_tokens": 900, "cache_write_tokens": 20}
    path = written(tmp_path / "output.jsonl", an_output(metrics={"accumulated_token_usage": usage}))

    (run,), _ = imported_runs(OpenHandsImporter(), path)

    assert (run.usage.input_tokens, run.cost.usd) == (10, None)


def test_an_output_is_not_taken_for_results_of_swe_bench(tmp_path: Path) -> None:
    path = written(tmp_path / "output.jsonl", an_old_output())
    a_report(tmp_path, resolved=[], unresolved=[])

    for each in (path, tmp_path):
        assert OpenHandsImporter().recognises(each)
        assert not SweBenchImporter().recognises(each)
