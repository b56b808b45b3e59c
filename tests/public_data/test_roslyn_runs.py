"""Two coding agents with and without a skill, a file for each run: the figures of the project's own report."""

from pathlib import Path
from statistics import fmean, median
from typing import Any

import msgspec
import pytest

from outweigh.interop.table.importer import TableImporter
from outweigh.model.run_record import RunRecord
from outweigh.testing.importer_contract import read_all

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "roslyn_skills_runs"
EXPERIMENT = DATA / "creative-skyforge-planner-v1" / "artifacts" / "real-agent-runs-v3"
COLUMNS = {
    "task_id": "agent+task_id",
    "arm": "condition_id",
    "repeat": "replicate",
    "success": "succeeded",
    "input_tokens_with_cache": "prompt_tokens",
    "output_tokens": "completion_tokens",
    "cache_read_tokens": "cached_input_tokens",
}

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the public data set is not beside the project")


def test_the_runs_give_the_figures_of_the_report() -> None:
    report: dict[str, Any] = msgspec.json.decode(
        (EXPERIMENT / "gate" / "score" / "agent-eval-report.json").read_bytes()
    )
    found, notes = read_all(TableImporter(), EXPERIMENT / "runs", columns=COLUMNS)
    runs = [run for run in found if isinstance(run, RunRecord)]

    assert (len(runs), notes.unreadable) == (report["total_runs"], [])
    assert any("cp1252" in warning for warning in notes.warnings)
    for condition in report["condition_summaries"]:
        chosen = [run for run in runs if run.trial.arm == condition["condition_id"]]
        tokens = [run.extra["total_tokens"] for run in chosen]
        assert len(chosen) == condition["run_count"]
        assert all(run.checks and run.checks[0].passed for run in chosen) is (condition["success_rate"] == 1)
        durations = [run.duration_seconds for run in chosen if run.duration_seconds is not None]
        assert fmean(durations) == pytest.approx(condition["average_duration_seconds"])
        assert (fmean(tokens), median(tokens)) == (condition["average_total_tokens"], condition["median_total_tokens"])


def test_input_is_known_only_where_the_cached_part_is() -> None:
    """Codex counts what was cached as input, Claude Code does not; the report adds up both as if they were alike."""
    found, _ = read_all(TableImporter(), EXPERIMENT / "runs", columns=COLUMNS)

    known = {run.trial.task_id: run.usage.input_tokens for run in found if isinstance(run, RunRecord)}
    assert known["codex-cli/task-001-skyforge-build"] == 522813 - 501504
    assert known["claude-code/task-001-skyforge-build"] is None
