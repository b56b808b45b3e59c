"""Samples of lm-evaluation-harness become runs of models on documents."""

import json
from pathlib import Path
from typing import Any

import pytest
from tests.interop.imported import SAMPLES, copied_sample, imported_runs, passes

from outweigh.errors import EvidenceError
from outweigh.interop.lm_eval import LmEvalImporter
from outweigh.testing.importer_contract import ImporterContract


def a_sample(document: int = 0, **more: Any) -> dict[str, Any]:
    return {
        "doc_id": document,
        "doc": {"question": "?"},
        "target": "4",
        "arguments": {},
        "resps": [["4"]],
        "filtered_resps": ["4"],
        "doc_hash": "d",
        "prompt_hash": "p",
        "target_hash": "t",
    } | more


def written(folder: Path, *samples: dict[str, Any]) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "samples_gsm8k_2026-01-01T10-00-00.000001.jsonl"
    path.write_text("".join(f"{json.dumps(each)}\n" for each in samples))
    return path


class TestSamples(ImporterContract):
    def importer(self) -> LmEvalImporter:
        return LmEvalImporter()

    def example(self, folder: Path) -> Path:
        return copied_sample("lm_eval", folder)


def test_real_files_agree_with_the_results_beside_them() -> None:
    runs, notes = imported_runs(LmEvalImporter(), SAMPLES / "lm_eval")

    assert passes(runs) == {"large": [True] * 4, "small": [True, True, False, False]}
    assert notes.arm_facts == {"large": {"sums exact_match": 1.0}, "small": {"sums exact_match": 0.5}}
    assert {run.trial.task_id for run in runs} == {"sums/0", "sums/1", "sums/2", "sums/3"}
    assert all(run.started_at is not None and run.cost.usd is None for run in runs)


def test_an_older_file_without_a_list_of_metrics_is_read(tmp_path: Path) -> None:
    runs, _ = imported_runs(LmEvalImporter(), written(tmp_path / "phi", a_sample(acc=1.0, acc_norm=0.0)))

    assert passes(runs) == {"phi": [True]}


def test_filters_of_the_same_answers_are_not_counted_twice(tmp_path: Path) -> None:
    samples = [a_sample(exact_match=0.0, filter=name) for name in ("strict-match", "flexible-extract")]

    runs, notes = imported_runs(LmEvalImporter(), written(tmp_path / "phi", *samples))

    assert passes(runs) == {"phi": [False]}
    assert "by several filters; 'strict-match' is read, and 1 results" in next(iter(notes.warnings))


def test_a_metric_that_is_no_share_of_right_answers_says_nothing(tmp_path: Path) -> None:
    path = written(tmp_path / "phi", a_sample(bleu=35.2))

    (run,), notes = imported_runs(LmEvalImporter(), path)

    assert run.checks is None
    assert "--map success=METRIC" in next(iter(notes.warnings))


def test_the_user_says_which_metric_decides_and_from_where(tmp_path: Path) -> None:
    path = written(tmp_path / "phi", a_sample(bleu=35.2))

    runs, _ = imported_runs(LmEvalImporter(), path, columns={"success": "bleu>=30"})

    assert passes(runs) == {"phi": [True]}
    with pytest.raises(EvidenceError, match="no metric 'rouge'; it has bleu"):
        imported_runs(LmEvalImporter(), path, columns={"success": "rouge"})
