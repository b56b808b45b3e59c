"""Public data sets as `collected.jsonl` rows; absent data skips its tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

DATA = Path(__file__).resolve().parents[3] / "shared" / "data"
Rows = list[dict[str, Any]]


def _need(folder: str) -> Path:
    path = DATA / folder
    if not path.exists():
        pytest.skip("the public data set is not beside the project")
    return path


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().splitlines():
        yield msgspec.json.decode(line)


@pytest.fixture
def tau2() -> Rows:
    """gpt-4.1 and its fine-tuned sibling on 100 tasks, one run each; the fine-tuned price is unknown, not 0."""
    folder = _need("tau2_gpt41_vs_sft")
    return [
        {
            "task_id": f"{run['domain']}-{run['task_id']}",
            "arm": run["arm"],
            "repeat": 1,
            "success": run["reward"] == 1.0,
            "duration_seconds": run["duration"],
            "total_cost_usd": run["agent_cost"] or None,
        }
        for path in sorted(folder.glob("sims_*.jsonl"))
        for run in _lines(path)
    ]


@pytest.fixture
def vexp() -> Rows:
    """One agent's runs on 100 tasks, and the lists of what three others resolved."""
    folder = _need("vexp_swebench")
    runs = list(_lines(folder / "swebench-2026-03-22.stripped.jsonl"))
    rows: Rows = [
        {"task_id": run["instanceId"], "arm": "vexp", "repeat": 1, "success": run["resolved"]} for run in runs
    ]
    for name in ("livesweagent", "openhands", "sonar"):
        resolved = set(msgspec.json.decode((folder / f"{name}-resolved.json").read_bytes())["resolvedIds"])
        rows += [
            {"task_id": run["instanceId"], "arm": name, "repeat": 1, "success": run["instanceId"] in resolved}
            for run in runs
        ]
    return rows


@pytest.fixture
def twilio() -> Rows:
    """An agent with and without an MCP server: 3 tasks, 8 or 9 repeats."""
    repeats: dict[tuple[int, str], int] = {}
    rows: Rows = []
    for run in msgspec.json.decode((_need("twilio_mcp_te") / "summary.json").read_bytes()):
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
    return rows


@pytest.fixture
def claude_transcripts() -> Path:
    """Session files of Claude Code."""
    return _need("claude_code_transcripts")


@pytest.fixture
def trajectories() -> Path:
    """Trajectories that other programs wrote."""
    return _need("atif_samples")


@pytest.fixture
def inspect_logs() -> Path:
    """Logs of Inspect, zipped and not."""
    return _need("inspect_logs") / "inspect_ai"


@pytest.fixture
def promptfoo_outputs() -> Path:
    """Outputs of promptfoo."""
    return _need("promptfoo_outputs")


@pytest.fixture
def tau2_results() -> Path:
    """The same runs as tau2-bench wrote them."""
    return _need("tau2_gpt41_vs_sft")
