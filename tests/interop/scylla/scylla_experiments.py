"""Experiments of ProjectScylla as it leaves them on disk, with the figures of a published one."""

import json
from pathlib import Path
from typing import Any

NAME = "2026-01-20T06-13-07-test-001"
SONNET, OPUS, HAIKU = "claude-sonnet-4-5-20250929", "claude-opus-4-5-20251101", "claude-haiku-4-5"
CONFIG = {
    "experiment_id": "test-001",
    "task_repo": "https://git.example/hello",
    "task_commit": "7fd1a60b",
    "models": [SONNET],
    "judge_models": [OPUS, HAIKU],
    "timeout_seconds": 300,
}
TOKENS = {"input_tokens": 23, "output_tokens": 725, "cache_creation_tokens": 23556, "cache_read_tokens": 91828}
NO_TOKENS = dict.fromkeys(TOKENS, 0)
CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "num_turns": 5,
    "result": "done",
    "session_id": "5dab0c85",
    "total_cost_usd": 0.1684904,
    "usage": {
        "input_tokens": 23,
        "cache_creation_input_tokens": 23556,
        "cache_read_input_tokens": 91828,
        "output_tokens": 725,
    },
    "modelUsage": {
        "claude-haiku-4-5-20251001": {"inputTokens": 1316, "outputTokens": 93, "costUSD": 0.001781},
        SONNET: {
            "inputTokens": 23,
            "outputTokens": 725,
            "cacheReadInputTokens": 91828,
            "cacheCreationInputTokens": 23556,
            "costUSD": 0.1268274,
        },
    },
}
"""What Claude Code printed in the published run of tier 4, without the sub-agent's model."""


def criteria(achieved: object = 3.0, most: object = 4.0) -> dict[str, Any]:
    items = {"F1": {"achieved": achieved, "max": most, "reason": "it runs"}}
    return {"functional": {"achieved": achieved, "max": most, "score": 0.75, "items": items}}


def written(path: Path, document: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(document if isinstance(document, str) else json.dumps(document, indent=2))


def a_result(place: str, **more: Any) -> dict[str, Any]:
    return {
        "run_number": int(place[-2:]),
        "exit_code": 0,
        "token_stats": TOKENS,
        "cost_usd": 0.1684904,
        "duration_seconds": 206.5,
        "agent_duration_seconds": 36.5,
        "judge_duration_seconds": 170.0,
        "judge_score": 0.96,
        "judge_passed": True,
        "judge_grade": "A",
        "judge_reasoning": "fine",
        "judges": [{"model": OPUS, "judge_number": 1}, {"model": HAIKU, "judge_number": 2}],
        "workspace_path": f"/home/somebody/fullruns/{NAME}/{place}/workspace",
        "logs_path": f"/home/somebody/fullruns/{NAME}/{place}/agent",
    } | more


def a_run(
    experiment: Path,
    place: str = "T4/01/run_01",
    *,
    stdout: str = json.dumps(CLAUDE),
    stderr: str = "+ cd /w\n",
    **more: Any,
) -> Path:
    """A finished run with two judges."""
    folder = experiment / place
    told_place = place.removeprefix("completed/").removeprefix("in_progress/")
    written(folder / "run_result.json", a_result(told_place, **more))
    written(folder / "agent" / "result.json", {"exit_code": 0, "stdout": stdout, "stderr": stderr, "api_calls": 5})
    written(
        folder / "agent" / "timing.json",
        {"agent_duration_seconds": 36.5, "measured_at": "2026-01-20T06:13:53.500000+00:00"},
    )
    written(
        folder / "agent" / "MODEL.md",
        f"# Agent Model Information\n\n**Model**: {SONNET}\n**Claude Code Version**: 2.1.12 (Claude Code)\n",
    )
    for number, model in enumerate((OPUS, HAIKU), start=1):
        judge = folder / "judge" / f"judge_{number:02}"
        said = {"score": 0.96, "passed": True, "grade": "A", "is_valid": True, "criteria_scores": criteria()}
        written(judge / "judgment.json", said)
        written(judge / "MODEL.md", f"# Judge Model Information\n\n**Model**: {model}\n")
        written(
            judge / "timing.json", {"judge_duration_seconds": 71.5, "measured_at": "2026-01-20T06:15:04.918359+00:00"}
        )
    return folder


def an_experiment(folder: Path, config: dict[str, Any] | None = CONFIG) -> Path:
    experiment = folder / NAME
    if config is not None:
        written(experiment / "config" / "experiment.json", config)
    experiment.mkdir(exist_ok=True)
    return experiment
