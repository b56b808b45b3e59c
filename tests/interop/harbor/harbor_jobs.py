"""Minimal Harbor jobs, as version 0.25 writes them."""

from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

STEPS = [
    {"step_id": 1, "source": "user", "message": "Fix it."},
    {
        "step_id": 2,
        "source": "agent",
        "message": "Looking.",
        "tool_calls": [{"tool_call_id": "1", "function_name": "bash", "arguments": {"command": "ls"}}],
        "metrics": {"prompt_tokens": 900, "completion_tokens": 40, "cached_tokens": 600},
    },
    {"step_id": 3, "source": "agent", "message": "Done."},
]
TRAJECTORY = {
    "schema_version": "ATIF-v1.7",
    "session_id": "s",
    "agent": {"name": "claude-code", "version": "2.1.0"},
    "steps": STEPS,
    "final_metrics": {
        "total_prompt_tokens": 1000,
        "total_completion_tokens": 50,
        "total_cached_tokens": 700,
        "total_cost_usd": 0.25,
        "extra": {"total_cache_creation_input_tokens": 100},
    },
}


def a_trial(number: int, task: str, reward: float | None = 1, **fields: Any) -> dict[str, Any]:
    """A trial's result; `skills=` and `exception=` are put where Harbor has them."""
    skills, exception = fields.pop("skills", []), fields.pop("exception", None)
    minute = f"{number % 60:02}"
    return {
        "id": str(UUID(int=number)),
        "task_name": task,
        "trial_name": f"{task}__{number:07}",
        "trial_uri": "file:///jobs",
        "task_id": {"path": f"tasks/{task}"},
        "source": "my-dataset",
        "task_checksum": f"checksum of {task}",
        "config": {
            "agent": {
                "name": "claude-code",
                "model_name": "anthropic/claude-opus-4-5",
                "skills": skills,
                "kwargs": {},
                "n_concurrent": None,
            }
        },
        "agent_info": {
            "name": "claude-code",
            "version": "2.1.0",
            "model_info": {"name": "claude-opus-4-5", "provider": "anthropic"},
        },
        "agent_result": {"n_input_tokens": 1000, "n_cache_tokens": 700, "n_output_tokens": 50, "cost_usd": 0.25},
        "verifier_result": None if reward is None else {"rewards": {"reward": reward}},
        "exception_info": None
        if exception is None
        else {
            "exception_type": exception,
            "exception_message": "it broke",
            "exception_traceback": "…",
            "occurred_at": "2026-05-01T10:00:00Z",
        },
        "started_at": f"2026-05-01T10:{minute}:00Z",
        "finished_at": f"2026-05-01T10:{minute}:59Z",
        "environment_setup": {
            "started_at": f"2026-05-01T10:{minute}:00Z",
            "finished_at": f"2026-05-01T10:{minute}:02Z",
        },
        "agent_setup": {"started_at": f"2026-05-01T10:{minute}:02Z", "finished_at": f"2026-05-01T10:{minute}:05Z"},
        "agent_execution": {"started_at": f"2026-05-01T10:{minute}:05Z", "finished_at": f"2026-05-01T10:{minute}:35Z"},
        "verifier": {"started_at": f"2026-05-01T10:{minute}:35Z", "finished_at": f"2026-05-01T10:{minute}:45.5Z"},
    } | fields


def a_job(folder: Path, trials: list[dict[str, Any]], **stats: Any) -> Path:
    """A job's folder with its trials."""
    folder.mkdir(parents=True)
    job = {
        "id": str(UUID(int=0)),
        "started_at": "2026-05-01T10:00:00Z",
        "finished_at": "2026-05-01T11:00:00Z",
        "n_total_trials": len(trials),
        "stats": {"n_completed_trials": len(trials), "n_errored_trials": 0, "n_retries": 0, "evals": {}} | stats,
    }
    (folder / "config.json").write_bytes(b"{}")
    (folder / "result.json").write_bytes(msgspec.json.encode(job))
    for trial in trials:
        place = folder / trial["trial_name"]
        place.mkdir()
        (place / "result.json").write_bytes(msgspec.json.encode(trial))
    return folder


def leave_trajectory(job: Path, trial: dict[str, Any], trajectory: dict[str, Any] = TRAJECTORY) -> None:
    """Write a trajectory where the agent of a trial would."""
    place = job / trial["trial_name"] / "agent"
    place.mkdir()
    (place / "trajectory.json").write_bytes(msgspec.json.encode(trajectory))
