"""Evaluations of skills become runs with and without the skill; every assertion is a check that must hold."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.skill_creator.importer import SkillCreatorImporter
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import ImporterContract, read_all

HELD, FAILED = {"text": "has a title", "passed": True, "evidence": "line 1"}, {"text": "is short", "passed": False}


def listed_run(configuration: str, number: int = 1, **result: Any) -> dict[str, Any]:
    return {
        "eval_id": 1,
        "eval_name": "report",
        "configuration": configuration,
        "run_number": number,
        "result": {"passed": 1, "total": 2, "time_seconds": 42.5, "tokens": 3800, "tool_calls": 18} | result,
        "expectations": [HELD, FAILED],
    }


def benchmark(path: Path, **content: Any) -> Path:
    path.write_bytes(msgspec.json.encode({"metadata": {"skill_name": "reports", "executor_model": "m"}} | content))
    return path


def run_folder(folder: Path, *assertions: dict[str, Any], **timing: Any) -> None:
    folder.mkdir(parents=True)
    (folder / "grading.json").write_bytes(msgspec.json.encode({"expectations": assertions}))
    (folder / "timing.json").write_bytes(msgspec.json.encode(timing))


def runs_of(path: Path) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(SkillCreatorImporter(), path)
    return [run for run in found if isinstance(run, RunRecord)], notes


def outcomes(run: RunRecord) -> list[bool | None]:
    assert run.checks is not None
    return [check.passed for check in run.checks]


class TestBenchmark(ImporterContract):
    def importer(self) -> SkillCreatorImporter:
        return SkillCreatorImporter()

    def example(self, folder: Path) -> Path:
        runs = [listed_run("with_skill"), listed_run("with_skill", 2), listed_run("without_skill", passed=0)]
        return benchmark(folder / "benchmark.json", runs=runs)


class TestFolders(ImporterContract):
    def importer(self) -> SkillCreatorImporter:
        return SkillCreatorImporter()

    def example(self, folder: Path) -> Path:
        run_folder(folder / "work/eval-0/with_skill/run-1", HELD, duration_ms=1500, total_tokens=9)
        run_folder(folder / "work/eval-0/without_skill/run-1", FAILED, duration_ms=1500)
        return folder / "work"


def test_the_layout_of_skill_creator(tmp_path: Path) -> None:
    (without, with_skill), _ = runs_of(
        benchmark(tmp_path / "b.json", runs=[listed_run("with_skill", 2), listed_run("without_skill")])
    )

    assert (with_skill.trial.task_id, with_skill.trial.arm, with_skill.trial.repeat) == ("report", "with_skill", 2)
    assert (with_skill.duration_seconds, with_skill.tool_call_count, with_skill.agent.model) == (42.5, 18, "m")
    assert (outcomes(with_skill), with_skill.extra["total_tokens"]) == ([True, False], 3800)
    assert with_skill.usage.input_tokens is None
    assert without.trial.arm == "without_skill"


def test_the_layout_of_pairs(tmp_path: Path) -> None:
    counts = {"input_tokens": 50, "output_tokens": 7, "cache_read_input_tokens": 0}
    side = {
        "assertion_results": [HELD],
        "execution_metrics": {"tool_calls": 0, "token_counts": counts},
        "timing": {"elapsed_seconds": 3.5},
    }
    runs, _ = runs_of(
        benchmark(
            tmp_path / "b.json", runs=[{"eval_id": "a", "run_index": 1, "with_skill": side, "without_skill": side}]
        )
    )

    assert [(run.trial.arm, run.trial.repeat) for run in runs] == [("without_skill", 2), ("with_skill", 2)]
    assert (runs[0].usage.input_tokens, runs[0].usage.cache_read_tokens, runs[0].tool_call_count) == (50, None, None)


def test_the_layout_of_configurations(tmp_path: Path) -> None:
    evaluation = {"eval_id": 3, "assertions_passed": 3, "assertions_total": 4, "duration_ms": 38441}
    (run,), _ = runs_of(
        benchmark(
            tmp_path / "b.json",
            configs=[{"name": "with_skill", "evals": [evaluation], "summary": {"pass_rate": 0.75}}],
        )
    )

    assert (run.trial.task_id, run.duration_seconds, outcomes(run)) == ("eval-3", 38.441, [False])
    assert run.checks is not None
    assert (run.checks[0].cases_passed, run.checks[0].cases_total) == (3, 4)


def test_the_layout_of_scenarios_and_arms_that_were_asked_different_things(tmp_path: Path) -> None:
    scenario = {"with_skill": {"passed": 1, "total": 1}, "without_skill": {"passed": 0, "total": 2}}
    grading = {"game": {"with_skill": [HELD], "without_skill": [FAILED, FAILED]}}
    (without, with_skill), notes = runs_of(
        benchmark(tmp_path / "b.json", scenarios={"game": scenario}, grading=grading)
    )

    assert (outcomes(with_skill), outcomes(without)) == ([True], [False, False])
    assert with_skill.task_checksum != without.task_checksum
    assert any("'game'" in warning for warning in notes.warnings)


def test_sums_alone_are_no_runs(tmp_path: Path) -> None:
    runs, notes = runs_of(benchmark(tmp_path / "b.json", run_summary={"with_skill": {"pass_rate": {"mean": 0.5}}}))

    assert not runs
    assert notes.aggregates == [{"arm": "with_skill", "summary": {"pass_rate": {"mean": 0.5}}}]


def test_folders_are_read_before_the_benchmark_that_was_made_of_them(tmp_path: Path) -> None:
    run_folder(tmp_path / "eval-0/with_skill/run-2", HELD, duration_ms=1500, total_tokens=900)
    run_folder(tmp_path / "eval-0/without_skill", FAILED, total_duration_seconds=2.5)
    (tmp_path / "eval-0/eval_metadata.json").write_text('{"eval_id": 0, "eval_name": "report"}')
    benchmark(tmp_path / "benchmark.json", runs=[listed_run("with_skill")])

    (without, with_skill), _ = runs_of(tmp_path)

    assert (with_skill.trial.task_id, with_skill.trial.repeat, with_skill.duration_seconds) == ("report", 2, 1.5)
    assert (without.trial.repeat, without.duration_seconds, outcomes(without)) == (1, 2.5, [False])


def test_a_copy_within_a_run_is_left_out_and_iterations_stay_apart(tmp_path: Path) -> None:
    run_folder(tmp_path / "iteration-1/eval-0/with_skill/run-1", HELD)
    run_folder(tmp_path / "iteration-1/eval-0/with_skill/run-1/run-1", HELD)
    run_folder(tmp_path / "iteration-2/eval-0/with_skill/run-1", HELD)

    runs, notes = runs_of(tmp_path)

    assert sorted(run.trial.arm for run in runs) == ["iteration-1/with_skill", "iteration-2/with_skill"]
    assert any("as a copy would" in warning for warning in notes.warnings)


def test_a_run_that_was_not_graded_is_unknown(tmp_path: Path) -> None:
    folder = tmp_path / "eval-0/with_skill/run-1"
    folder.mkdir(parents=True)
    (folder / "timing.json").write_text('{"duration_ms": 10}')

    (run,), _ = runs_of(tmp_path)

    assert (run.checks, run.status_detail) == (None, "it was not graded")


def test_a_row_without_a_configuration_is_noted_and_an_empty_file_refused(tmp_path: Path) -> None:
    _, notes = runs_of(benchmark(tmp_path / "b.json", runs=[listed_run("with_skill"), {"eval_id": 2}]))

    assert len(notes.unreadable) == 1
    with pytest.raises(EvidenceError, match="neither runs"):
        runs_of(benchmark(tmp_path / "c.json"))
