"""Exports of platforms that keep traces and scores: Braintrust, Langfuse, LangSmith, Phoenix and Weave."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interop.imported import SAMPLES, copied_sample, imported_runs, passes

from outweigh.errors import EvidenceError
from outweigh.interop.braintrust import BraintrustImporter
from outweigh.interop.langfuse import LangfuseImporter
from outweigh.interop.langsmith import LangSmithImporter
from outweigh.interop.phoenix import PhoenixImporter
from outweigh.interop.weave import WeaveImporter
from outweigh.model.failure import Status
from outweigh.testing.importer_contract import ImporterContract

NO_WRITES = frozenset({"input_tokens"})
"""Models without cache writes report only cache reads; all other input is fresh."""


def written(path: Path, *objects: Any) -> Path:
    """JSON Lines, or an array."""
    lines = path.suffix == ".jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in objects) if lines else json.dumps(objects))
    return path


def a_trace(trace_id: str = "t1", *, right: bool = True, **more: Any) -> dict[str, Any]:
    """A trace as Langfuse's API gives it."""

    def observation(name: str, kind: str, **held: Any) -> dict[str, Any]:
        shared = {"id": f"{trace_id}-{name}", "traceId": trace_id, "type": kind, "name": name, "level": "DEFAULT"}
        times = {"startTime": "2026-01-01T10:00:00.000Z", "endTime": "2026-01-01T10:00:02.000Z"}
        return shared | times | {"parentObservationId": None} | held

    usage = {"input": 40, "output": 7, "input_cached_tokens": 60, "total": 107}
    return {
        "id": trace_id,
        "timestamp": "2026-01-01T10:00:00.000Z",
        "name": "answer",
        "input": {"question": "What is 1 plus 2?"},
        "output": "3",
        "release": "v2",
        "version": None,
        "metadata": {"variant": "plain"},
        "latency": 2.5,
        "totalCost": 0.004,
        "observations": [
            observation("agent", "AGENT"),
            observation(
                "ask", "GENERATION", parentObservationId=f"{trace_id}-agent", model="gpt-5", usageDetails=usage
            ),
            observation("search", "TOOL", parentObservationId=f"{trace_id}-agent"),
        ],
        "scores": [
            {"id": "s", "name": "correct", "dataType": "BOOLEAN", "value": int(right), "stringValue": str(right)}
        ],
    } | more


class TestLangfuse(ImporterContract):
    def importer(self) -> LangfuseImporter:
        return LangfuseImporter()

    def example(self, folder: Path) -> Path:
        return written(folder / "traces.jsonl", a_trace(), a_trace("t2", right=False))


def test_a_trace_of_langfuse_is_a_run_with_its_scores(tmp_path: Path) -> None:
    runs, _ = imported_runs(
        LangfuseImporter(), written(tmp_path / "traces.json", a_trace(), a_trace("t2", right=False))
    )

    assert passes(runs) == {"answer v2 gpt-5": [True, False]}
    first = runs[0]
    assert (first.usage.input_tokens, first.usage.cache_read_tokens, first.usage.output_tokens) == (40, 60, 7)
    assert (first.cost.usd, first.duration_seconds, first.step_count, first.tool_call_count) == (0.004, 2.5, 1, 1)


def test_a_download_of_one_trace_and_a_field_of_it_as_the_arm(tmp_path: Path) -> None:
    trace = a_trace()
    download = {"trace": trace, "observations": trace.pop("observations"), "scores": trace.pop("scores")}
    path = tmp_path / "trace-t1.json"
    path.write_text(json.dumps(download))

    runs, _ = imported_runs(LangfuseImporter(), path, columns={"arm": "metadata.variant"})

    assert LangfuseImporter().recognises(path)
    assert passes(runs) == {"plain": [True]}


