"""Real runs of a coding agent with and without an MCP server, read as a table, with the published figures."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest

from outweigh.interop.table.importer import TableImporter
from outweigh.model.run_record import RunRecord
from outweigh.testing.importer_contract import read_all

DATA = Path(__file__).resolve().parents[3] / "shared" / "data" / "twilio_mcp_te"
ARMS = ("--baseline", "control", "--candidate", "mcp")
COLUMNS = {
    "task_id": "taskId",
    "arm": "mode",
    "run_id": "directoryId",
    "started_at": "startTime",
    "duration_ms": "duration",
    "cost_usd": "cost",
    "input_tokens": "tokensIn",
    "output_tokens": "tokensOut",
    "cache_read_tokens": "cacheReads",
    "cache_write_tokens": "cacheWrites",
    "step_count": "apiCalls",
}
ADDED_LATER = "1744055487177"
"""The tables of the README were made before this run, of the 51 the last."""

pytestmark = pytest.mark.skipif(not DATA.exists(), reason="the public data set is not beside the project")


@pytest.fixture
def runs(outweigh: Any, tmp_path: Path) -> str:
    """The 51 runs as a user imports them."""
    folder = str(tmp_path / "runs")
    options = [word for field, column in COLUMNS.items() for word in ("--map", f"{field}={column}")]
    assert outweigh("import", "table", str(DATA / "summary.json"), "-o", folder, *options).code == 0
    return folder


def test_the_arms_have_the_published_figures(outweigh: Any, runs: str) -> None:
    arms = outweigh("compare", runs, *ARMS, "--format", "json").json()["arms"]

    control, mcp = arms["control"], arms["mcp"]
    assert [(arm["successes"], arm["runs"]) for arm in (control, mcp)] == [(24, 26), (25, 25)]
    assert control["median_duration_seconds"] == pytest.approx(47.579, abs=5e-4)
    assert mcp["median_duration_seconds"] == pytest.approx(55.292, abs=5e-4)
    assert (control["median_non_cache_tokens"], mcp["median_non_cache_tokens"]) == (2071.5, 2265)


def test_the_literal_gates_call_it_mixed(outweigh: Any, runs: str) -> None:
    answer = outweigh("verdict", runs, *ARMS, "--policy", "gates", "--format", "json")

    assert (answer.code, answer.json()["seed_wording"]) == (3, "mixed results - inspect paired deltas")
    assert [gate["state"] for gate in answer.json()["gates"]] == ["holds", "fails", "fails"]


def test_three_tasks_are_too_few_and_the_verdict_says_what_is_needed(outweigh: Any, runs: str) -> None:
    answer = outweigh("verdict", runs, *ARMS, "--format", "json")

    verdict = answer.json()
    assert (answer.code, verdict["decision"], verdict["may_promote"]) == (3, "inconclusive", False)
    assert "3 tasks have counted runs in both arms" in verdict["reasons"][0]
    assert verdict["needs"]["more_tasks"] >= 3
    assert verdict["needs"]["cost_usd"] > 0


METRICS: dict[str, Callable[[RunRecord], float]] = {
    "Duration (s)": lambda run: run.duration_seconds or 0.0,
    "API Calls": lambda run: run.step_count or 0,
    "Interactions": lambda run: run.extra["interactions"],
    "Tokens": lambda run: (run.usage.input_tokens or 0) + (run.usage.output_tokens or 0),
    "Cache Reads": lambda run: run.usage.cache_read_tokens or 0,
    "Cache Writes": lambda run: run.usage.cache_write_tokens or 0,
    "Cost ($)": lambda run: run.cost.usd or 0.0,
    "Success Rate": lambda run: 100.0 if run.checks and run.checks[0].passed else 0.0,
}


def published() -> Iterator[tuple[str, str, str, str]]:
    """The rows of the README's four tables in order: all tasks, then each of three."""
    for line in (DATA / "published_README.md").read_text().splitlines():
        cells = [cell.strip() for cell in line.strip("|").split("|")]
        if len(cells) == 4 and re.match(r"[\d.]+%?$", cells[1]):
            name, control, mcp, change = cells
            yield name.removeprefix("Average "), control, mcp, change


def test_the_64_figures_of_the_readme_are_those_of_its_50_runs() -> None:
    found, notes = read_all(TableImporter(), DATA / "summary.json", columns=COLUMNS)
    runs = [run for run in found if isinstance(run, RunRecord) and run.run_id != ADDED_LATER]
    rows = list(published())
    assert (len(runs), len(rows), notes.unreadable) == (50, 32, [])

    for place, (name, *stated, _) in enumerate(rows):
        task = place // len(METRICS)
        for arm, figure in zip(("control", "mcp"), stated, strict=True):
            chosen = [run for run in runs if run.trial.arm == arm and (not task or run.trial.task_id == str(task))]
            digits = len(figure.rstrip("%").partition(".")[2])
            computed = fmean(map(METRICS[name], chosen))
            assert computed == pytest.approx(float(figure.rstrip("%")), abs=0.5000001 * 10**-digits), (task, name, arm)
