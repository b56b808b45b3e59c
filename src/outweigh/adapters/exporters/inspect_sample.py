"""A run as a sample of Inspect. What is unknown is left out; what Inspect has no field for stands in `metadata`."""

import re
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import msgspec

from outweigh.adapters.exporters.inspect_messages import chat_messages, last_answer
from outweigh.adapters.exporters.inspect_usage import UNKNOWN_MODEL, model_usage
from outweigh.record.pricing import FirstKnown
from outweigh.record.run_record import RunRecord
from outweigh.record.status import EXCLUDED, Status
from outweigh.score.objective import passed
from outweigh.transcript.atif import AtifTrajectory

Sample = dict[str, Any]

OUTCOME = "passed"
CHECKS = "checks"
JUDGES = "judge_score"
CORRECT, INCORRECT = "C", "I"

SUMMARY_CHARACTERS = 5000
"""Inspect cuts the texts of summaries a little beyond this."""

_LEADS_OUT = re.compile(r"(^|[/\\])\.\.([/\\]|$)|\x00")
_SUMMARISED = ("id", "epoch", "target", "scores", "started_at", "total_time", "working_time", "uuid", "turn_count")


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempted:
    """A run with what is known about it beside its record; `epoch` counts from 1."""

    run: RunRecord
    epoch: int
    trajectory: AtifTrajectory | None
    instruction: str | None
    judge_score: float | None


def sample_of(attempted: Attempted, evaluation_id: str, prices: FirstKnown) -> Sample:
    """The whole sample."""
    run = attempted.run
    uuid = sha256(f"{evaluation_id}\n{run.run_id}\n{run.attempt}".encode()).hexdigest()[:22]
    sample: Sample = {
        "id": sample_id(run.trial.task_id),
        "epoch": attempted.epoch,
        "input": attempted.instruction or "",
        "target": "",
        "uuid": uuid,
        "metadata": _metadata(attempted),
        "scores": _scores(run, attempted.judge_score),
        "model_usage": model_usage(run, prices),
        "started_at": None if run.started_at is None else run.started_at.isoformat(),
        "total_time": _total_seconds(run),
        "working_time": run.duration_seconds,
        "turn_count": run.step_count,
        "error": _error(run),
    }
    if attempted.trajectory is not None:
        sample |= _conversation(attempted.trajectory, uuid, run.agent.model)
    return {name: value for name, value in sample.items() if value is not None}


def summary_of(sample: Sample) -> Sample:
    """What lists of samples show, without the conversation."""
    summary = {name: sample[name] for name in _SUMMARISED if name in sample}
    summary |= {
        "input": sample["input"][:SUMMARY_CHARACTERS],
        "metadata": sample["metadata"],
        "model_usage": sample.get("model_usage", {}),
        "completed": True,
    }
    if "error" in sample:
        summary["error"] = sample["error"]["message"]
    if "messages" in sample:
        summary["message_count"] = len(sample["messages"])
    return summary


def sample_id(task_id: str) -> str:
    """The task's name, unless it would lead out of the archive in which samples are files."""
    if _LEADS_OUT.search(task_id) is None:
        return task_id
    return f"{_LEADS_OUT.sub('-', task_id).strip('-')}-{sha256(task_id.encode()).hexdigest()[:8]}"


def _scores(run: RunRecord, judge_score: float | None) -> dict[str, Any] | None:
    """The outcome, then what it rests on. What could not be evaluated is no score."""
    scores: dict[str, Any] = {}
    outcome = passed(run).value
    if outcome is not None:
        scores[OUTCOME] = _known({"value": CORRECT if outcome else INCORRECT, "explanation": _ending(run)})
    if run.checks:
        details = [f"{check.name}: {check.detail}" for check in run.checks if check.detail]
        scores[CHECKS] = _known(
            {
                "value": {check.name: check.passed for check in run.checks},
                "explanation": "\n".join(details) or None,
                "metadata": {check.name: _known(msgspec.to_builtins(check)) for check in run.checks},
            }
        )
    if judge_score is not None:
        scores[JUDGES] = {"value": judge_score}
    return scores or None


def _ending(run: RunRecord) -> str | None:
    if run.status is Status.COMPLETED:
        return None
    return f"{run.status.value}: {run.status_detail}" if run.status_detail else run.status.value


def _error(run: RunRecord) -> dict[str, str] | None:
    """Only what says nothing about the agent is an error there: such samples are left out of Inspect's figures, too."""
    if run.status not in EXCLUDED:
        return None
    return {"message": _ending(run) or "", "traceback": "", "traceback_ansi": ""}


def _conversation(trajectory: AtifTrajectory, mark: str, model: str | None) -> Sample:
    messages = chat_messages(trajectory, mark)
    answer = last_answer(messages)
    if answer is None:
        return {"messages": messages}
    choice = {"message": answer, "stop_reason": "unknown"}
    return {
        "messages": messages,
        "output": {"model": answer.get("model") or model or UNKNOWN_MODEL, "choices": [choice]},
    }


def _total_seconds(run: RunRecord) -> float | None:
    """Set-up, agent and checks together; checks that were not evaluated took no time."""
    checks = 0.0 if run.checks is None and run.checks_seconds is None else run.checks_seconds
    parts = (run.setup_seconds, run.duration_seconds, checks)
    known = [part for part in parts if part is not None]
    return sum(known) if len(known) == len(parts) else None


def _metadata(attempted: Attempted) -> dict[str, Any]:
    run, trajectory = attempted.run, attempted.trajectory
    elsewhere = len(trajectory.subagent_trajectories or ()) if trajectory is not None else 0
    return _known(
        {
            "run_id": run.run_id,
            "task_id": run.trial.task_id,
            "repeat": run.trial.repeat,
            "attempt": run.attempt,
            "status": run.status.value,
            "status_detail": run.status_detail,
            "agent": run.agent.name,
            "agent_version": run.agent.version,
            "model": run.agent.model,
            "task_checksum": run.task_checksum,
            "family": run.family,
            "setup_seconds": run.setup_seconds,
            "checks_seconds": run.checks_seconds,
            "tool_call_count": run.tool_call_count,
            "usage": msgspec.to_builtins(run.usage),
            "cost_usd": run.cost.usd,
            "cost_provenance": run.cost.provenance.value,
            "has_trajectory": trajectory is not None,
            "has_instruction": attempted.instruction is not None,
            "sub_agent_trajectories_left_out": elsewhere or None,
            "warnings": list(run.warnings) or None,
        }
    )


def _known(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
