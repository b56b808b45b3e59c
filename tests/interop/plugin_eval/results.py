"""Results as `claude plugin eval` 2.1.325 writes them."""

from pathlib import Path
from typing import Any

import msgspec

GRADERS = [
    {"name": "fired", "type": "tool_used", "weight": 1, "config": {"tool": "Skill"}},
    {"name": "hello", "type": "regex", "weight": 1, "config": {"target": "last_message", "pattern": "HELLO"}},
    {"name": "polite", "type": "llm", "weight": 3, "config": {"criteria": "The reply is polite."}},
]


def a_grade(name: str, passed: bool, *, weight: float = 1, with_only: bool = False, **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "passed": passed,
        "weight": weight,
        "explanation": "matched" if passed else "pattern not found in last_message",
        "withOnly": with_only,
        "scored": not with_only,
    } | more


def a_result_run(hello: bool = True, *, fired: int | None = None, minute: int = 0, **more: Any) -> dict[str, Any]:
    """A run; with `fired` it had the plugin, and called its skill so many times."""
    grades = [a_grade("hello", hello), a_grade("polite", True, weight=3, judgeVotes=[True, True, True])]
    if fired is not None:
        words = f"Skill called {fired}x (expected 1..∞)"
        grades.insert(0, a_grade("fired", fired > 0, with_only=True, explanation=words))
    return {
        "score": 1 if hello else 0.75,
        "passed": hello,
        "turns": 2,
        "costUsd": 0.0024,
        "judgeCostUsd": 0.0018,
        "durationSeconds": 11,
        "startedAt": f"2026-11-15T19:{minute:02d}:00.000Z",
        "error": None,
        "tracePath": "/nowhere/claude-eval-abc/out/trace.jsonl",
        "skippedPaidGraders": False,
        "graders": grades,
    } | more


def a_case(name: str = "greeting", **more: Any) -> dict[str, Any]:
    return {
        "name": name,
        "dir": f"evals/{name}",
        "source": "prose",
        "promptMarkdown": "Please write me a greeting.",
        "runsPerCase": 2,
        "timeoutSeconds": 300,
        "maxTurns": 5,
        "graders": GRADERS,
        "arms": {
            "with": [a_result_run(fired=1, minute=1), a_result_run(False, fired=0, minute=2)],
            "without": [a_result_run(False, minute=3), a_result_run(False, minute=4)],
        },
        "aggregates": {"score": 0.875, "passRate": 0.5, "scoreWithout": 0.75, "passRateWithout": 0, "delta": 0.125},
    } | more


def a_result(*cases: dict[str, Any], version: str | None = "0.1.0", **more: Any) -> dict[str, Any]:
    plugin = {"name": "tiny", "path": "/home/me/plug"} | ({} if version is None else {"version": version})
    return {
        "schemaVersion": 1,
        "claudeVersion": "2.1.325",
        "startedAt": "2026-11-15T19:00:00.000Z",
        "durationSeconds": 60,
        "costUsd": 0.0096,
        "partial": False,
        "suite": {
            "root": "/home/me/plug",
            "ablation": "with-without",
            "threshold": 1,
            "concurrency": 1,
            "plugins": [plugin],
        },
        "cases": list(cases) or [a_case()],
        "aggregates": {
            "casesTotal": 1,
            "casesPassed": 0,
            "overallScore": 0.875,
            "overallPassRate": 0.5,
            "meanDelta": 0.125,
        },
    } | more


def written(path: Path, result: dict[str, Any]) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.encode(result))
    return path
