"""terminal-bench and SWE-bench: outcomes as their own harnesses count them."""

from collections import Counter
from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.errors import UsageError
from outweigh.interop.swe_bench import SweBenchImporter, instance_repository
from outweigh.interop.swe_bench_reports import line_run
from outweigh.interop.terminal_bench import TerminalBenchImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import Importer
from outweigh.testing.importer_contract import ImporterContract, read_all

REPORT = {
    "total_instances": 7,
    "submitted_instances": 6,
    "resolved_instances": 1,
    "resolved_ids": ["a__a-1"],
    "unresolved_ids": ["a__a-2", "a__a-3", "a__a-4"],
    "error_ids": ["a__a-5"],
    "empty_patch_ids": ["a__a-6"],
    "incomplete_ids": ["a__a-7"],
    "infra_failure_ids": ["a__a-3"],
    "ambiguous_failure_ids": ["a__a-4"],
    "failure_reasons": {"a__a-3": "no space left on device", "a__a-4": "killed"},
    "schema_version": 2,
}


def write(path: Path, document: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(document))
    return path


def tb_trial(task: str, number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"{task}-{number}",
        "trial_name": f"{task}.{number}-of-2.my-run",
        "task_id": task,
        "instruction": "…",
        "is_resolved": True,
        "failure_mode": "unset",
        "total_input_tokens": 1000,
        "total_output_tokens": 50,
        "agent_started_at": "2026-05-01T10:00:00+00:00",
        "agent_ended_at": "2026-05-01T10:01:00+00:00",
    } | fields


def tb_run(folder: Path, *trials: dict[str, Any]) -> Path:
    write(folder / "results.json", {"results": list(trials), "accuracy": 0.5, "n_resolved": 1})
    write(folder / "run_metadata.json", {"agent_name": "terminus", "model_name": "openai/gpt-5", "agent_kwargs": {}})
    return folder


def by_task(importer: Importer, path: Path, **options: Any) -> dict[str, RunRecord]:
    found = read_all(importer, path, **options)[0]
    return {run.trial.task_id: run for run in found if isinstance(run, RunRecord)}


def test_turns_of_a_result_line_are_kept_and_are_not_steps() -> None:
    run = line_run({"instanceId": "a__a-1", "resolved": True, "numTurns": 24}, None)

    assert run.step_count is None
    assert run.extra["numTurns"] == 24


def resolved(run: RunRecord) -> bool | None:
    assert run.checks is not None
    (check,) = run.checks
    return check.passed


class TestTerminalBenchImporter(ImporterContract):
    def importer(self) -> Importer:
        return TerminalBenchImporter()

    def example(self, folder: Path) -> Path:
        return tb_run(folder / "my-run", tb_trial("one", 1), tb_trial("one", 2, is_resolved=False), tb_trial("two", 1))


class TestSweBenchImporter(ImporterContract):
    # Calls are counted by tool: one that is not named was not called.
    alternatives = frozenset({"tool_call_count"})

    def importer(self) -> Importer:
        return SweBenchImporter()

    def example(self, folder: Path) -> Path:
        return write(folder / "openai__gpt-5.my-run.json", REPORT)


def test_a_trial_of_terminal_bench_keeps_its_number_and_its_figures(tmp_path: Path) -> None:
    found, notes = read_all(TerminalBenchImporter(), tb_run(tmp_path / "my-run", tb_trial("one", 2)))

    (run,) = found
    assert isinstance(run, RunRecord)
    assert (run.trial.repeat, run.trial.arm, run.duration_seconds) == (2, "terminus openai/gpt-5", 60)
    assert (run.usage.output_tokens, run.usage.input_tokens) == (50, None), "input includes an unknown part from cache"
    assert notes.arm_facts == {"terminus openai/gpt-5": {"accuracy": 0.5, "resolved": 1}}


@pytest.mark.parametrize(
    ("mode", "is_resolved", "status"),
    [
        ("unset", True, Status.COMPLETED),
        ("agent_timeout", True, Status.COMPLETED),
        ("agent_timeout", None, Status.TIMEOUT),
        ("context_length_exceeded", None, Status.AGENT_ERROR),
        ("agent_installation_failed", None, Status.INFRA_ERROR),
        ("parse_error", None, Status.INFRA_ERROR),
    ],
)
def test_a_failure_mode_says_whose_fault_it_was(
    tmp_path: Path, mode: str, is_resolved: bool | None, status: Status
) -> None:
    trial = tb_trial("one", 1, failure_mode=mode, is_resolved=is_resolved)

    assert by_task(TerminalBenchImporter(), tb_run(tmp_path / "run", trial))["one"].status is status


def test_zero_tokens_of_terminal_bench_are_unknown(tmp_path: Path) -> None:
    trial = tb_trial("one", 1, total_input_tokens=0, total_output_tokens=0)

    assert by_task(TerminalBenchImporter(), tb_run(tmp_path / "run", trial))["one"].usage.output_tokens is None


