"""Folders of ProjectScylla's experiments become the runs and judgments that its tables would have."""

import json
import shutil
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from tests.interop.scylla.scylla_experiments import (
    CLAUDE,
    HAIKU,
    NAME,
    NO_TOKENS,
    OPUS,
    SONNET,
    TOKENS,
    a_run,
    an_experiment,
    criteria,
    written,
)

from outweigh.interop.scylla.importer import ScyllaImporter
from outweigh.model.failure import Status
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.score.judge_scores import judgment_score
from outweigh.testing.importer_contract import ImporterContract, read_all


def read(path: Path) -> tuple[list[RunRecord], list[Judgment], ImportNotes]:
    found, notes = read_all(ScyllaImporter(), path)
    runs = [record for record in found if isinstance(record, RunRecord)]
    return runs, [record for record in found if isinstance(record, Judgment)], notes


def only(path: Path) -> RunRecord:
    (run,), _, _ = read(path)
    return run


class TestScyllaFolders(ImporterContract):
    def importer(self) -> ScyllaImporter:
        return ScyllaImporter()

    def example(self, folder: Path) -> Path:
        experiment = an_experiment(folder)
        a_run(experiment)
        a_run(experiment, "T4/01/run_02")
        return experiment


def test_a_run_and_its_judgments_bear_the_names_that_the_tables_give_them(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment)

    (run,), judgments, notes = read(experiment)

    assert run.run_id == f"{NAME}/Sonnet 4.5/T4/01/1"
    assert (run.trial.task_id, run.trial.arm, run.trial.repeat) == (NAME, "Sonnet 4.5/T4/01", 1)
    assert (run.family, run.duration_seconds, run.cost.usd, run.step_count) == ("test-001", 36.5, 0.1684904, None)
    assert (run.agent.name, run.agent.version, run.agent.model) == ("claude-code", "2.1.12", SONNET)
    assert run.started_at == datetime(2026, 1, 20, 6, 13, 17, tzinfo=UTC)
    assert run.checks is not None
    assert run.checks[0].passed is True
    assert [(each.run_id, each.judge.model, each.pass_index) for each in judgments] == [
        (run.run_id, OPUS, 1),
        (run.run_id, HAIKU, 1),
    ]
    assert judgment_score(judgments[0]).value == pytest.approx(0.75)
    assert (judgments[0].stated_total, judgments[0].criteria[0].evidence) == (0.96, "F1 3.0/4.0: it runs")
    assert judgments[0].judged_at == datetime(2026, 1, 20, 6, 15, 4, 918359, tzinfo=UTC)
    assert not notes.unreadable
    assert not notes.warnings


def test_tokens_are_those_of_all_models_though_the_project_adds_up_one(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment)
    a_run(experiment, "T4/01/run_02", stdout="plain words of another agent")

    reported, summed = read(experiment)[0]

    assert (reported.usage.input_tokens, reported.usage.output_tokens) == (23 + 1316, 725 + 93)
    assert (summed.usage.input_tokens, summed.usage.output_tokens) == (23, 725)
    assert reported.extra["token_stats"] == TOKENS


def test_every_folder_above_a_run_can_be_named_and_those_of_the_newer_layout(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment, "completed/T4/01/run_01")

    for path in (tmp_path, experiment, experiment / "completed" / "T4", experiment / "completed" / "T4/01/run_01"):
        assert ScyllaImporter().recognises(path)
        assert only(path).run_id == f"{NAME}/Sonnet 4.5/T4/01/1"


def test_a_renamed_folder_is_still_the_experiment_that_its_results_name(tmp_path: Path) -> None:
    a_run(an_experiment(tmp_path))
    (tmp_path / NAME).rename(tmp_path / "raw")

    assert only(tmp_path / "raw").trial.task_id == NAME


def test_a_model_that_no_configuration_names_is_the_one_that_the_run_names(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path, config=None)
    a_run(experiment)

    assert only(experiment).trial.arm == "Sonnet 4.5/T4/01"


