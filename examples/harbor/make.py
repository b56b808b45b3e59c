"""Writes `jobs/` beside this file: a Harbor job of one agent with and without a skill, on twelve tasks.

The results are invented; their shape is what Harbor 0.25 writes.
"""

import random
from pathlib import Path
from typing import Any
from uuid import UUID

import msgspec

JOB = "2026-05-04__09-30-00"
# task: how likely the agent passes it without the skill
TASKS = {
    "add-retry": 0.4,
    "close-file-leak": 0.3,
    "convert-dates": 0.3,
    "document-cli": 0.5,
    "fix-date-parser": 0.4,
    "fix-pagination": 0.2,
    "merge-config": 0.3,
    "port-to-async": 0.1,
    "quote-csv": 0.4,
    "rename-config-key": 0.5,
    "sort-imports": 0.9,
    "validate-input": 0.2,
}
SKILLS: dict[str, list[str]] = {"plain": [], "skilled": ["./skills/house-style"]}


def main() -> None:
    """Draw every trial from one seeded generator."""
    dice = random.Random(4)
    folder = Path(__file__).parent / "jobs" / JOB
    pairs = [(task, skills) for task in TASKS for skills in SKILLS.values()]
    trials = [_trial(dice, number, task, skills) for number, (task, skills) in enumerate(pairs, start=1)]
    # The model was overloaded once, and somebody ran that task again.
    trials.append(_overloaded(_trial(dice, 0, "sort-imports", [])))
    _write(folder / "result.json", _job(trials))
    for trial in trials:
        _write(folder / trial["trial_name"] / "result.json", trial)


def _trial(dice: random.Random, number: int, task: str, skills: list[str]) -> dict[str, Any]:
    skilled = bool(skills)
    passed = dice.random() < TASKS[task] + (0.8 if skilled else 0)
    seconds = round(dice.uniform(120, 180) * (0.7 if skilled else 1))
    tokens = round(dice.uniform(80_000, 120_000) * (0.7 if skilled else 1))
    return {
        "id": str(UUID(int=dice.getrandbits(128), version=4)),
        "task_name": task,
        "trial_name": f"{task}__{number:07}",
        "trial_uri": f"file:///jobs/{JOB}/{task}__{number:07}",
        "task_id": {"path": f"tasks/{task}"},
        "source": "house-tasks",
        "task_checksum": f"{random.Random(task).getrandbits(256):064x}",
        "config": {"agent": {"name": "claude-code", "model_name": "anthropic/claude-opus-4-5", "skills": skills}},
        "agent_info": {
            "name": "claude-code",
            "version": "2.1.38",
            "model_info": {"name": "claude-opus-4-5", "provider": "anthropic"},
        },
        "agent_result": {
            "n_input_tokens": tokens,
            "n_cache_tokens": round(tokens * 0.9),
            "n_output_tokens": round(tokens * 0.03),
            "cost_usd": round(tokens * 4e-6, 4),
        },
        "verifier_result": {"rewards": {"reward": int(passed)}},
        "exception_info": None,
        "started_at": _moment(number, 0),
        "finished_at": _moment(number, seconds + 30),
        "agent_execution": {"started_at": _moment(number, 10), "finished_at": _moment(number, seconds + 10)},
        "verifier": {"started_at": _moment(number, seconds + 10), "finished_at": _moment(number, seconds + 30)},
    }


def _overloaded(trial: dict[str, Any]) -> dict[str, Any]:
    exception = {
        "exception_type": "ApiOverloadedError",
        "exception_message": "529: Overloaded",
        "exception_traceback": "",
        "occurred_at": trial["finished_at"],
    }
    return trial | {"verifier_result": None, "exception_info": exception}


def _job(trials: list[dict[str, Any]]) -> dict[str, Any]:
    return {
        "id": str(UUID(int=0, version=4)),
        "started_at": _moment(1, 0),
        "finished_at": _moment(len(trials), 300),
        "n_total_trials": len(trials),
        "stats": {"n_completed_trials": len(trials), "n_errored_trials": 1, "n_retries": 2, "evals": {}},
    }


def _moment(number: int, seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    hours, minutes = divmod(30 + 6 * number + minutes, 60)
    return f"2026-05-04T{9 + hours:02}:{minutes:02}:{rest:02}Z"


def _write(path: Path, document: dict[str, Any]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(msgspec.json.format(msgspec.json.encode(document), indent=1) + b"\n")


if __name__ == "__main__":
    main()
