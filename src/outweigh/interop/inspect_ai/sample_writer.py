"""A run as a sample of Inspect: its scores, its chat messages, and its tokens and cost by model.

What is unknown is left out, because Inspect's counts have no value for it; what Inspect has no field for is in
`metadata`.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from hashlib import sha256
from itertools import takewhile
from math import isclose
from typing import Any

import msgspec

from outweigh.interop.inspect_ai.log_reader import SUMMARY_CHARACTERS
from outweigh.model.failure import EXCLUDED_STATUSES, Status
from outweigh.model.pricing import PriceTables
from outweigh.model.run_record import RunRecord
from outweigh.model.usage import Usage
from outweigh.score.objective import passed
from outweigh.transcript.atif import AtifResult, AtifStep, AtifTrajectory, content_text

ChatMessage = dict[str, Any]

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def chat_messages(trajectory: AtifTrajectory, mark: str) -> list[ChatMessage]:
    """The messages in order: each step, then the results of its tool calls. `mark` makes message ids unique."""
    return [message for step in trajectory.steps for message in _step_messages(step, f"{mark}-{step.step_id}")]


def last_answer(messages: list[ChatMessage]) -> ChatMessage | None:
    """The agent's last message; those of sub-agents do not count."""
    answers = (each for each in reversed(messages) if each["role"] == "assistant")
    return next((each for each in answers if "sub_agent" not in each.get("metadata", {})), None)


def _step_messages(step: AtifStep, mark: str) -> Iterator[ChatMessage]:
    about = _message_metadata(step)
    message: ChatMessage = {"id": mark, "role": _ROLES[step.source], "content": _content(step)} | about
    if step.model_name is not None:
        message["model"] = step.model_name
    if step.tool_calls:
        message["tool_calls"] = [
            {"id": call.tool_call_id, "function": call.function_name, "arguments": call.arguments, "type": "function"}
            for call in step.tool_calls
        ]
    yield message
    functions = {call.tool_call_id: call.function_name for call in step.tool_calls or ()}
    for number, result in enumerate(step.observation.results if step.observation else (), start=1):
        yield _tool_message(result, f"{mark}-{number}", functions) | about


def _content(step: AtifStep) -> str | list[dict[str, str]]:
    said = content_text(step.message)
    if not step.reasoning_content:
        return said
    reasoning = {"type": "reasoning", "reasoning": step.reasoning_content}
    return [reasoning, {"type": "text", "text": said}] if said else [reasoning]


def _tool_message(result: AtifResult, mark: str, functions: dict[str, str]) -> ChatMessage:
    answer = content_text(result.content or "")
    message: ChatMessage = {"id": mark, "role": "tool", "content": answer}
    if result.source_call_id is not None:
        message |= {"tool_call_id": result.source_call_id, "function": functions.get(result.source_call_id)}
    if (result.extra or {}).get("is_error") is True:
        # The kind of error is not recorded; the format has a value for that.
        message["error"] = {"type": "unknown", "message": answer}
    return message


def _message_metadata(step: AtifStep) -> dict[str, Any]:
    """What a message has no field for."""
    known = {
        "timestamp": step.timestamp,
        "sub_agent": step.sub_agent,
        "copied_context": step.is_copied_context,
    }
    metadata = {name: value for name, value in known.items() if value is not None}
    return {"metadata": metadata} if metadata else {}


ModelUsage = dict[str, Any]

UNKNOWN_MODEL = "unknown"
"""The format requires a model's name, and agents do not always state it."""


def model_usage(run: RunRecord, prices: PriceTables) -> dict[str, ModelUsage] | None:
    """Usage by model if the parts are known and add up; None if input or output is unknown."""
    whole = _counts(run.usage)
    if whole is None:
        return None
    parts = _metered_parts(run)
    if len(parts) > 1:
        return _split_cost(run, parts, prices)
    name = next(iter(parts), None) or run.agent.model or UNKNOWN_MODEL
    return {name: whole | _cost(run.cost.usd)}


def sum_model_usage(usages: list[dict[str, ModelUsage]]) -> dict[str, ModelUsage]:
    """The usage of a whole log; a count that any sample lacks is left out."""
    total: dict[str, ModelUsage] = {}
    for usage in usages:
        for name, counts in usage.items():
            before = total.get(name)
            total[name] = dict(counts) if before is None else _sum_known(before, counts)
    return total


def _metered_parts(run: RunRecord) -> Mapping[str, Usage]:
    """The metered usage of each model; empty if it does not add up to the run's usage."""
    if run.metering is None:
        return {}
    parts = run.metering.models
    names = ("input_tokens", "output_tokens", "cache_read_tokens", "cache_write_tokens")
    adds_up = all(
        sum(getattr(part, name) or 0 for part in parts.values()) == (getattr(run.usage, name) or 0) for name in names
    )
    return parts if adds_up and all(_counts(part) for part in parts.values()) else {}


