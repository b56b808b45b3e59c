"""`outweigh import` of an experiment of ProjectScylla, from its folders to a comparison of tiers."""

from pathlib import Path
from typing import Any

from tests.interop.scylla.scylla_experiments import a_run, an_experiment


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
