"""`outweigh judge --calibrate`: what it shows, what it keeps, and what it lets a judge decide."""

import json
from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.cli.main import main
from outweigh.model.codec import Record, encode
from outweigh.model.suite import JudgeSpec
from outweigh.store.judging_file import JudgingFile, write_judging
from outweigh.testing.builders import a_judgment, runs_of_arm

SCORES = [0.1, 0.3, 0.5, 0.7, 0.9, 0.4, 0.2, 0.6, 0.8, 0.1, 0.3, 0.5]
GAIN = {"old": 0.0, "new": 0.1}


@pytest.fixture
def store(tmp_path: Path) -> Path:
    """Twelve tasks in two arms, judged; the suite demands an alpha of .7."""
    folder = tmp_path / "store"
    folder.mkdir()
    records: list[Record] = []
    for arm, gain in GAIN.items():
        runs = runs_of_arm(arm, [[True]] * len(SCORES))
        records += runs
        records += [a_judgment(run, score + gain) for run, score in zip(runs, SCORES, strict=True)]
    (folder / "runs-engine.jsonl").write_bytes(b"".join(encode(record) + b"\n" for record in records))
    judge = JudgeSpec(name="judge", backend="command", minimum_alpha=0.7)
    write_judging(folder, JudgingFile(judges=(judge,), tasks={}, tell_tales=()))
    return folder


def labels(folder: Path, scores: list[float], *, sees_gain: bool = True) -> str:
    """People's scores of one run of each arm; they see which is better, or see it the other way round."""
    path = folder.parent / "labels.csv"
    rows = [
        f"task-{place}/{arm}/1,{score + (gain if sees_gain else 0.1 - gain)}"
        for place, score in enumerate(scores, start=1)
        for arm, gain in GAIN.items()
    ]
    path.write_text("\n".join(["run_id,score", *rows]) + "\n")
    return str(path)


def told(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    main([*arguments, "--format", "json"])
    return json.loads(capsys.readouterr().out)


def verdict_warnings(store: Path, capsys: pytest.CaptureFixture[str]) -> str:
    arms = ("--baseline", "old", "--candidate", "new", "--policy", "composite")
    return " ".join(told(capsys, "verdict", str(store), *arms)["warnings"])


def test_until_it_is_calibrated_a_judge_is_shown_but_decides_nothing(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "'judge' is shown but decides nothing" in verdict_warnings(store, capsys)


def test_a_judge_that_agrees_with_people_may_decide(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["judge", str(store), "--calibrate", labels(store, SCORES)])

    assert code == 0
    assert "alpha within tasks 1.00, 0.7 required: it may decide" in capsys.readouterr().out
    assert "decides nothing" not in verdict_warnings(store, capsys)


def test_a_judge_that_does_not_agree_stays_without_a_say(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["judge", str(store), "--calibrate", labels(store, SCORES, sees_gain=False)])

    assert code == 1
    assert "it may not decide" in capsys.readouterr().out
    assert "its alpha with human labels is" in verdict_warnings(store, capsys)


def test_agreement_on_nine_tasks_is_not_enough(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["judge", str(store), "--calibrate", labels(store, SCORES[:9])])

    assert code == 1
    assert "rests on 9 tasks with labelled runs that differ, and 10 are needed" in " ".join(
        capsys.readouterr().out.split()
    )
    assert "decides nothing" in verdict_warnings(store, capsys)


@pytest.mark.parametrize("judges", [(), (JudgeSpec(name="judge", backend="command", minimum_alpha=0.1),)])
def test_a_demand_that_is_lowered_or_dropped_later_stays_in_force(
    store: Path, judges: tuple[JudgeSpec, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    main(["judge", str(store), "--calibrate", labels(store, SCORES, sees_gain=False)])
    capsys.readouterr()

    write_judging(store, JudgingFile(judges=judges, tasks={}, tell_tales=()))

    assert "and 0.7 is required" in verdict_warnings(store, capsys)


def test_what_scripts_are_told_is_what_is_kept(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    payload = told(capsys, "judge", str(store), "--calibrate", labels(store, SCORES))

    (kept,) = store.glob("calibration-*.json")
    assert payload == msgspec.json.decode(kept.read_bytes())
    assert payload["schema"] == "outweigh.calibration/1"
    assert kept.name == f"calibration-{payload['judge_sha256']}.json"


@pytest.mark.parametrize("judge", [[], ["--judge", "somebody"]])
def test_labels_about_other_runs_or_judges_are_no_calibration(
    store: Path, judge: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    path = store.parent / "labels.csv"
    path.write_text("run_id,score\n" + ("task-1/old/1,1\n" if judge else "nobody,1\n"))

    assert main(["judge", str(store), "--calibrate", str(path), *judge]) == 3
    assert "no label of" in capsys.readouterr().err
    assert not list(store.glob("calibration-*.json"))


def test_records_without_a_store_are_compared_and_nothing_is_kept(
    store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code = main(["judge", str(store / "runs-engine.jsonl"), "--calibrate", labels(store, SCORES)])

    assert code == 0
    assert "the suite requires none" in capsys.readouterr().out
    assert not list(store.glob("calibration-*.json"))


def test_calibrating_asks_nobody_so_it_goes_with_no_questions(store: Path, capsys: pytest.CaptureFixture[str]) -> None:
    code = main(["judge", str(store), "--calibrate", labels(store, SCORES), "--pairwise"])

    assert (code, "leave --pairwise out" in capsys.readouterr().err) == (2, True)
