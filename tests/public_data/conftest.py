"""Public data sets as `collected.jsonl` rows; absent data skips its tests."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pytest
from numpy.typing import NDArray

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
def verified() -> tuple[NDArray[np.intp], list[str | None]]:
    """What three agents resolved of the 500 issues of SWE-bench Verified, and the repositories of the issues.

    Those that none of them resolved are not named; they have no repository here.
    """
    folder = _need("vexp_swebench")
    lists = [
        set(msgspec.json.decode((folder / f"{name}-resolved.json").read_bytes())["resolvedIds"])
        for name in ("livesweagent", "openhands", "sonar")
    ]
    known = sorted(set().union(*lists))
    unresolved = [None] * (500 - len(known))
    passes = [[name in resolved for resolved in lists] for name in known] + [[False] * 3 for _ in unresolved]
    return np.array(passes, dtype=np.intp), [*(name.split("__")[0] for name in known), *unresolved]


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


@pytest.fixture
def skill_benchmarks() -> Path:
    """Skills evaluated by their authors, in four layouts."""
    return _need("skill_benchmark_samples")


@pytest.fixture
def aider_leaderboards() -> Path:
    """aider's leaderboards."""
    return _need("aider_leaderboards")