def test_jobs_of_one_arm_are_repeats_and_jobs_of_others_are_not(tmp_path: Path) -> None:
    for arm in ("20250811_cursor-cli_claude-4-sonnet", "20250812_goose_gpt-5"):
        for job in ("run1_2025-08-10__05-27-18", "run2_2025-08-11__05-27-18"):
            trial = tb_trial("one", 1, id=arm + job, trial_name="one.1-of-1.job", trial_started_at=job)
            write(tmp_path / arm / job / "results.json", {"results": [trial], "accuracy": 1.0, "n_resolved": 1})
            write(tmp_path / arm / job / "one" / "one.1-of-1.job" / "results.json", trial)

    found, notes = read_all(TerminalBenchImporter(), tmp_path)

    runs = [run for run in found if isinstance(run, RunRecord)]
    assert TerminalBenchImporter().recognises(tmp_path)
    assert [(run.trial.arm, run.trial.task_id, run.trial.repeat) for run in runs] == [
        ("cursor-cli_claude-4-sonnet", "one", 1),
        ("cursor-cli_claude-4-sonnet", "one", 2),
        ("goose_gpt-5", "one", 1),
        ("goose_gpt-5", "one", 2),
    ]
    assert len({run.run_id for run in runs}) == 4
    assert all(run.trial.arm in run.run_id for run in runs)
    assert {run.extra["repeat_label"] for run in runs} == {"arbitrary"}
    assert notes.arm_facts["goose_gpt-5"] == {"accuracy": [1.0, 1.0], "resolved": [1, 1]}


def test_trials_whose_job_has_no_file_are_read_from_their_own(tmp_path: Path) -> None:
    for arm, job, resolved in (
        ("20250811_cursor", "run1", True),
        ("20250811_cursor", "run2", False),
        ("goose", "r1", True),
    ):
        for task in ("one", "two"):
            trial = tb_trial(task, 1, trial_name=f"{task}.1-of-1.{job}", is_resolved=resolved, trial_started_at=job)
            write(tmp_path / arm / job / task / f"{task}.1-of-1.{job}" / "results.json", trial)

    found, notes = read_all(TerminalBenchImporter(), tmp_path)

    runs = [run for run in found if isinstance(run, RunRecord)]
    assert TerminalBenchImporter().recognises(tmp_path)
    assert sorted((run.trial.arm, run.trial.task_id, run.trial.repeat) for run in runs) == [
        ("cursor", "one", 1),
        ("cursor", "one", 2),
        ("cursor", "two", 1),
        ("cursor", "two", 2),
        ("goose", "one", 1),
        ("goose", "two", 1),
    ]
    assert "6 trials were read from files of their own, since their jobs have no results.json." in notes.warnings


def test_results_that_list_what_was_resolved_are_not_swe_benchs(tmp_path: Path) -> None:
    results = {"results": [tb_trial("one", 1)], "resolved_ids": ["one"], "unresolved_ids": [], "accuracy": 1.0}
    path = write(tmp_path / "job" / "results.json", results)

    assert TerminalBenchImporter().recognises(tmp_path)
    assert not SweBenchImporter().recognises(path)
    assert not SweBenchImporter().recognises(tmp_path)


def test_files_of_jobs_that_are_named_by_their_time_are_repeats_of_the_folder(tmp_path: Path) -> None:
    for arm in ("20250811_cursor-cli_sonnet", "20250619_terminus_opus"):
        for day in (1, 2):
            trial = tb_trial("one", 1, id=f"{arm} {day}")
            write(tmp_path / arm / f"2025-08-0{day}__10-00-00__results.json", {"results": [trial]})

    found, _ = read_all(TerminalBenchImporter(), tmp_path)

    assert Counter(run.trial.arm for run in found if isinstance(run, RunRecord)) == {
        "cursor-cli_sonnet": 2,
        "terminus_opus": 2,
    }


def test_results_with_a_name_in_front_are_the_jobs_of_that_arm(tmp_path: Path) -> None:
    for number, name in enumerate(("terminus_run1_results.json", "terminus_run2_results.json", "goose_results.json")):
        trial = tb_trial("one", 1, id=f"{number}", is_resolved=number > 0)
        write(tmp_path / name, {"results": [trial], "accuracy": 1.0, "n_resolved": 1})

    found, _ = read_all(TerminalBenchImporter(), tmp_path)

    runs = [run for run in found if isinstance(run, RunRecord)]
    assert TerminalBenchImporter().recognises(tmp_path)
    assert TerminalBenchImporter().recognises(tmp_path / "goose_results.json")
    assert {(run.trial.arm, run.trial.repeat) for run in runs} == {("terminus", 1), ("terminus", 2), ("goose", 1)}


def test_trials_that_do_not_count_are_said_beside_the_sources_own_figure(tmp_path: Path) -> None:
    broken = tb_trial("two", 1, is_resolved=None, failure_mode="parse_error")

    _, notes = read_all(TerminalBenchImporter(), tb_run(tmp_path / "my-run", tb_trial("one", 1), broken))

    (said,) = notes.warnings
    assert said.startswith("terminus openai/gpt-5: terminal-bench counts 1 of 2 as resolved; 1 of these trials say")
    assert said.endswith("(1 parse_error) and are left out, so 1 of 1 passed here.")


