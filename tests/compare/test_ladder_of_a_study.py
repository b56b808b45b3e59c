"""A study of 120 arms, 1,080 runs and three judges: what a few lost judgments may change, and what they may not."""

import re
from pathlib import Path

import pytest
from tests.interop.scylla.study_tables import StudyShape, write_study

from outweigh.compare.evidence import Evidence
from outweigh.compare.ladder import Ladder, compare_tiers
from outweigh.compare.ladder_layout import TierPlan
from outweigh.interop.scylla.importer import ScyllaImporter
from outweigh.model.run_record import RunRecord
from outweigh.testing.builders import evidence_of
from outweigh.testing.importer_contract import read_all


def study(folder: Path, *, lost: float = 0.0, invalid: float = 0.0, shape: StudyShape | None = None) -> Ladder:
    write_study(folder, lost=lost, invalid=invalid, shape=shape, seed=1)
    records, _ = read_all(ScyllaImporter(), folder)
    return compare_study(evidence_of(records))


def compare_study(evidence: Evidence) -> Ladder:
    tiers = {arm: int(found[1]) for arm in evidence.arms if (found := re.search(r"T(\d+)", arm, re.IGNORECASE))}
    return compare_tiers(evidence, None, plan=TierPlan(tiers=tiers))


@pytest.fixture(scope="module")
def complete(tmp_path_factory: pytest.TempPathFactory) -> Ladder:
    return study(tmp_path_factory.mktemp("complete"))


def test_the_study_has_seven_tiers_of_120_arms(complete: Ladder) -> None:
    assert [tier.number for tier in complete.levels] == list(range(7))
    assert len(complete.tiers) == sum(len(tier.sub_arms) for tier in complete.levels) == 120
    assert all(tier.grade is not None for tier in complete.levels)


@pytest.mark.parametrize(("lost", "invalid"), [(0.01, 0.0), (0.0, 0.01), (0.04, 0.0), (0.02, 0.02)])
def test_lost_and_invalid_judgments_hardly_move_a_tier(
    tmp_path: Path, complete: Ladder, lost: float, invalid: float
) -> None:
    partly = study(tmp_path, lost=lost, invalid=invalid)

    for whole, tier in zip(complete.levels, partly.levels, strict=True):
        for figure in ("composite", "pass_rate"):
            assert tier.figures[figure].point == pytest.approx(whole.figures[figure].point, abs=0.005)
        assert tier.pooled.metrics["composite"].median == pytest.approx(
            whole.pooled.metrics["composite"].median, abs=0.005
        )
        assert tier.uplift.value == pytest.approx(whole.uplift.value, abs=0.005)
        assert tier.gain_over_first.point == pytest.approx(whole.gain_over_first.point, abs=0.005)
        assert (tier.grade, tier.grade_of_mean) == (whole.grade, whole.grade_of_mean)
    assert sum(tier.uplift.value is None for tier in partly.tiers) == 0
    assert any("lack an answer of a judge" in warning for warning in partly.warnings)


SMALL = StudyShape(subtests=(3, 3), tests=3, repeats=3)


def test_a_judge_that_fails_on_one_arm_hides_that_arm_alone(tmp_path: Path) -> None:
    write_study(tmp_path, shape=SMALL)
    records, _ = read_all(ScyllaImporter(), tmp_path)
    runs = {record.run_id: record.trial.arm for record in records if isinstance(record, RunRecord)}
    failing = next(arm for arm in runs.values() if "T1" in arm.upper())
    kept = [
        record
        for record in records
        if isinstance(record, RunRecord)
        or runs[record.run_id] != failing
        or record.judge.model != "claude-opus-4-5-20251101"
    ]
    result = compare_study(evidence_of(kept))

    unknown = [tier.summary.name for tier in result.tiers if tier.uplift.value is None]
    assert unknown == [failing]
    assert any(f"runs of {failing}" in warning and "Fisher" in warning for warning in result.warnings)


def test_a_run_that_nobody_judged_is_left_out_by_itself(tmp_path: Path) -> None:
    write_study(tmp_path, shape=SMALL)
    records, _ = read_all(ScyllaImporter(), tmp_path)
    silent = next(record.run_id for record in records if isinstance(record, RunRecord))
    kept = [record for record in records if isinstance(record, RunRecord) or record.run_id != silent]
    result = compare_study(evidence_of(kept))

    assert all(tier.uplift.value is not None for tier in result.tiers)
    assert any("1 run has no judge score" in warning for warning in result.warnings)