def test_a_copied_run_counts_once_and_one_within_another_not_at_all(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    folder = a_run(experiment)
    shutil.copytree(folder, experiment / "T4" / "01" / "run_02")
    a_run(folder / "backup", "T4/01/run_03")

    runs, judgments, notes = read(experiment)

    assert (len(runs), len(judgments)) == (1, 2)
    assert "1 results are there twice, in copied folders; each counts once." in notes.warnings
    assert any("is within another run" in warning for warning in notes.warnings)


def test_two_results_of_one_run_are_both_handed_on_to_be_refused(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment, "completed/T4/01/run_01")
    a_run(experiment, "in_progress/T4/01/run_01", judge_passed=False)

    runs, _, _ = read(experiment)

    assert [run.run_id for run in runs] == [f"{NAME}/Sonnet 4.5/T4/01/1"] * 2


def test_what_an_agent_wrote_is_never_taken_for_a_result(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    folder = a_run(experiment, judge_passed=False)
    a_run(folder / "workspace" / "T4" / "01", "T4/01/run_07")

    runs, _, notes = read(experiment)

    assert len(runs) == 1
    assert not notes.warnings


def test_runs_without_a_result_are_counted_by_how_far_they_came(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment)
    for number in (2, 3, 4):
        (a_run(experiment, f"T4/01/run_{number:02}") / "run_result.json").unlink()
    (experiment / "T4" / "01" / "run_04" / "agent" / "result.json").unlink()
    written(experiment / "checkpoint.json", {"run_states": {"T4": {"01": {"2": "rate_limited"}}}})

    runs, judgments, notes = read(experiment)

    assert (len(runs), len(judgments)) == (1, 2)
    (warning,) = notes.warnings
    assert warning.startswith(
        "3 runs have no result and are left out (1 rate limited, 1 without a judge's word, 1 without an answer)"
    )


@pytest.mark.parametrize(
    ("more", "status", "detail"),
    [
        ({"exit_code": 2, "stdout": "", "stderr": "+ claude\nsegfault"}, Status.AGENT_ERROR, "exit code 2: segfault"),
        (
            {"exit_code": -1, "token_stats": NO_TOKENS, "stdout": "", "stderr": "Command timed out after 300 seconds"},
            Status.TIMEOUT,
            "timed out after 300",
        ),
        (
            {"exit_code": -1, "token_stats": NO_TOKENS, "stdout": "", "agent_duration_seconds": 300.2},
            Status.TIMEOUT,
            "ran out of 300 seconds",
        ),
        (
            {"exit_code": -1, "token_stats": NO_TOKENS, "stdout": "", "stderr": "No such file: 'bash'"},
            Status.INFRA_ERROR,
            "could not be run: No such file",
        ),
        (
            {"stdout": json.dumps(CLAUDE | {"is_error": True, "result": "API Error: 529 overloaded"})},
            Status.INFRA_ERROR,
            "529",
        ),
    ],
)
def test_an_ending_is_the_agents_fault_or_nobodys(
    tmp_path: Path, more: dict[str, Any], status: Status, detail: str
) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment, **more)

    run = only(experiment)

    assert run.status is status
    assert detail in (run.status_detail or "")


def test_zeros_that_stand_for_nothing_are_unknown(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment, stdout="", exit_code=-1, token_stats=NO_TOKENS, cost_usd=0.0)

    run = only(experiment)

    assert (run.usage.input_tokens, run.usage.cache_read_tokens, run.cost.usd) == (None, None, None)


def test_a_run_that_no_judge_could_judge_is_not_a_failed_one(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    folder = a_run(
        experiment,
        judge_score=0.0,
        judge_passed=False,
        judge_reasoning="All judges failed to produce valid results",
        judges=[{"model": OPUS, "judge_number": 1, "is_valid": False}],
    )
    shutil.rmtree(folder / "judge" / "judge_02")
    (folder / "judge" / "judge_01" / "judgment.json").unlink()
    written(folder / "judge" / "judge_01" / "timing.json", {"failed": True, "error": "exit code 1"})

    (run,), (judgment,), _ = read(experiment)

    assert run.checks is not None
    assert run.checks[0].passed is None
    assert judgment.invalid_reason == "the judge failed: exit code 1"


@pytest.mark.parametrize(
    ("said", "reason"),
    [
        ({"score": 0.9, "is_valid": False, "criteria_scores": criteria()}, "marked as invalid"),
        ({"score": 0.9, "criteria_scores": None}, "no criteria"),
        ({"score": 0.9, "criteria_scores": criteria(5.0, 4.0)}, "5 of 4 points"),
    ],
)
def test_a_judgment_that_cannot_be_used_is_invalid_and_never_a_zero(
    tmp_path: Path, said: dict[str, Any], reason: str
) -> None:
    experiment = an_experiment(tmp_path)
    written(a_run(experiment) / "judge" / "judge_01" / "judgment.json", said)

    _, (judgment, _), _ = read(experiment)

    assert reason in (judgment.invalid_reason or "")
    assert judgment_score(judgment).value is None


def test_points_that_do_not_apply_are_left_out_of_a_score(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    said = {"score": 1.0, "criteria_scores": criteria(1.0, 2.0) | {"build": {"achieved": "N/A", "max": "N/A"}}}
    written(a_run(experiment) / "judge" / "judge_01" / "judgment.json", said)

    _, (judgment, _), _ = read(experiment)

    assert judgment_score(judgment).value == pytest.approx(0.5)


def test_a_torn_judgment_is_kept_with_its_place_and_its_run_is_read(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    written(a_run(experiment) / "judge" / "judge_01" / "judgment.json", '{"score": 0.9, ')

    runs, (judgment,), notes = read(experiment)

    assert (len(runs), judgment.judge.model) == (1, HAIKU)
    assert [Path(row.source).name for row in notes.unreadable] == ["judge_01"]


def test_a_checkpoint_that_is_being_written_keeps_nobody_from_reading(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment)
    written(experiment / "checkpoint.json", '{"run_states": {')

    runs, _, notes = read(experiment)

    assert len(runs) == 1
    assert any("How far its runs are is unknown" in warning for warning in notes.warnings)


def test_an_experiment_whose_settings_are_torn_keeps_nobody_from_reading_the_others(tmp_path: Path) -> None:
    for name in ("one", "two"):
        experiment = an_experiment(tmp_path / name)
        a_run(experiment)
        a_run(experiment, "T4/01/run_02")
    torn = tmp_path / "one" / NAME / "config" / "experiment.json"
    torn.write_text('{"experiment_id": "te')

    runs, _, notes = read(tmp_path)

    assert len(runs) == 2
    assert [Path(row.source) for row in notes.unreadable] == [torn.parent.parent]


def test_a_result_that_is_torn_or_says_nothing_is_kept_with_its_place(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment)
    torn, empty = (a_run(experiment, f"T4/01/run_0{number}") for number in (2, 3))
    (torn / "run_result.json").write_text('{"run_number": 2, "token_st')
    (empty / "run_result.json").write_text("{}")

    runs, _, notes = read(experiment)

    assert len(runs) == 1
    assert [Path(row.source).name for row in notes.unreadable] == ["run_02", "run_03"]
    assert "not valid JSON" in notes.unreadable[0].reason