def a_langsmith_run(run_id: str = "r1", *, project: str = "plain", score: float = 1.0) -> dict[str, Any]:
    shared = {"start_time": "2026-01-01T10:00:00", "end_time": "2026-01-01T10:00:03", "trace_id": run_id, "error": None}
    tokens = {"prompt_tokens": 100, "completion_tokens": 7, "prompt_token_details": {"cache_read": 60}}
    return {
        "id": run_id,
        "name": "target",
        "run_type": "chain",
        "inputs": {"question": "What is 1 plus 2?"},
        "outputs": {"answer": "3"},
        "session_id": f"id of {project}",
        "session_name": project,
        "reference_example_id": "e1",
        "parent_run_id": None,
        "dotted_order": "1",
        "total_cost": "0.002",
        "feedback_stats": {"correct": {"n": 1, "avg": score, "values": {}}},
        "child_runs": [
            {"id": f"{run_id}-c", "run_type": "llm", "parent_run_id": run_id, "dotted_order": "1.2"} | shared | tokens
        ],
        **shared,
        **tokens,
    }


class TestLangSmith(ImporterContract):
    alternatives = NO_WRITES

    def importer(self) -> LangSmithImporter:
        return LangSmithImporter()

    def example(self, folder: Path) -> Path:
        return written(folder / "runs.json", a_langsmith_run(), a_langsmith_run("r2", project="with-notes", score=0))


def test_projects_of_langsmith_are_arms_and_the_user_says_which_key_decides(tmp_path: Path) -> None:
    path = written(tmp_path / "runs.jsonl", a_langsmith_run(), a_langsmith_run("r2", project="with-notes", score=0.0))

    unsaid, notes = imported_runs(LangSmithImporter(), path)
    runs, _ = imported_runs(LangSmithImporter(), path, columns={"success": "correct"})

    assert [run.checks for run in unsaid] == [None, None]
    assert "--map success=correct" in next(iter(notes.warnings))
    assert passes(runs) == {"plain": [True], "with-notes": [False]}
    assert (runs[0].usage.input_tokens, runs[0].usage.output_tokens, runs[0].cost.usd) == (40, 7, 0.002)
    assert (runs[0].duration_seconds, runs[0].step_count) == (3.0, 1)


def test_rows_of_an_evaluation_in_langsmith_have_their_results_beside_the_run(tmp_path: Path) -> None:
    found = {"results": [{"key": "exact", "score": False, "comment": "other"}]}
    run = a_langsmith_run() | {"feedback_stats": None}
    row = {"run": run, "example": {"outputs": {"answer": "3"}}, "evaluation_results": found}

    runs, _ = imported_runs(LangSmithImporter(), written(tmp_path / "rows.jsonl", row))

    assert passes(runs) == {"plain": [False]}


def a_braintrust_row(span: str, root: str, kind: str, **more: Any) -> dict[str, Any]:
    return {
        "id": f"id-{span}",
        "span_id": span,
        "root_span_id": root,
        "span_parents": None if span == root else [root],
        "experiment_id": "e1",
        "span_attributes": {"name": kind, "type": kind},
        "input": "What is 1 plus 2?",
        "expected": "3",
        "scores": None,
        "metrics": {"start": 1767261600.0, "end": 1767261602.0},
        "metadata": {},
        "error": None,
    } | more


def braintrust_rows(path: Path) -> Path:
    metrics = {
        "start": 1767261600.5,
        "end": 1767261601.5,
        "prompt_tokens": 100,
        "prompt_cached_tokens": 60,
        "completion_tokens": 7,
        "estimated_cost": 0.002,
    }
    rows = [
        row
        for number in (1, 2)
        for row in (
            a_braintrust_row(f"r{number}", f"r{number}", "eval", scores={"correct": number - 1, "style": 0.5}),
            a_braintrust_row(f"l{number}", f"r{number}", "llm", metrics=metrics),
        )
    ]
    return written(path, *rows)


class TestBraintrust(ImporterContract):
    alternatives = NO_WRITES

    def importer(self) -> BraintrustImporter:
        return BraintrustImporter()

    def example(self, folder: Path) -> Path:
        return braintrust_rows(folder / "with-notes.jsonl")


class TestBraintrustResults(ImporterContract):
    def importer(self) -> BraintrustImporter:
        return BraintrustImporter()

    def example(self, folder: Path) -> Path:
        return copied_sample("braintrust", folder)


