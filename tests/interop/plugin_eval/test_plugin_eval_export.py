"""Runs as a result of `claude plugin eval`: a file that fits its schema, and that says the same when it is read."""

from pathlib import Path
from typing import Any

import msgspec
import pytest
from tests.interop.plugin_eval.results import a_case, a_result, a_result_run, written

from outweigh.interop.plugin_eval.exporter import make_run
from outweigh.interop.plugin_eval.importer import PluginEvalImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.score.objective import objective, passed
from outweigh.testing.builders import a_check, a_run
from outweigh.testing.importer_contract import read_all


class _Grade(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str
    passed: bool
    weight: float
    explanation: str
    with_only: bool
    scored: bool | None = None
    judge_votes: list[bool] | None = None
    evidence: str | None = None


class _Run(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    score: float
    passed: bool
    turns: float
    cost_usd: float
    judge_cost_usd: float
    error: str | None
    trace_path: str
    skipped_paid_graders: bool
    graders: list[_Grade]
    duration_seconds: float | None = None
    started_at: str | None = None
    aborted: dict[str, str] | None = None
    mocks: dict[str, Any] | None = None


class _Arms(msgspec.Struct, rename={"with_": "with"}, forbid_unknown_fields=True):
    with_: list[_Run]
    without: list[_Run] | None = None


class _CaseFigures(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    score: float
    pass_rate: float
    score_without: float | None = None
    pass_rate_without: float | None = None
    delta: float | None = None


class _Grader(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str
    type: str
    weight: float
    config: dict[str, Any]
    grader_markdown: str | None = None


class _Case(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    name: str
    dir: str
    source: str
    prompt_markdown: str
    runs_per_case: float
    timeout_seconds: float
    max_turns: float
    graders: list[_Grader]
    arms: _Arms
    aggregates: _CaseFigures
    model: str | None = None
    advisories: list[str] | None = None


class _Document(msgspec.Struct, rename="camel", forbid_unknown_fields=True):
    """The schema that `claude plugin eval` 2.1.325 checks its own results against."""

    schema_version: int
    claude_version: str
    started_at: str
    duration_seconds: float
    cost_usd: float
    partial: bool
    suite: dict[str, Any]
    cases: list[_Case]
    aggregates: dict[str, float]
    partial_reason: str | None = None


def exported(outweigh: Any, tmp_path: Path, *options: str) -> Path:
    target = tmp_path / "exported/aggregate-result.json"
    target.parent.mkdir(exist_ok=True)
    answer = outweigh("store", "export", str(tmp_path / "runs"), "--plugin-eval", "-o", str(target), *options)
    assert answer.code == 0, answer.err
    return target


def figures(path: Path) -> list[Any]:
    runs, _ = read_all(PluginEvalImporter(), path)
    found = [
        (run.trial.task_id, run.trial.arm, objective(run).share.value, passed(run).value, run.cost.usd)
        for run in runs
        if isinstance(run, RunRecord)
    ]
    return sorted(found, key=repr)


@pytest.fixture
def source(outweigh: Any, tmp_path: Path) -> Path:
    cases = [a_case(), a_case("farewell", arms={"with": [a_result_run(fired=0)], "without": [a_result_run()]})]
    result = written(tmp_path / "result.json", a_result(*cases))
    assert outweigh("import", str(result), "-o", str(tmp_path / "runs")).code == 0
    return result


def test_an_exported_result_says_the_same_when_it_is_imported(outweigh: Any, tmp_path: Path, source: Path) -> None:
    target = exported(outweigh, tmp_path)

    assert figures(target) == figures(source)


def test_an_exported_result_fits_the_schema_of_the_program(outweigh: Any, tmp_path: Path, source: Path) -> None:
    for file in (source, exported(outweigh, tmp_path)):
        found = msgspec.json.decode(file.read_bytes(), type=_Document)
        assert {case.name for case in found.cases} == {"greeting", "farewell"}
        assert found.suite.keys() >= {"root", "ablation", "threshold", "plugins"}
        assert found.aggregates.keys() == {"casesTotal", "casesPassed", "overallScore", "overallPassRate", "meanDelta"}


def test_the_arms_can_be_named(outweigh: Any, tmp_path: Path, source: Path) -> None:
    found = msgspec.json.decode(
        exported(outweigh, tmp_path, "--baseline", "with", "--candidate", "without").read_bytes(), type=_Document
    )

    assert found.suite["plugins"][0]["name"] == "without"
    assert found.aggregates["meanDelta"] == pytest.approx(-0.0625)


def test_a_run_that_says_nothing_about_the_agent_is_an_error_without_graders() -> None:
    run = make_run(a_run("t", "a", 1, status=Status.INFRA_ERROR, status_detail="overloaded", checks=(a_check(),)))

    assert (run["error"], run["graders"], run["score"]) == ("overloaded", [], 0)


def test_a_cost_and_a_time_that_are_unknown_are_so_again_when_imported(outweigh: Any, tmp_path: Path) -> None:
    unknown = a_result_run(costUsd=None, durationSeconds=None)
    free = a_result_run(costUsd=0.0)
    document = a_result(a_case(arms={"with": [unknown, free], "without": [a_result_run()]}))
    source = written(tmp_path / "result.json", document)
    assert outweigh("import", str(source), "-o", str(tmp_path / "runs")).code == 0

    target = exported(outweigh, tmp_path)
    runs, notes = read_all(PluginEvalImporter(), target)

    assert msgspec.json.decode(target.read_bytes(), type=_Document).cases[0].advisories is not None
    assert figures(target) == figures(source)
    assert [run.duration_seconds is None for run in runs if isinstance(run, RunRecord)].count(True) == 1
    assert not any("stands for" in each for each in notes.warnings)


def test_unknown_numbers_are_announced(outweigh: Any, tmp_path: Path) -> None:
    result = a_result(a_case(arms={"with": [a_result_run(costUsd=None)], "without": [a_result_run()]}))
    written(tmp_path / "result.json", result)
    outweigh("import", str(tmp_path / "result.json"), "-o", str(tmp_path / "runs"))

    answer = outweigh("store", "export", str(tmp_path / "runs"), "--plugin-eval", "-o", str(tmp_path / "out.json"))
    assert "the cost of 1 of 2 runs is unknown; the file has 0" in answer.err
