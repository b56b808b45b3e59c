"""ProjectScylla's tables become runs and judgments."""

from pathlib import Path

import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.scylla.importer import ScyllaImporter
from outweigh.model.failure import Status
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import ImporterContract, read_all

RUN_HEADER = (
    "experiment,agent_model,tier,subtest,run_number,score,impl_rate,passed,grade,cost_usd,duration_seconds,"
    "agent_duration_seconds,judge_duration_seconds,input_tokens,output_tokens,cache_creation_tokens,"
    "cache_read_tokens,total_tokens,exit_code"
)
WHO = "2026-01-20T06-13-07-test-001,Sonnet 4.5,T0,00,1"
RUN = f"{WHO},0.97,0.99,True,A,0.25,200,40,160,29,656,23106,112686,136477,0"
JUDGES = (
    "experiment,agent_model,tier,subtest,run_number,judge_model,judge_number,judge_score,judge_is_valid\n"
    f"{WHO},opus,1,0.96,True\n"
)
CRITERIA = (
    "experiment,agent_model,tier,subtest,run_number,judge_model,judge_number,criterion,criterion_achieved,"
    f"criterion_max\n{WHO},opus,1,works,3,4\n"
)


def tables(folder: Path, *runs: str, judges: str | None = JUDGES) -> Path:
    (folder / "runs.csv").write_text("\n".join([RUN_HEADER, *(runs or (RUN,))]) + "\n")
    if judges is not None:
        (folder / "judges.csv").write_text(judges)
        (folder / "criteria.csv").write_text(CRITERIA)
    return folder


def read(folder: Path) -> tuple[list[RunRecord], list[Judgment], ImportNotes]:
    found, notes = read_all(ScyllaImporter(), folder)
    runs = [record for record in found if isinstance(record, RunRecord)]
    return runs, [record for record in found if isinstance(record, Judgment)], notes


class TestScylla(ImporterContract):
    def importer(self) -> ScyllaImporter:
        return ScyllaImporter()

    def example(self, folder: Path) -> Path:
        place = folder / "data"
        place.mkdir(exist_ok=True)
        return tables(place)


def test_a_run_is_of_the_agent_alone_and_its_judgments_are_tied_to_it(tmp_path: Path) -> None:
    (run,), (judgment,), notes = read(tables(tmp_path))

    assert (run.trial.task_id, run.trial.arm, run.trial.repeat) == (
        "2026-01-20T06-13-07-test-001",
        "Sonnet 4.5/T0/00",
        1,
    )
    assert run.family == "test-001"
    assert (run.duration_seconds, run.cost.usd, run.extra["duration_seconds"]) == (40, 0.25, "200")
    assert (run.usage.input_tokens, run.usage.cache_read_tokens, run.usage.cache_write_tokens) == (29, 112686, 23106)
    assert (judgment.run_id, judgment.stated_total) == (run.run_id, 0.96)
    assert not notes.unreadable


def test_the_table_alone_is_enough_and_the_missing_judgments_are_said(tmp_path: Path) -> None:
    folder = tables(tmp_path, judges=None)

    runs, judgments, notes = read(folder / "runs.csv")

    assert ScyllaImporter().recognises(folder / "runs.csv")
    assert (len(runs), judgments) == (1, [])
    assert any("no judgments" in warning for warning in notes.warnings)


def test_a_program_that_failed_is_an_error_of_the_agent(tmp_path: Path) -> None:
    (run,), _, _ = read(tables(tmp_path, RUN.removesuffix(",0") + ",2"))

    assert (run.status, run.status_detail) == (Status.AGENT_ERROR, "exit code 2")


def test_a_cell_that_cannot_be_meant_is_a_row_with_its_place(tmp_path: Path) -> None:
    runs, _, notes = read(tables(tmp_path, RUN.replace("True", "maybe"), judges=None))

    assert runs == []
    (row,) = notes.unreadable
    assert row.line == 2
    assert row.reason == (
        "passed is 'maybe', which is neither a pass nor a failure; say 1 or 0, true or false, yes or no"
    )


def test_a_judgment_of_no_run_is_not_dropped_in_silence(tmp_path: Path) -> None:
    _, judgments, notes = read(tables(tmp_path, judges=JUDGES.replace("T0", "T9")))

    assert judgments == []
    assert "T9/00/1', which is not a run here" in notes.unreadable[0].reason


def test_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "runs.csv").write_text("experiment,tier\na,b\n")

    assert not ScyllaImporter().recognises(tmp_path)
    with pytest.raises(EvidenceError, match="has no column 'agent_model'"):
        read(tmp_path)


def test_judgments_that_the_project_marked_as_invalid_are_counted_in_a_sentence(tmp_path: Path) -> None:
    other = JUDGES.splitlines()[1].replace("opus,1,0.96,True", "haiku,2,0.0,False")

    _, judgments, notes = read(tables(tmp_path, judges=f"{JUDGES}{other}\n"))

    assert [judgment.invalid_reason for judgment in judgments] == [None, "marked as invalid by the project"]
    assert list(notes.warnings) == [
        "1 of 2 judgments cannot be used and count as missing, never as 0: 1 marked as invalid by the project."
    ]


@pytest.mark.parametrize("cell", ["nan", "NaN", " inf ", "-Infinity"])
def test_a_number_that_is_not_finite_is_unknown_and_said_once_for_its_column(tmp_path: Path, cell: str) -> None:
    folder = tables(tmp_path, judges=JUDGES.replace("0.96", cell))
    (folder / "criteria.csv").write_text(CRITERIA.replace("works,3,4", f"works,3,4\n{WHO},opus,1,reads,{cell},4"))

    _, (judgment,), notes = read(folder)

    assert judgment.stated_total is None
    assert [(part.criterion, part.score) for part in judgment.criteria] == [("works", 0.75), ("reads", None)]
    assert list(notes.warnings) == [
        "criteria.csv: criterion_achieved is not a finite number in 1 row, so it is unknown there.",
        "judges.csv: judge_score is not a finite number in 1 row, so it is unknown there.",
    ]


def test_a_cost_of_nan_is_unknown_and_said(tmp_path: Path) -> None:
    (run, _), _, notes = read(
        tables(tmp_path, RUN.replace("0.25", "nan"), RUN.replace("T0,00", "T0,01").replace("0.25", "NaN"))
    )

    assert run.cost.usd is None
    assert "runs.csv: cost_usd is not a finite number in 2 rows, so it is unknown there." in notes.warnings


def test_an_infinite_cost_is_a_row_that_cannot_be_read(tmp_path: Path) -> None:
    runs, _, notes = read(tables(tmp_path, RUN.replace("0.25", "inf"), judges=None))

    assert runs == []
    assert "cost_usd is 'inf'" in notes.unreadable[0].reason


@pytest.mark.parametrize("name", ["judges.csv", "criteria.csv"])
def test_one_missing_table_of_judgments_is_said(tmp_path: Path, name: str) -> None:
    folder = tables(tmp_path)
    (folder / name).unlink()

    runs, judgments, notes = read(folder)

    assert (len(runs), judgments) == (1, [])
    assert any("they need judges.csv and criteria.csv beside" in warning for warning in notes.warnings)


def test_a_folder_without_the_table_of_runs_is_refused_with_what_to_name(tmp_path: Path) -> None:
    folder = tables(tmp_path)
    (folder / "runs.csv").unlink()

    with pytest.raises(EvidenceError, match=r"has neither runs\.csv nor a run_result\.json; name the folder"):
        read(folder)
