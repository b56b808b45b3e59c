"""Real runs of a coding agent with and without an MCP server, as published; skipped where the data is not at hand."""

from pathlib import Path
from typing import Any

import msgspec
import pytest

SUMMARY = Path(__file__).resolve().parents[3] / "shared" / "data" / "twilio_mcp_te" / "summary.json"
ARMS = ("--baseline", "control", "--candidate", "mcp")

pytestmark = pytest.mark.skipif(not SUMMARY.exists(), reason="the public data set is not beside the project")


@pytest.fixture
def records(collected: Any) -> str:
    repeats: dict[tuple[int, str], int] = {}
    rows = []
    for run in msgspec.json.decode(SUMMARY.read_bytes()):
        key = (run["taskId"], run["mode"])
        repeats[key] = repeats.get(key, 0) + 1
        rows.append(
            {
                "task_id": f"task-{run['taskId']}",
                "arm": run["mode"],
                "repeat": repeats[key],
                "success": run["success"],
                "duration_seconds": run["duration"] / 1000,
                "total_cost_usd": run["cost"],
                "input_tokens": run["tokensIn"],
                "output_tokens": run["tokensOut"],
                "cache_read_tokens": run["cacheReads"],
                "cache_write_tokens": run["cacheWrites"],
            }
        )
    path: str = collected(rows)
    return path


def test_the_arms_have_the_published_figures(outweigh: Any, records: str) -> None:
    arms = outweigh("compare", records, *ARMS, "--format", "json").json()["arms"]

    control, mcp = arms["control"], arms["mcp"]
    assert [(arm["successes"], arm["runs"]) for arm in (control, mcp)] == [(24, 26), (25, 25)]
    assert control["median_duration_seconds"] == pytest.approx(47.579, abs=5e-4)
    assert mcp["median_duration_seconds"] == pytest.approx(55.292, abs=5e-4)
    assert (control["median_non_cache_tokens"], mcp["median_non_cache_tokens"]) == (2071.5, 2265)


def test_the_literal_gates_call_it_mixed(outweigh: Any, records: str) -> None:
    answer = outweigh("verdict", records, *ARMS, "--policy", "gates", "--format", "json")

    assert (answer.code, answer.json()["seed_wording"]) == (3, "mixed results - inspect paired deltas")
    assert [gate["state"] for gate in answer.json()["gates"]] == ["holds", "fails", "fails"]
