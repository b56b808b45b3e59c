from pathlib import Path

import pytest
from tests.interop.scylla.study_tables import SUBTESTS, StudyShape, draw_study, write_study

from outweigh.interop.scylla.importer import ScyllaImporter
from outweigh.model.judgment import Judgment
from outweigh.model.run_record import RunRecord
from outweigh.testing.importer_contract import read_all


def test_a_study_has_120_sub_tests_on_3_tests_with_3_repeats_and_3_judges() -> None:
    study = draw_study()

    assert sum(SUBTESTS) == len({(run["tier"], run["subtest"]) for run in study.runs}) == 120
    assert (len(study.runs), len(study.judges), len(study.criteria)) == (1080, 3240, 16200)


def test_the_same_arguments_write_the_same_bytes(tmp_path: Path) -> None:
    shape = StudyShape(subtests=(2, 1), tests=2, repeats=2)
    for name in ("one", "two"):
        write_study(tmp_path / name, lost=0.1, invalid=0.1, shape=shape, seed=3)

    for table in ("runs.csv", "judges.csv", "criteria.csv"):
        assert (tmp_path / "one" / table).read_bytes() == (tmp_path / "two" / table).read_bytes()


@pytest.mark.parametrize("share", [0.01, 0.04])
def test_a_study_with_lost_and_invalid_judgments_is_imported_without_a_fault(tmp_path: Path, share: float) -> None:
    complete = draw_study()
    study = write_study(tmp_path, lost=share / 2, invalid=share / 2)

    records, notes = read_all(ScyllaImporter(), tmp_path)
    judgments = [record for record in records if isinstance(record, Judgment)]
    unusable = sum(not row["judge_is_valid"] for row in study.judges)
    assert study.runs == complete.runs
    assert len(complete.judges) - len(study.judges) > 0 < unusable
    assert not notes.unreadable
    assert len([record for record in records if isinstance(record, RunRecord)]) == 1080
    assert len(judgments) == len(study.judges)
    assert sum(judgment.invalid_reason is not None for judgment in judgments) == unusable
