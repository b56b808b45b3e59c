"""Runs of ProjectScylla carry their tier, the score that it gave them, and which configurations are the same."""

from pathlib import Path
from typing import Any

import pytest
from tests.interop.scylla.scylla_experiments import a_run, an_experiment, written
from tests.interop.scylla.study_tables import StudyShape, write_study, write_table

from outweigh.interop.scylla.importer import ScyllaImporter
from outweigh.model.run_record import RunRecord
from outweigh.testing.importer_contract import read_all

WORDS = {"claude_md": {"blocks": ["B01", "B02"]}}


def runs_of(path: Path) -> dict[str, RunRecord]:
    found, notes = read_all(ScyllaImporter(), path)
    assert not notes.unreadable
    return {record.trial.arm.partition("/")[2]: record for record in found if isinstance(record, RunRecord)}


def manifest(experiment: Path, subtest: str, resources: object, **more: Any) -> None:
    a_run(experiment, f"{subtest}/run_01")
    written(experiment / subtest / "config_manifest.json", {"resources": resources} | more)


def same(experiment: Path, one: str, other: str) -> bool:
    found = runs_of(experiment)
    assert found[one].arm_fingerprint is not None
    return found[one].arm_fingerprint == found[other].arm_fingerprint


def test_a_row_of_the_table_has_its_tier_and_what_the_project_stated(tmp_path: Path) -> None:
    study = write_study(tmp_path, shape=StudyShape(subtests=(1, 1), tests=1, repeats=1))

    run = runs_of(tmp_path)["T1/00"]

    row = study.runs[1]
    assert (run.extra["tier"], run.extra["tier_name"]) == (1, "T1")
    assert run.extra["stated"] == {
        "score": pytest.approx(row["score"]),
        "grade": row["grade"],
        "passed": row["passed"],
        "implementation_rate": pytest.approx(row["impl_rate"]),
    }
    assert run.arm_fingerprint is None, "a table does not say what a configuration is"


def test_a_folder_has_the_same_labels(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment, "T4/01/run_01")

    run = runs_of(experiment)["T4/01"]

    assert (run.extra["tier"], run.extra["tier_name"]) == (4, "T4")
    assert run.extra["stated"] == {"score": 0.96, "grade": "A", "passed": True}
    assert run.arm_fingerprint is None, "there is no manifest"


def test_a_score_of_a_run_that_no_judge_judged_is_not_stated_as_0(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment, judge_score=0.0, judge_grade="F", judge_reasoning="All judges failed to produce valid results")

    assert runs_of(experiment)["T4/01"].extra["stated"] == {"grade": "F"}


@pytest.mark.parametrize("cell", ["", "nan"])
def test_an_unknown_score_in_the_table_is_not_stated(tmp_path: Path, cell: str) -> None:
    study = write_study(tmp_path, shape=StudyShape(subtests=(1,), tests=1, repeats=1))
    write_table(tmp_path / "runs.csv", [study.runs[0] | {"score": cell, "impl_rate": cell, "grade": ""}])

    assert set(runs_of(tmp_path)["T0/00"].extra["stated"]) == {"passed"}


def test_a_tier_with_another_name_is_no_number(tmp_path: Path) -> None:
    study = write_study(tmp_path, shape=StudyShape(subtests=(1,), tests=1, repeats=1))
    write_table(tmp_path / "runs.csv", [study.runs[0] | {"tier": "base"}])

    found, _ = read_all(ScyllaImporter(), tmp_path / "runs.csv")
    (run,) = [record for record in found if isinstance(record, RunRecord)]
    assert "tier" not in run.extra


def test_sub_tests_with_the_same_manifest_are_one_configuration(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    manifest(experiment, "T0/06", WORDS, claude_md_hash="a" * 64, fixture_config_path="t0/06-B01.yaml")
    manifest(experiment, "T0/07", WORDS, claude_md_hash="a" * 64, fixture_config_path="t0/07-B02.yaml")

    assert same(experiment, "T0/06", "T0/07")


def test_the_hash_of_an_instruction_file_that_the_test_itself_has_does_not_count(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    manifest(experiment, "T3/01", {"agents": {"names": ["x.md"]}}, claude_md_hash="a" * 64)
    manifest(experiment, "T3/02", {"agents": {"names": ["x.md"]}}, claude_md_hash="b" * 64)

    assert same(experiment, "T3/01", "T3/02")


@pytest.mark.parametrize(
    ("subtest", "resources", "more"),
    [
        ("T0/07", {"claude_md": {"blocks": ["B01"]}}, {"claude_md_hash": "a" * 64}),
        ("T0/07", WORDS, {"claude_md_hash": "b" * 64}),
        ("T0/07", WORDS, {"claude_md_hash": "a" * 64, "inherited_from": {"skills": {"names": ["x"]}}}),
        ("T0/07", WORDS, {"claude_md_hash": "a" * 64, "fixture_config_path": "/x/t4/08-chief-teams.yaml"}),
        ("T0/00", WORDS, {"claude_md_hash": "a" * 64}),
    ],
    ids=["other resources", "other words", "inherited", "teams of agents", "no system prompt"],
)
def test_any_known_difference_makes_another_configuration(
    tmp_path: Path, subtest: str, resources: object, more: dict[str, Any]
) -> None:
    experiment = an_experiment(tmp_path)
    manifest(experiment, "T0/06", WORDS, claude_md_hash="a" * 64)
    manifest(experiment, subtest, resources, **more)

    assert not same(experiment, "T0/06", subtest)


def test_a_damaged_manifest_is_named(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    a_run(experiment)
    written(experiment / "T4/01/config_manifest.json", "{")

    _, notes = read_all(ScyllaImporter(), experiment)
    assert "config_manifest.json" in str(notes.unreadable[0])


def test_a_number_that_is_not_finite_is_refused_with_its_place(tmp_path: Path) -> None:
    study = write_study(tmp_path, shape=StudyShape(subtests=(1,), tests=1, repeats=1))
    write_table(tmp_path / "runs.csv", [study.runs[0] | {"score": "inf"}])

    found, notes = read_all(ScyllaImporter(), tmp_path / "runs.csv")
    assert not [record for record in found if isinstance(record, RunRecord)]
    assert "score is 'inf'" in str(notes.unreadable[0])


def test_invalid_judgments_of_folders_are_counted_in_a_sentence(tmp_path: Path) -> None:
    experiment = an_experiment(tmp_path)
    folder = a_run(experiment)
    written(folder / "judge/judge_02/judgment.json", {"score": 0.0, "is_valid": False, "criteria_scores": {}})

    _, notes = read_all(ScyllaImporter(), experiment)

    assert list(notes.warnings) == [
        "1 of 2 judgments cannot be used and count as missing, never as 0: 1 marked as invalid by the project."
    ]
