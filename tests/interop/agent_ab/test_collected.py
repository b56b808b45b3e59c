"""Collected records and the folders they were collected from become the same runs."""

import json
from pathlib import Path
from typing import Any

import pytest

from outweigh.app.choose_importer import choose_sources
from outweigh.errors import EvidenceError
from outweigh.interop.agent_ab.importer import CollectedImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import ImporterContract, read_all

CHECK = "go test ./..."


def a_record(**more: Any) -> dict[str, Any]:
    return {
        "run_id": "20260101T000000Z__greets__with__r1",
        "task_id": "greets",
        "arm": "with",
        "repeat": 1,
        "success": True,
        "duration_seconds": 60,
        "opencode_exit_code": 0,
        "acceptance_exit_code": 0,
        "setup_exit_code": 0,
        "arm_setup_exit_code": 0,
        "acceptance_command": CHECK,
        "started_at_utc": "2026-01-01T00:00:00Z",
    } | more


def an_event(kind: str, command: str | None = None) -> dict[str, Any]:
    return {"type": kind, "part": {"state": {"input": {"command": command}}}}


def a_folder(results: Path, **more: Any) -> Path:
    """A run's folder as the harness leaves it."""
    record = a_record(**more)
    folder = results / "runs" / record["run_id"]
    folder.mkdir(parents=True)
    (folder / "run_meta.json").write_text(json.dumps(record, indent=2))
    events = [an_event("tool_use", f"{CHECK} -v"), an_event("tool_use", "ls"), an_event("step_finish")]
    (folder / "opencode.events.jsonl").write_text("".join(json.dumps(event) + "\n" for event in events))
    tokens = {"input": 10, "output": 20, "reasoning": 5, "cache": {"read": 300, "write": 40}}
    messages = [
        {"info": {"role": "user"}},
        {"info": {"cost": 0.15, "tokens": tokens}},
        {"info": {"cost": 0.1, "tokens": tokens}},
    ]
    (folder / "session.export.json").write_text(json.dumps({"messages": messages}))
    return results


def runs_of(path: Path) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(CollectedImporter(), path)
    return [run for run in found if isinstance(run, RunRecord)], notes


class TestRecords(ImporterContract):
    def importer(self) -> CollectedImporter:
        return CollectedImporter()

    def example(self, folder: Path) -> Path:
        path = folder / "collected.jsonl"
        rows = (a_record(), a_record(run_id="other", arm="without", success=False, total_cost_usd=0.5))
        path.write_text("".join(json.dumps(row) + "\n" for row in rows))
        return path


class TestFolders(ImporterContract):
    def importer(self) -> CollectedImporter:
        return CollectedImporter()

    def example(self, folder: Path) -> Path:
        return a_folder(folder / "results")


def test_records_spread_over_lines_are_read_as_their_harness_writes_them(tmp_path: Path) -> None:
    path = tmp_path / "collected.jsonl"
    path.write_text("".join(json.dumps(a_record(run_id=str(n), repeat=n), indent=2) + "\n" for n in (1, 2)))

    runs, notes = runs_of(tmp_path)

    assert CollectedImporter().recognises(tmp_path)
    assert [(run.run_id, run.trial.repeat) for run in runs] == [("1", 1), ("2", 2)]
    assert runs[0].started_at is not None
    assert not notes.unreadable


def test_a_folder_has_what_would_have_been_collected(tmp_path: Path) -> None:
    (run,), notes = runs_of(a_folder(tmp_path))

    assert (run.duration_seconds, run.cost.usd) == (60, 0.25)
    usage = run.usage
    assert (usage.input_tokens, usage.output_tokens, usage.cache_read_tokens, usage.cache_write_tokens) == (
        20,
        50,
        600,
        80,
    )
    assert (run.step_count, run.tool_call_count, run.check_command_count) == (1, 2, 1)
    assert not notes.unreadable