def _split_cost(run: RunRecord, parts: Mapping[str, Usage], prices: PriceTables) -> dict[str, ModelUsage]:
    """Cost by model, only if the price tables agree with the cost of the whole run."""
    priced = {name: prices.cost(name, part, run.started_at)[0] for name, part in parts.items()}
    dollars = {name: cost.usd for name, cost in priced.items() if cost is not None and cost.usd is not None}
    agree = (
        run.cost.usd is not None
        and len(dollars) == len(parts)
        and isclose(sum(dollars.values()), run.cost.usd, rel_tol=1e-6, abs_tol=1e-9)
    )
    return {name: (_counts(part) or {}) | _cost(dollars[name] if agree else None) for name, part in parts.items()}


def _counts(usage: Usage) -> ModelUsage | None:
    if usage.input_tokens is None or usage.output_tokens is None:
        return None
    cached = {
        "input_tokens_cache_read": usage.cache_read_tokens,
        "input_tokens_cache_write": usage.cache_write_tokens,
    }
    known = {name: tokens for name, tokens in cached.items() if tokens is not None}
    return {
        "input_tokens": usage.input_tokens,
        "output_tokens": usage.output_tokens,
        "total_tokens": usage.input_tokens + usage.output_tokens + sum(known.values()),
        **known,
    }


def _cost(usd: float | None) -> ModelUsage:
    return {} if usd is None else {"total_cost": usd}


def _sum_known(one: ModelUsage, other: ModelUsage) -> ModelUsage:
    return {name: one[name] + other[name] for name in one if name in other}


InspectSample = dict[str, Any]

OUTCOME_SCORER = "passed"
CHECKS_SCORER = "checks"
JUDGES_SCORER = "judge_score"
CORRECT, INCORRECT = "C", "I"

_ESCAPING_PATH = re.compile(r"(^|[/\\])\.\.([/\\]|$)|\x00")
_SUMMARISED = ("id", "epoch", "target", "scores", "started_at", "total_time", "working_time", "uuid", "turn_count")


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportedRun:
    """A run with what is known beside its record; `epoch` counts from 1."""

    run: RunRecord
    epoch: int
    trajectory: AtifTrajectory | None
    instruction: str | None
    judge_score: float | None


def make_sample(attempted: ExportedRun, evaluation_id: str, prices: PriceTables) -> InspectSample:
    """The whole sample."""
    run = attempted.run
    uuid = sha256(f"{evaluation_id}\n{run.run_id}\n{run.attempt}".encode()).hexdigest()[:22]
    sample: InspectSample = {
        "id": sample_id(run.trial.task_id),
        "epoch": attempted.epoch,
        "input": attempted.instruction or "",
        "target": _target(run),
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


def known_input(run: RunRecord, trajectory: AtifTrajectory | None) -> str | None:
    """What an imported run was asked: as its source says it, else what the user says first in its trajectory."""
    said = run.extra.get("input")
    if isinstance(said, str) and said:
        return said
    steps = () if trajectory is None else takewhile(lambda step: step.source != "agent", trajectory.steps)
    return "\n".join(content_text(step.message) for step in steps if step.source == "user") or None


def _target(run: RunRecord) -> str | list[str]:
    """What an imported sample should have answered."""
    found = run.extra.get("target")
    if isinstance(found, list) and all(isinstance(each, str) for each in found):
        return found
    return found if isinstance(found, str) else ""


def make_summary(sample: InspectSample) -> InspectSample:
    """The summary of a sample, as shown in lists, without messages."""
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
    """The task's id, changed if it would lead out of the archive, in which samples are files."""
    if _ESCAPING_PATH.search(task_id) is None:
        return task_id
    return f"{_ESCAPING_PATH.sub('-', task_id).strip('-')}-{sha256(task_id.encode()).hexdigest()[:8]}"


def _scores(run: RunRecord, judge_score: float | None) -> dict[str, Any] | None:
    """The outcome, then the checks and the judge score. What could not be evaluated has no score."""
    scores: dict[str, Any] = {}
    outcome = passed(run).value
    if outcome is not None:
        scores[OUTCOME_SCORER] = _known_only({"value": CORRECT if outcome else INCORRECT, "explanation": _ending(run)})
    if run.checks:
        details = [f"{check.name}: {check.detail}" for check in run.checks if check.detail]
        scores[CHECKS_SCORER] = _known_only(
            {
                "value": {check.name: check.passed for check in run.checks},
                "explanation": "\n".join(details) or None,
                "metadata": {check.name: _known_only(msgspec.to_builtins(check)) for check in run.checks},
            }
        )
    if judge_score is not None:
        scores[JUDGES_SCORER] = {"value": judge_score}
    return scores or None


def _ending(run: RunRecord) -> str | None:
    if run.status is Status.COMPLETED:
        return None
    return f"{run.status.value}: {run.status_detail}" if run.status_detail else run.status.value


def _error(run: RunRecord) -> dict[str, str] | None:
    """The error of a run that says nothing about the agent; Inspect leaves such samples out of its figures, too."""
    if run.status not in EXCLUDED_STATUSES:
        return None
    return {"message": _ending(run) or "", "traceback": "", "traceback_ansi": ""}


def _conversation(trajectory: AtifTrajectory, mark: str, model: str | None) -> InspectSample:
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


def _metadata(attempted: ExportedRun) -> dict[str, Any]:
    run, trajectory = attempted.run, attempted.trajectory
    elsewhere = len(trajectory.subagent_trajectories or ()) if trajectory is not None else 0
    return _known_only(
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


def _known_only(values: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in values.items() if value is not None}