def test_results_of_a_real_evaluation_of_braintrust_are_two_arms() -> None:
    runs, _ = imported_runs(BraintrustImporter(), SAMPLES / "braintrust")

    assert passes(runs) == {"large": [True, True], "small": [True, False]}


def test_an_exported_experiment_of_braintrust_has_the_tokens_of_its_requests(tmp_path: Path) -> None:
    runs, _ = imported_runs(BraintrustImporter(), braintrust_rows(tmp_path / "with-notes.jsonl"))

    assert passes(runs) == {"with-notes": [False, True]}
    assert {(run.usage.input_tokens, run.usage.output_tokens, run.cost.usd) for run in runs} == {(40, 7, 0.002)}
    assert {(run.duration_seconds, run.step_count) for run in runs} == {(2.0, 1)}


class TestPhoenix(ImporterContract):
    def importer(self) -> PhoenixImporter:
        return PhoenixImporter()

    def example(self, folder: Path) -> Path:
        return copied_sample("phoenix", folder)


def test_real_experiments_of_phoenix_are_arms_with_their_repetitions() -> None:
    runs, _ = imported_runs(PhoenixImporter(), SAMPLES / "phoenix")

    assert passes(runs) == {"large": [True] * 4, "small": [True, True, False, False]}
    assert {run.trial.repeat for run in runs} == {1, 2}
    assert all(run.duration_seconds is not None and "repeat_label" not in run.extra for run in runs)


def a_call(call_id: str = "c1", **more: Any) -> dict[str, Any]:
    usage = {"gpt-5": {"requests": 1, "prompt_tokens": 100, "completion_tokens": 7, "total_tokens": 107}}
    costs = {"gpt-5": {"prompt_tokens_total_cost": 0.001, "completion_tokens_total_cost": 0.002}}
    return {
        "id": call_id,
        "project_id": "me/sums",
        "op_name": "weave:///me/sums/op/Evaluation.predict_and_score:abc",
        "trace_id": "t",
        "parent_id": "evaluation",
        "started_at": "2026-01-01T10:00:00Z",
        "ended_at": "2026-01-01T10:00:09Z",
        "exception": None,
        "inputs": {"model": "weave:///me/sums/object/Plain:0123456789", "example": {"question": "What is 1 plus 2?"}},
        "output": {"output": "3", "scores": {"exact": {"correct": True, "length": 1}}, "model_latency": 2.5},
        "summary": {"usage": usage, "weave": {"status": "success", "costs": costs}},
    } | more


class TestWeave(ImporterContract):
    def importer(self) -> WeaveImporter:
        return WeaveImporter()

    def example(self, folder: Path) -> Path:
        return written(folder / "calls.jsonl", a_call(), a_call("c2"))


def test_evaluated_examples_of_weave_are_runs_of_the_model(tmp_path: Path) -> None:
    broken = a_call("c2", output={"output": None, "scores": {}, "model_latency": 0.1})
    inner = a_call("c3", op_name="weave:///me/sums/op/Plain.predict:def")

    runs, _ = imported_runs(WeaveImporter(), written(tmp_path / "calls.jsonl", a_call(), broken, inner))

    assert [(run.trial.arm, run.status) for run in runs] == [
        ("Plain:01234567", Status.COMPLETED),
        ("Plain:01234567", Status.AGENT_ERROR),
    ]
    assert (runs[0].duration_seconds, runs[0].cost.usd, runs[0].usage.output_tokens) == (2.5, 0.003, 7)
    assert passes(runs[:1]) == {"Plain:01234567": [True]}


@pytest.mark.parametrize("column", ["repeat", "agent"])
def test_a_field_that_cannot_be_mapped_is_refused(tmp_path: Path, column: str) -> None:
    path = written(tmp_path / "calls.jsonl", a_call())

    with pytest.raises(EvidenceError, match=f"--map {column} is not used by weave"):
        imported_runs(WeaveImporter(), path, columns={column: "id"})