def test_jobs_of_one_agent_with_different_arguments_are_arms(tmp_path: Path) -> None:
    for name, kwargs in (("a", {"version": 1}), ("b", {"version": 2})):
        trial = tb_trial("one", 1, id=name)
        write(tmp_path / name / "results.json", {"results": [trial]})
        write(tmp_path / name / "run_metadata.json", {"agent_name": "terminus", "agent_kwargs": kwargs})

    found, _ = read_all(TerminalBenchImporter(), tmp_path)

    assert {run.trial.arm for run in found if isinstance(run, RunRecord)} == {
        "terminus version=1",
        "terminus version=2",
    }


def test_a_report_counts_the_missing_as_failed_and_the_environments_fault_as_nothing(tmp_path: Path) -> None:
    found = by_task(SweBenchImporter(), write(tmp_path / "openai__gpt-5.my-run.json", REPORT))

    assert {task[-1]: (resolved(run), run.status) for task, run in found.items()} == {
        "1": (True, Status.COMPLETED),
        "2": (False, Status.COMPLETED),
        "3": (None, Status.INFRA_ERROR),
        "4": (None, Status.COMPLETED),
        "5": (False, Status.COMPLETED),
        "6": (False, Status.COMPLETED),
        "7": (False, Status.COMPLETED),
    }
    assert {run.trial.arm for run in found.values()} == {"openai/gpt-5"}
    assert found["a__a-3"].status_detail == "no space left on device"


def test_a_report_of_the_first_version_is_read_too(tmp_path: Path) -> None:
    old = {key: value for key, value in REPORT.items() if "failure" not in key and key != "schema_version"}

    found = by_task(SweBenchImporter(), write(tmp_path / "m.r.json", old))

    assert (resolved(found["a__a-3"]), found["a__a-3"].status) == (False, Status.COMPLETED)


def test_a_smaller_suite_is_all_there_is(tmp_path: Path) -> None:
    tasks = frozenset({"a__a-1", "a__a-2", "b__b-9"})

    found = by_task(SweBenchImporter(), write(tmp_path / "m.r.json", REPORT), tasks=tasks)

    assert {task: resolved(run) for task, run in found.items()} == {"a__a-1": True, "a__a-2": False, "b__b-9": False}


def test_a_list_of_what_was_resolved_needs_the_suite(tmp_path: Path) -> None:
    path = write(tmp_path / "mine.json", {"system": "Mine", "resolvedIds": ["a__a-1", "z__z-1"]})

    with pytest.raises(UsageError, match="--tasks"):
        read_all(SweBenchImporter(), path)
    found = by_task(SweBenchImporter(), path, tasks=frozenset({"a__a-1", "a__a-2"}))

    assert {task: resolved(run) for task, run in found.items()} == {"a__a-1": True, "a__a-2": False}
    assert found["a__a-1"].trial.arm == "Mine"


def test_a_prediction_alone_is_no_outcome_but_an_empty_one_is(tmp_path: Path) -> None:
    rows = [
        {"instance_id": "a__a-1", "model_name_or_path": "m", "model_patch": "diff"},
        {"instance_id": "a__a-2", "model_name_or_path": "m", "model_patch": ""},
    ]
    lines = tmp_path / "preds.jsonl"
    lines.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    table = write(tmp_path / "preds.json", {row["instance_id"]: row for row in rows})

    for path in (lines, table):
        assert SweBenchImporter().recognises(path)
        assert {task: resolved(run) for task, run in by_task(SweBenchImporter(), path).items()} == {
            "a__a-1": None,
            "a__a-2": False,
        }


def test_logs_of_an_evaluation_are_read_model_by_model(tmp_path: Path) -> None:
    for model, outcome in (("m1", True), ("m2", False)):
        entry = {"a__a-1": {"resolved": outcome, "tests_status": {}}}
        write(tmp_path / "run_evaluation" / "r" / model / "a__a-1" / "report.json", entry)

    found, _ = read_all(SweBenchImporter(), tmp_path / "run_evaluation")

    assert SweBenchImporter().recognises(tmp_path / "run_evaluation")
    assert {(run.trial.arm, resolved(run)) for run in found if isinstance(run, RunRecord)} == {
        ("m1", True),
        ("m2", False),
    }


def test_the_trajectories_beside_a_report_add_what_the_runs_took(tmp_path: Path) -> None:
    trajectory = {
        "trajectory_format": "mini-swe-agent-1.1",
        "info": {"exit_status": "Submitted", "model_stats": {"instance_cost": 0.75, "api_calls": 1}},
        "messages": [],
    }
    write(tmp_path / "a__a-1" / "a__a-1.traj.json", trajectory)

    found = by_task(SweBenchImporter(), write(tmp_path / "m.r.json", REPORT))

    assert (found["a__a-1"].cost.usd, found["a__a-2"].cost.usd) == (0.75, None)


def test_instances_of_one_repository_are_a_family() -> None:
    assert instance_repository("scikit-learn__scikit-learn-25570") == "scikit-learn/scikit-learn"
    assert instance_repository("hello-world") is None
