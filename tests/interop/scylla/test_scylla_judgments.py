from pathlib import Path

import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.scylla.tables import read_judgments
from outweigh.model.judgment import Judgment
from outweigh.score.judge_scores import judgment_score, stated_gap

RUN = "exp,model,T0,00,1"
JUDGES = "experiment,agent_model,tier,subtest,run_number,judge_model,judge_number,judge_score,judge_is_valid"
CRITERIA = (
    "experiment,agent_model,tier,subtest,run_number,judge_model,judge_number,criterion,criterion_achieved,criterion_max"
)


def judgments(tmp_path: Path, judges: list[str], criteria: list[str]) -> list[Judgment]:
    (tmp_path / "judges.csv").write_text("\n".join([JUDGES, *(f"{RUN},{row}" for row in judges)]) + "\n")
    (tmp_path / "criteria.csv").write_text("\n".join([CRITERIA, *(f"{RUN},{row}" for row in criteria)]) + "\n")
    return list(read_judgments(tmp_path))


def test_points_are_weights_and_the_stated_total_is_kept_beside_their_sum(tmp_path: Path) -> None:
    (judgment,) = judgments(tmp_path, ["opus,1,0.96,True"], ["opus,1,works,3,4", "opus,1,reads,1,1"])

    assert judgment.run_id == "exp/model/T0/00/1"
    assert judgment_score(judgment).value == pytest.approx(0.8)
    assert stated_gap(judgment).value == pytest.approx(0.16)


def test_a_criterion_without_points_does_not_apply(tmp_path: Path) -> None:
    (judgment,) = judgments(tmp_path, ["opus,1,1.0,True"], ["opus,1,works,1,2", "opus,1,na,,", "opus,1,none,0,0"])

    assert judgment_score(judgment).value == pytest.approx(0.5)


def test_the_same_model_asked_twice_has_two_passes(tmp_path: Path) -> None:
    rows = judgments(tmp_path, ["opus,1,1,True", "opus,2,1,True"], ["opus,1,works,1,1", "opus,2,works,0,1"])

    assert [(row.pass_index, judgment_score(row).value) for row in rows] == [(1, 1), (2, 0)]


@pytest.mark.parametrize(
    ("judge", "criteria", "reason"),
    [
        ("opus,1,0.0,False", ["opus,1,works,0,1"], "marked as invalid"),
        ("opus,1,0.9,True", [], "no criteria"),
        ("opus,1,0.9,True", ["opus,1,works,3,2"], "3 of 2 points"),
    ],
)
def test_what_cannot_be_used_is_invalid_and_never_a_zero(
    tmp_path: Path, judge: str, criteria: list[str], reason: str
) -> None:
    (judgment,) = judgments(tmp_path, [judge], criteria)

    assert reason in (judgment.invalid_reason or "")
    assert judgment_score(judgment).value is None


def test_another_table_is_refused(tmp_path: Path) -> None:
    (tmp_path / "criteria.csv").write_text("a,b\n1,2\n")

    with pytest.raises(EvidenceError, match="no column 'experiment'"):
        list(read_judgments(tmp_path))
