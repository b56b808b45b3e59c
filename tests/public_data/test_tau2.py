"""tau2-bench as it was published: gpt-4.1 and its fine-tuned sibling on the same 100 tasks, imported and compared."""

from pathlib import Path
from typing import Any

from outweigh.interop.tau_bench import TauBenchImporter
from outweigh.model.run_record import RunRecord
from outweigh.testing.importer_contract import read_all

ARMS = ("--baseline", "gpt-4.1", "--candidate", "gpt-4.1-sft")


def test_imported_simulations_give_62_against_77_of_100_and_no_cost_for_the_fine_tuned(
    outweigh: Any, tau2_results: Path, tmp_path: Path
) -> None:
    files = [str(path) for path in sorted(tau2_results.glob("sims_*.jsonl"))]
    assert outweigh("import", *files, "-o", str(tmp_path / "runs")).code == 0

    arms = outweigh("compare", str(tmp_path / "runs"), *ARMS, "--format", "json").json()["arms"]

    assert [(arms[arm]["successes"], arms[arm]["runs"]) for arm in ("gpt-4.1", "gpt-4.1-sft")] == [(62, 100), (77, 100)]
    assert arms["gpt-4.1"]["total_cost_usd"] > 0
    assert arms["gpt-4.1-sft"]["total_cost_usd"] is None


def test_the_whole_folder_gives_the_same_in_one_command(outweigh: Any, tau2_results: Path, tmp_path: Path) -> None:
    runs = str(tmp_path / "whole")
    assert outweigh("import", str(tau2_results), "-o", runs).code == 0

    arms = outweigh("compare", runs, *ARMS, "--format", "json").json()["arms"]

    assert [(arms[arm]["successes"], arms[arm]["runs"]) for arm in ("gpt-4.1", "gpt-4.1-sft")] == [(62, 100), (77, 100)]


def test_what_was_published_whole_and_what_was_cut_agree(tau2_results: Path) -> None:
    whole, _ = read_all(TauBenchImporter(), tau2_results / "raw" / "gpt-4.1_airline.json")
    cut, _ = read_all(TauBenchImporter(), tau2_results / "sims_airline_gpt-4.1.jsonl")

    def figures(runs: list[Any]) -> dict[str, tuple[object, ...]]:
        return {
            run.run_id: (run.trial.task_id, run.extra["reward"], run.cost, run.tool_call_count, run.usage)
            for run in runs
            if isinstance(run, RunRecord)
        }

    assert figures(whole) == figures(cut)
    assert sum(run.extra["reward"] for run in whole if isinstance(run, RunRecord)) == 10.0