def test_what_opencode_did_not_leave_is_unknown(tmp_path: Path) -> None:
    folder = next((a_folder(tmp_path) / "runs").iterdir())
    (folder / "session.export.json").write_text("")
    (folder / "opencode.events.jsonl").unlink()

    (run,), _ = runs_of(tmp_path)

    assert (run.usage.input_tokens, run.cost.usd, run.step_count) == (None, None, None)


def test_a_program_that_failed_is_said_to_be_counted_otherwise_than_in_the_analysis(tmp_path: Path) -> None:
    a_folder(tmp_path, opencode_exit_code=124, acceptance_exit_code=99, success=False)

    (run,), notes = runs_of(tmp_path)

    assert run.status is Status.AGENT_ERROR
    assert any("in 1 runs the agent's program failed" in warning for warning in notes.warnings)


def test_the_analysis_is_kept_beside_and_never_made_into_runs(tmp_path: Path) -> None:
    analysis = {"run_count": 2, "decision": "mixed results", "arm_summaries": [{"arm": "with", "runs": 1}]}
    (a_folder(tmp_path) / "analysis.json").write_text(json.dumps(analysis))

    runs, notes = runs_of(tmp_path)

    assert len(runs) == 1
    assert notes.facts == {"run_count": 2, "decision": "mixed results"}
    assert notes.aggregates == [{"arm": "with", "runs": 1}]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (json.dumps(a_record()) + '\n{"task_id": "a"}\n', 2, "no task_id, arm and repeat"),
        (json.dumps(a_record()) + '\n{"task_id": "a", "arm": "b", "repeat": -1}\n', 2, "repeat"),
        (json.dumps(a_record()) + "\n{\n  ", 2, "in the middle of a record"),
        (json.dumps(a_record()) + "\n[]\n", 2, "not a JSON object"),
    ],
)
def test_a_row_that_is_no_record_has_a_place_and_a_reason(tmp_path: Path, content: str, line: int, reason: str) -> None:
    path = tmp_path / "collected.jsonl"
    path.write_text(content)

    runs, notes = runs_of(path)

    assert len(runs) == 1
    (unread,) = notes.unreadable
    assert unread.line == line
    assert reason in unread.reason


def test_a_folder_without_results_is_refused(tmp_path: Path) -> None:
    with pytest.raises(EvidenceError, match="neither collected"):
        runs_of(tmp_path)


@pytest.mark.parametrize(
    "told",
    [
        {"success": True, "cost_usd": 0.25},
        {"success": True, "duration_ms": 5000},
        {"success": True, "total_cost_usd": 0.25, "duration_s": 5},
        {"success": True, "completion_tokens": 7},
        {"success": True, "usage": {"output_tokens": 7}},
        {"success": True, "turns": 7},
        {"passed": True},
    ],
    ids=" ".join,
)
def test_rows_with_measures_under_other_names_are_a_table(told: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "data.jsonl"
    path.write_text("".join(json.dumps({"task_id": "t", "arm": arm, "repeat": 1} | told) + "\n" for arm in "ab"))

    assert [source.importer.name for source in choose_sources(None, path, mapped=False)] == ["table"]


@pytest.mark.parametrize(
    "told",
    [
        {"success": True, "total_cost_usd": 0.25, "cost_usd": 0.25},
        {"success": True, "model": "m", "note": "n", "score": 0.5},
        {"success": True, "opencode_exit_code": 86, "cost_usd": 0.25},
        {"success": True, "acceptance_command": CHECK, "total_tokens": 5, "turns": 7},
        {},
    ],
    ids=" ".join,
)
def test_rows_of_the_harness_with_more_columns_stay_its_own(told: dict[str, Any], tmp_path: Path) -> None:
    path = tmp_path / "collected.jsonl"
    path.write_text("".join(json.dumps({"task_id": "t", "arm": arm, "repeat": 1} | told) + "\n" for arm in "ab"))

    assert [source.importer.name for source in choose_sources(None, path, mapped=False)] == ["collected"]
