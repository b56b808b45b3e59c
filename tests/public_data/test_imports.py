"""Published results, read as their harness left them, with the figures that were published."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

from outweigh.interop.agent_sessions import ClaudeCodeImporter
from outweigh.interop.atif import AtifImporter
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import NO_USAGE
from outweigh.testing.importer_contract import read_all

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"


def need(folder: str) -> Path:
    if not (DATA / folder).exists():
        pytest.skip("the public data set is not beside the project")
    return DATA / folder


@pytest.fixture
def imported_vexp(outweigh: Any, tmp_path: Path) -> str:
    """Four agents on 100 instances of SWE-bench Verified, three of them as lists of what they resolved."""
    folder = need("vexp_swebench")
    lines = folder / "swebench-2026-03-22.stripped.jsonl"
    suite, runs = tmp_path / "suite.txt", str(tmp_path / "runs")
    ids = [msgspec.json.decode(line)["instanceId"] for line in lines.read_bytes().splitlines()]
    suite.write_text("\n".join(ids))
    assert outweigh("import", str(lines), "--arm", "vexp", "-o", runs).code == 0
    lists = [str(folder / f"{name}-resolved.json") for name in ("livesweagent", "openhands", "sonar")]
    assert outweigh("import", *lists, "--tasks", str(suite), "-o", runs).code == 0
    return runs


def compared(outweigh: Any, runs: str, candidate: str) -> Any:
    return outweigh("compare", runs, "--baseline", "vexp", "--candidate", candidate, "--format", "json").json()["arms"]


def test_four_agents_resolve_73_72_70_70_of_100(outweigh: Any, imported_vexp: str) -> None:
    # README.md of vexp-swe-bench: 73 %, 72 %, 70 %, 70 % on its subset of 100.
    published = {
        "Live-SWE-Agent (Opus 4.5)": 72,
        "OpenHands (Opus 4.5)": 70,
        "Sonar Foundation (Opus 4.5)": 70,
    }
    for arm, resolved in published.items():
        arms = compared(outweigh, imported_vexp, arm)
        assert [arms[name]["successes"] for name in ("vexp", arm)] == [73, resolved]


def test_the_published_folder_gives_the_same_in_one_command(outweigh: Any, tmp_path: Path) -> None:
    runs = str(tmp_path / "whole")
    assert outweigh("import", str(need("vexp_swebench")), "-o", runs).code == 0

    # README.md of vexp-swe-bench.
    published = {"Live-SWE-Agent (Opus 4.5)": 72, "OpenHands (Opus 4.5)": 70, "Sonar Foundation (Opus 4.5)": 70}
    ours = "claude-code claude-opus-4-5-20251101"
    for arm, resolved in published.items():
        found = outweigh("compare", runs, "--baseline", ours, "--candidate", arm, "--format", "json").json()["arms"]
        assert [(found[name]["successes"], found[name]["runs"]) for name in (ours, arm)] == [(73, 100), (resolved, 100)]


def test_its_cost_is_what_was_published_and_that_of_the_others_unknown(outweigh: Any, imported_vexp: str) -> None:
    other = "OpenHands (Opus 4.5)"

    arms = compared(outweigh, imported_vexp, other)

    # $0.67 a task in README.md.
    assert arms["vexp"]["total_cost_usd"] == pytest.approx(67.2069, abs=5e-5)
    assert arms[other]["total_cost_usd"] is None


def test_every_published_trajectory_becomes_a_run_with_its_final_totals_once() -> None:
    found, notes = read_all(AtifImporter(), need("atif_samples"))
    runs = {record.extra["file"].split("/")[-1]: record for record in found if isinstance(record, RunRecord)}

    # 11 files; three are sub-agents' and one a continuation.
    assert (len(runs), notes.unreadable) == (7, [])
    summarised = runs["terminus_2__hello-world-context-summarization.trajectory.json"]
    assert (summarised.usage.input_tokens, summarised.usage.output_tokens) == (7802, 1030)
    assert summarised.cost.usd == pytest.approx(0.029805)
    continued = runs["terminus_2__hello-world-context-summarization-linear-history.trajectory.json"]
    assert (continued.usage.input_tokens, continued.usage.output_tokens) == (7802, 1030)
    zeros = runs["openagents_login-trace.trajectory.json"]
    assert (zeros.usage, zeros.cost.usd) == (NO_USAGE, None)


def test_published_sessions_become_runs_in_which_every_message_counts_once() -> None:
    found, notes = read_all(ClaudeCodeImporter(), need("claude_code_transcripts"))
    runs = {record.trial.task_id: record for record in found if isinstance(record, RunRecord)}

    assert notes.unreadable == []
    assert {task: run.usage.output_tokens for task, run in runs.items()} == {
        "short": 13,
        "tool_heavy": 212,
        "subagent": 1593,
        "simonw_sample_session": None,
    }
