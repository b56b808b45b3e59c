"""`outweigh import` of an experiment of ProjectScylla, from its folders to a comparison of tiers."""

import csv
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from tests.interop.scylla.scylla_experiments import a_run, an_experiment
from tests.interop.scylla.study_tables import StudyShape, write_study, write_table


def test_an_experiment_is_found_by_its_folders_and_its_tiers_are_compared(outweigh: Any, tmp_path: Path) -> None:
    experiment, target = an_experiment(tmp_path), str(tmp_path / "runs")
    a_run(experiment, "T0/00/run_01", judge_passed=False)
    a_run(experiment, "T4/01/run_01")
    (a_run(experiment, "T5/01/run_01") / "run_result.json").unlink()

    answer = outweigh("import", str(experiment), "-o", target)

    assert answer.code == 0
    assert "2 runs of 2 arms on 1 task and 4 judgments read as scylla" in answer.out
    assert "1 runs have no result and are left out" in answer.err
    arms = ("Sonnet 4.5/T0/00", "Sonnet 4.5/T4/01")
    compared = outweigh("compare", target, "--baseline", arms[0], "--candidate", arms[1], "--format", "json").json()
    assert [compared["arms"][arm]["successes"] for arm in arms] == [0, 1]


def test_two_results_under_one_name_are_refused_and_nothing_is_kept(outweigh: Any, tmp_path: Path) -> None:
    experiment, target = an_experiment(tmp_path), tmp_path / "runs"
    a_run(experiment, "completed/T4/01/run_01")
    a_run(experiment, "in_progress/T4/01/run_01", judge_passed=False)

    answer = outweigh("import", str(experiment), "-o", str(target))

    assert answer.code == 3
    assert "stands for two different results" in answer.err
    assert not list(target.glob("runs-*.jsonl"))


def test_a_ladder_of_imported_tables_has_the_tiers_of_the_study(outweigh: Any, tmp_path: Path) -> None:
    write_study(tmp_path / "data", shape=StudyShape(subtests=(3, 2, 1), tests=2, repeats=2), lost=0.02, invalid=0.02)
    outweigh("import", str(tmp_path / "data"), "-o", str(tmp_path / "runs"))

    ladder = outweigh("ladder", str(tmp_path / "runs"), "--format", "json").json()
    by_name = outweigh("ladder", str(tmp_path / "runs"), "--tiers", r"T(\d+)", "--format", "json").json()

    assert [(tier["tier"], tier["name"], len(tier["sub_arms"])) for tier in ladder["levels"]] == [
        (0, "T0", 3),
        (1, "T1", 2),
        (2, "T2", 1),
    ]
    assert by_name["levels"] == ladder["levels"]


def test_a_wrong_expression_for_tiers_ends_with_a_sentence(outweigh: Any, tmp_path: Path) -> None:
    write_study(tmp_path / "data", shape=StudyShape(subtests=(1, 1), tests=1, repeats=1))
    outweigh("import", str(tmp_path / "data"), "-o", str(tmp_path / "runs"))

    answer = outweigh("ladder", str(tmp_path / "runs"), "--tiers", "T(")

    assert answer.code == 2
    assert "--tiers 'T(' is not a regular expression" in answer.err


def test_the_page_and_the_table_of_an_imported_study_count_it_by_single_runs_too(outweigh: Any, tmp_path: Path) -> None:
    study = write_study(tmp_path / "data", shape=StudyShape(subtests=(2, 2), tests=2, repeats=2))
    outweigh("import", str(tmp_path / "data"), "-o", str(tmp_path / "runs"))

    shown = outweigh("ladder", str(tmp_path / "runs"), "--verbose").out
    outweigh("ladder", str(tmp_path / "runs"), "-o", str(tmp_path / "ladder.csv"))

    scores = [row["score"] for row in study.runs if row["tier"] == "T1"]
    (row,) = [line.split() for line in shown.partition("Tiers by single runs")[2].splitlines() if "  T1 " in line]
    assert row[:3] == ["T1", "2", "8"]
    assert f"{fmean(scores):.3f}" in row
    with (tmp_path / "ladder.csv").open(newline="") as stream:
        figures = {(line["name"], line["figure"]): line["value"] for line in csv.DictReader(stream)}
    assert float(figures["T1", "run_level.score.mean"]) == pytest.approx(fmean(scores))


def test_a_ladder_of_runs_without_stated_results_has_no_such_table(outweigh: Any, tmp_path: Path) -> None:
    study = write_study(tmp_path / "data", shape=StudyShape(subtests=(1, 1), tests=2, repeats=2))
    write_table(tmp_path / "data/runs.csv", [row | {"score": ""} for row in study.runs])
    outweigh("import", str(tmp_path / "data"), "-o", str(tmp_path / "runs"))

    assert "single runs" not in outweigh("ladder", str(tmp_path / "runs"), "--verbose").out
