"""The job file of one arm: everything that Harbor is told, in its own words."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from outweigh.adapters.harbor.agent_entry import agent_entry
from outweigh.task.arm import Arm
from outweigh.task.harbor import HarborSpec


def job_file(
    *,
    name: str,
    jobs_folder: Path,
    arm: Arm,
    task_folders: Sequence[Path],
    at_once: int,
    timeout_seconds: float | None,
    spec: HarborSpec,
) -> dict[str, Any]:
    """One trial for every task folder, in this order; a task that is to be repeated is there more than once.

    Harbor tries nothing again by itself: it keeps nothing of the attempts before, and their cost would be lost.
    """
    agent = agent_entry(arm)
    if timeout_seconds is not None:
        agent["override_timeout_sec"] = timeout_seconds
    return {
        **spec.job,
        "job_name": name,
        "jobs_dir": str(jobs_folder),
        "n_attempts": 1,
        "n_concurrent_trials": at_once,
        "retry": {"max_retries": 0},
        **({"environment": spec.environment} if spec.environment else {}),
        "agents": [agent],
        "tasks": [{"path": str(folder)} for folder in task_folders],
        **({"extra_instructions": [arm.extra_prompt]} if arm.extra_prompt is not None else {}),
    }


def job_text(job: dict[str, Any]) -> bytes:
    """A job file as it is written, for Harbor and for people."""
    return msgspec.json.format(msgspec.json.encode(job), indent=2) + b"\n"
