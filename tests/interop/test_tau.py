"""Simulations of tau-bench and tau2-bench become runs of the agent's model, not of the simulated user's."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.errors import EvidenceError
from outweigh.interop.tau_bench import TauBenchImporter
from outweigh.model.failure import Status
from outweigh.model.run_record import RunRecord
from outweigh.ports.importers import ImportNotes
from outweigh.testing.importer_contract import ImporterContract, read_all

INFO = {
    "num_trials": 2,
    "user_info": {"implementation": "user_simulator", "llm": "gpt-4.1"},
    "agent_info": {"implementation": "llm_agent", "llm": "gpt-5", "llm_args": {"temperature": 0.0}},
    "environment_info": {"domain_name": "airline"},
}


def a_simulation(number: int = 1, **more: Any) -> dict[str, Any]:
    calls = [{"name": "book", "arguments": {}}]
    return {
        "id": f"simulation-{number}",
        "task_id": "13",
        "start_time": "2026-01-01T10:00:00",
        "duration": 19.5,
        "termination_reason": "user_stop",
        "agent_cost": 0.02,
        "user_cost": 0.01,
        "reward_info": {"reward": 1.0, "reward_breakdown": {"DB": 1.0, "COMMUNICATE": 0.0}},
        "messages": [
            {"role": "assistant", "content": "Hi!", "tool_calls": None, "usage": None},
            {"role": "user", "content": "book", "usage": {"prompt_tokens": 9, "completion_tokens": 9}},
            {"role": "assistant", "tool_calls": calls, "usage": {"prompt_tokens": 100, "completion_tokens": 7}},
        ],
        "trial": 0,
        "seed": 626729,
    } | more


def written(path: Path, *simulations: dict[str, Any]) -> Path:
    tasks = [{"id": "13", "user_scenario": "wants a flight"}]
    path.write_bytes(
        msgspec.json.encode({"timestamp": "2026", "info": INFO, "tasks": tasks, "simulations": simulations})
    )
    return path


def runs_of(path: Path, **options: object) -> tuple[list[RunRecord], ImportNotes]:
    found, notes = read_all(TauBenchImporter(), path, **options)
    return [run for run in found if isinstance(run, RunRecord)], notes


class TestSecond(ImporterContract):
    def importer(self) -> TauBenchImporter:
        return TauBenchImporter()

    def example(self, folder: Path) -> Path:
        return written(folder / "results.json", a_simulation(1), a_simulation(2, trial=1, agent_cost=0.0))


class TestFirst(ImporterContract):
    def importer(self) -> TauBenchImporter:
        return TauBenchImporter()

    def example(self, folder: Path) -> Path:
        path = folder / "tool-calling-gpt-4o.json"
        row: dict[str, Any] = {"task_id": 3, "reward": 1.0, "info": {"user_cost": 0.1}, "traj": []}
        path.write_bytes(msgspec.json.encode([row | {"trial": 0}, row | {"trial": 1}]))
        return path


def test_every_figure_of_a_simulation_is_where_it_belongs(tmp_path: Path) -> None:
    (run,), _ = runs_of(written(tmp_path / "results.json", a_simulation()))

    assert (run.trial.task_id, run.trial.arm, run.trial.repeat, run.trial.seed) == ("airline/13", "gpt-5", 1, 626729)
    assert (run.duration_seconds, run.cost.usd, run.step_count, run.tool_call_count) == (19.5, 0.02, 1, 1)
    assert (run.usage.input_tokens, run.usage.output_tokens, run.extra["prompt_tokens"]) == (None, 7, 100)
    assert run.checks is not None
    assert [(check.name, check.passed, check.required) for check in run.checks] == [
        ("reward", True, True),
        ("DB", True, False),
        ("COMMUNICATE", False, False),
    ]


def test_a_cost_of_nothing_is_a_price_that_nobody_knows(tmp_path: Path) -> None:
    (run,), _ = runs_of(written(tmp_path / "results.json", a_simulation(agent_cost=0.0)))

    assert run.cost.usd is None


@pytest.mark.parametrize(
    ("reason", "status"),
    [
        ("agent_stop", Status.COMPLETED),
        ("max_steps", Status.BUDGET_EXCEEDED),
        ("too_many_errors", Status.AGENT_ERROR),
        ("infrastructure_error", Status.INFRA_ERROR),
    ],
)
def test_how_it_ended_says_whose_doing_it_was(tmp_path: Path, reason: str, status: Status) -> None:
    (run,), _ = runs_of(written(tmp_path / "results.json", a_simulation(termination_reason=reason)))

    assert run.status is status


def test_a_simulation_that_broke_is_told_apart_from_one_that_failed(tmp_path: Path) -> None:
    path = tmp_path / "a.json"
    broken = {"task_id": 1, "reward": 0.0, "info": {"error": "RateLimitError"}, "traj": [], "trial": 0}
    failed = {"task_id": 2, "reward": 0.0, "info": {"user_cost": 1}, "traj": [], "trial": 0}
    path.write_bytes(msgspec.json.encode([broken, failed]))

    (first, second), notes = runs_of(path, arm="mine")

    assert (first.status, first.checks, first.trial.arm) == (Status.INFRA_ERROR, None, "mine")
    assert second.checks is not None
    assert (second.status, second.checks[0].passed) == (Status.COMPLETED, False)
    assert any("1 simulations broke" in warning for warning in notes.warnings)


def test_other_documents_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.json"
    path.write_text('{"simulations": []}')

    with pytest.raises(EvidenceError, match="no results of tau2-bench"):
        runs_of(path)


def test_two_models_that_did_the_same_are_two_arms(tmp_path: Path) -> None:
    rows = [{"task_id": 0, "reward": 1.0, "info": {}, "traj": [{"role": "user", "content": "hi"}], "trial": 0}]
    for model in ("gpt", "claude"):
        (tmp_path / f"{model}.json").write_bytes(msgspec.json.encode(rows))

    found, _ = read_all(TauBenchImporter(), tmp_path)

    assert {run.trial.arm for run in found if isinstance(run, RunRecord)} == {"gpt", "claude"}
    assert len({run.run_id for run in found if isinstance(run, RunRecord)}) == 2


def cut_line(number: int, arm: str = "gpt", **more: Any) -> dict[str, Any]:
    """A simulation without its messages, as an analysis keeps it."""
    whole = a_simulation(number)
    kept = {key: value for key, value in whole.items() if key not in ("messages", "reward_info")}
    return kept | {"reward": 1.0, "domain": "airline", "arm": arm} | more


def lines(path: Path, *rows: dict[str, Any]) -> Path:
    path.write_bytes(b"".join(msgspec.json.encode(row) + b"\n" for row in rows))
    return path


def test_results_whose_simulations_are_all_among_the_lines_beside_them_are_not_read_again(tmp_path: Path) -> None:
    (tmp_path / "raw").mkdir()
    written(tmp_path / "raw" / "airline.json", a_simulation(1), a_simulation(2, trial=1))
    lines(tmp_path / "all.jsonl", cut_line(1), cut_line(2, trial=1), cut_line(3, domain="retail"))

    runs, notes = runs_of(tmp_path)

    assert [(run.trial.arm, run.run_id) for run in runs] == [("gpt", f"tau/simulation-{each}") for each in (1, 2, 3)]
    assert any("airline.json" in said and "not read again" in said for said in notes.warnings)


def test_lines_that_say_no_more_than_the_results_beside_them_are_left_out(tmp_path: Path) -> None:
    written(tmp_path / "airline.json", a_simulation(1), a_simulation(2, trial=1))
    lines(tmp_path / "all.jsonl", cut_line(1), cut_line(2, trial=1))

    runs, notes = runs_of(tmp_path)

    assert [(run.trial.arm, run.step_count) for run in runs] == [("gpt-5", 1), ("gpt-5", 1)]
    assert any("all.jsonl" in said and "not read again" in said for said in notes.warnings)


def test_lines_and_results_that_share_a_part_are_both_read_and_clash(tmp_path: Path) -> None:
    written(tmp_path / "airline.json", a_simulation(1), a_simulation(2, trial=1))
    lines(tmp_path / "all.jsonl", cut_line(2, trial=1), cut_line(3))

    assert len(runs_of(tmp_path)[0]) == 4
