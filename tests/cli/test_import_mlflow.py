"""`outweigh import` of what MLflow left, from the question which score decides to the comparison."""

from pathlib import Path
from typing import Any

SAMPLES = Path(__file__).parents[1] / "interop" / "mlflow" / "samples" / "mlflow"


def test_tables_are_found_counted_as_mlflow_counts_them_and_compared(outweigh: Any, tmp_path: Path) -> None:
    target = str(tmp_path / "runs")

    answer = outweigh("import", str(SAMPLES / "tables"), "-o", target)

    assert (answer.code, answer.err) == (0, "")
    assert "6 runs of 2 arms on 3 tasks read as mlflow" in answer.out
    assert "the source says with-notes: ok/mean: 1.0" in answer.out
    compared = outweigh("compare", target, "--baseline", "plain", "--candidate", "with-notes", "--format", "json")
    assert [compared.json()["arms"][arm]["successes"] for arm in ("plain", "with-notes")] == [2, 3]


def test_two_scores_that_could_be_the_success_are_a_question_with_its_answer(outweigh: Any, tmp_path: Path) -> None:
    source, target = str(SAMPLES / "result_df.json"), str(tmp_path / "runs")

    asked = outweigh("import", source, "-o", target)
    told = outweigh("import", source, "-o", target, "--map", "success=ok", "--arm", "plain")

    assert asked.code == 3
    assert "--map success=" in asked.err
    assert told.code == 0
    assert "3 runs of 1 arm on 3 tasks read as mlflow" in told.out
