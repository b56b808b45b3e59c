"""Empty plugins: how often results of `claude plugin eval` about nothing are called improved.

`empty_plugin.json` holds ten real executions of `claude plugin eval` 2.1.325 with a plugin that has nothing but a
manifest: 10 cases, 3 runs in each arm, a scripted model whose answers differ from run to run. Result files are drawn
from them: the runs of both arms of a case from all its runs in both arms, in the order in which it runs them.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random
from typing import Any

import msgspec

from benchmarks.ratio import Ratio
from benchmarks.setting import Setting
from outweigh.compare.comparison import compare_arms
from outweigh.interop.plugin_eval.importer import PluginEvalImporter
from outweigh.testing.builders import evidence_of
from outweigh.testing.importer_contract import read_all
from outweigh.verdict.decision import Decision
from outweigh.verdict.evidence_policy import decide_by_evidence
from outweigh.verdict.evidence_settings import PASS_RATE, evidence_settings

POOL = Path(__file__).with_name("empty_plugin.json")
FILES = 200
RUNS = 3
_START = datetime(2026, 11, 18, tzinfo=UTC)


class PooledRun(msgspec.Struct, frozen=True, array_like=True):
    """What a run of the ten executions says."""

    passed: bool
    cost_usd: float
    seconds: float
    turns: int


class Pool(msgspec.Struct, frozen=True):
    """The runs of every case, and the mean differences that the executions state."""

    claude_version: str
    deltas: list[float]
    cases: dict[str, list[PooledRun]]


def read_pool() -> Pool:
    """The recorded executions."""
    return msgspec.json.decode(POOL.read_bytes(), type=Pool)


def draw_result(pool: Pool, random: Random) -> dict[str, Any]:
    """One result file about nothing."""
    cases, started = [], _START
    for name, runs in pool.cases.items():
        drawn = random.sample(runs, 2 * RUNS)
        made = []
        for run in drawn:
            made.append(_run(run, started))
            started += timedelta(seconds=run.seconds + 1)
        arms = {"with": made[:RUNS], "without": made[RUNS:]}
        rates = {arm: sum(run["score"] for run in of_arm) / RUNS for arm, of_arm in arms.items()}
        cases.append(_case(name, arms, rates))
    deltas = [case["aggregates"]["delta"] for case in cases]
    return {
        "schemaVersion": 1,
        "claudeVersion": pool.claude_version,
        "startedAt": _START.isoformat(),
        "partial": False,
        "suite": {"ablation": "with-without", "threshold": 1, "plugins": [{"name": "empty", "version": "0.1.0"}]},
        "cases": cases,
        "aggregates": {"casesTotal": len(cases), "meanDelta": sum(deltas) / len(deltas)},
    }


def _run(run: PooledRun, started: datetime) -> dict[str, Any]:
    grade = {"name": "right", "passed": run.passed, "weight": 1, "explanation": "", "withOnly": False, "scored": True}
    return {
        "score": int(run.passed),
        "passed": run.passed,
        "turns": run.turns,
        "costUsd": run.cost_usd,
        "judgeCostUsd": 0,
        "durationSeconds": run.seconds,
        "startedAt": started.isoformat(),
        "error": None,
        "tracePath": "",
        "graders": [grade],
    }


def _case(name: str, arms: dict[str, list[dict[str, Any]]], rates: dict[str, float]) -> dict[str, Any]:
    return {
        "name": name,
        "promptMarkdown": name,
        "graders": [{"name": "right", "type": "regex", "weight": 1, "config": {}}],
        "arms": arms,
        "aggregates": {
            "score": rates["with"],
            "scoreWithout": rates["without"],
            "delta": rates["with"] - rates["without"],
        },
    }


def judge_draws(pool: Pool, files: int, folder: Path) -> Iterator[tuple[float, Decision, Decision]]:
    """For every drawn file its own mean difference, the verdict by pass rate alone, and the verdict by all gates."""
    random = Random(1)
    for _ in range(files):
        result = draw_result(pool, random)
        path = folder / "result.json"
        path.write_bytes(msgspec.json.encode(result))
        runs, _notes = read_all(PluginEvalImporter(), path)
        compared = compare_arms(evidence_of(runs), "without", "with")
        (alone,) = decide_by_evidence([compared], evidence_settings(gates=[PASS_RATE]))
        (whole,) = decide_by_evidence([compared], evidence_settings())
        yield result["aggregates"]["meanDelta"], alone.decision, whole.decision


def measure(setting: Setting) -> list[Ratio]:
    """The share of files that are called improved, beside what the files say themselves."""
    found = list(judge_draws(read_pool(), FILES, setting.folder))
    above, below = (sum(sign * delta > 1e-9 for delta, _, _ in found) for sign in (1, -1))
    ties = len(found) - above - below
    note = f"their own delta is above zero in {above}, below in {below}, zero in {ties} of {len(found)}"
    alone, whole = (Counter(decisions) for decisions in zip(*((one, other) for _, one, other in found), strict=True))
    return [
        Ratio(
            name=f"empty plugins called improved by {words} : result files",
            measured=counts[Decision.IMPROVED] / len(found),
            target=0.02,
            better="lower",
            note=note,
        )
        for words, counts in (("pass rate", alone), ("all gates", whole))
    ]
