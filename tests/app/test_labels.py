import json
from pathlib import Path

import msgspec
import pytest

from outweigh.app.calibrate import read_labels
from outweigh.compare.calibrate import calibrate
from outweigh.errors import EvidenceError, UsageError
from outweigh.model.judgment import Calibration
from outweigh.score.judge_scores import HumanLabel, LabelAgreement
from outweigh.store.judging_file import read_calibrations, write_calibration
from outweigh.testing.builders import a_judgment, a_run


def written(tmp_path: Path, text: str, name: str = "labels.csv") -> str:
    (tmp_path / name).write_text(text)
    return str(tmp_path / name)


def test_labels_are_read_from_csv_and_from_json_lines_alike(tmp_path: Path) -> None:
    table = "run_id,criterion,score,label\na/1,,0.5,\na/1,tone,1,\nb/1,,,fail\n"
    rows = [
        {"run_id": "a/1", "score": 0.5},
        {"run_id": "a/1", "criterion": "tone", "score": 1},
        {"run_id": "b/1", "label": "fail"},
    ]
    lines = "".join(json.dumps(row) + "\n" for row in rows)

    from_csv = read_labels(written(tmp_path, table))
    from_lines = read_labels(written(tmp_path, lines, "labels.jsonl"))

    assert from_csv.labels == from_lines.labels
    assert from_csv.labels[2] == HumanLabel(run_id="b/1", criterion=None, score=None, passed=False)
    assert from_csv.sha256 != from_lines.sha256


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("run_id,score\n", "holds no label"),
        ("run_id,score\n,0.5\n", r":2: run_id is missing"),
        ("run_id,score\na,7\n", r":2: the score '7' is not a number from 0 to 1"),
        ("run_id,score\na,nan\n", "not a number"),
        ("run_id,label\na,maybe\n", "the label 'maybe' is not one of"),
        ("run_id,score,label\na,0.5,pass\n", "either a score"),
        ("run_id,score\na,\n", "either a score"),
        ("run_id,scor\na,1\n", "no column 'scor'"),
        ("run_id,score\na,1,2\n", "no column"),
        ("run_id,score\na,1\na,0\n", "twice"),
    ],
)
def test_what_cannot_be_a_label_is_refused_with_its_place(tmp_path: Path, text: str, complaint: str) -> None:
    with pytest.raises(UsageError, match=complaint):
        read_labels(written(tmp_path, text))


@pytest.mark.parametrize("line", ["{", "[1]", '{"run_id": 3, "score": 1}', '{"run_id": "a", "score": true}'])
def test_lines_that_are_no_labels_are_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(UsageError, match=r"labels\.jsonl:1"):
        read_labels(written(tmp_path, line, "labels.jsonl"))


def test_a_file_that_is_not_there_or_not_text_is_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.csv").write_bytes(b"\xff\xfe\x00")

    for path in ("nowhere.csv", "bytes.csv"):
        with pytest.raises(UsageError, match="--calibrate"):
            read_labels(str(tmp_path / path))


def a_calibration() -> Calibration:
    labels = [HumanLabel(run_id=a_run().run_id, criterion=None, score=0.5, passed=None)]
    (calibration,) = calibrate([a_judgment(a_run())], labels, "0" * 64, tasks={a_run().run_id: "task-1"})
    return calibration


def test_a_calibration_is_kept_beside_the_runs_and_found_again(tmp_path: Path) -> None:
    kept = write_calibration(tmp_path, a_calibration())

    assert kept.name == f"calibration-{a_calibration().judge.sha256}.json"
    assert list(read_calibrations(tmp_path)) == [a_calibration()]


def test_a_calibration_of_before_tasks_were_counted_is_read_and_lets_no_judge_decide(tmp_path: Path) -> None:
    kept = write_calibration(tmp_path, a_calibration())
    older = msgspec.json.decode(kept.read_bytes())
    for name in ("between", "within", "bias"):
        del older["overall"][name]
    kept.write_bytes(msgspec.json.encode(older | {"seed": 0}))

    (read,) = read_calibrations(tmp_path)

    assert "its labels cannot show one" in (LabelAgreement.of(read).shortfall(0.5) or "")


@pytest.mark.parametrize(
    ("old", "new"), [('"outweigh.calibration/1"', '"other/1"'), ('"name": "judge"', '"name": "x"')]
)
def test_a_calibration_that_was_tampered_with_is_refused(tmp_path: Path, old: str, new: str) -> None:
    kept = write_calibration(tmp_path, a_calibration())
    kept.write_text(kept.read_text().replace(old, new))

    with pytest.raises(EvidenceError, match="Calibrate again"):
        list(read_calibrations(tmp_path))
