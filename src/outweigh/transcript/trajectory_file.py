"""ATIF trajectory files: written from an agent's report, read, and checked against the format's rules."""

import re
from datetime import datetime

import msgspec

from outweigh.errors import EvidenceError
from outweigh.transcript.agent_report import AgentReport
from outweigh.transcript.atif import ATIF_VERSION, AtifAgent, AtifFinalMetrics, AtifStep, AtifTrajectory, prompt_tokens

_ONLY_OF_AGENTS = ("model_name", "reasoning_effort", "reasoning_content", "tool_calls", "metrics")


def _find_broken_rule(trajectory: AtifTrajectory) -> str | None:
    """The first rule that a trajectory breaks, with its place; None where it breaks none."""
    if not trajectory.steps:
        return "there is no step"
    for number, step in enumerate(trajectory.steps, start=1):
        if step.step_id != number:
            return f"step {number} has the id {step.step_id}, where ids count from 1 without gaps"
        fault = _fault_of_step(step)
        if fault is not None:
            return f"step {number} {fault}"
    return None


def _fault_of_step(step: AtifStep) -> str | None:
    if step.source != "agent":
        stated = [field for field in _ONLY_OF_AGENTS if getattr(step, field) is not None]
        if stated:
            return f"is a {step.source}'s and has {', '.join(stated)}, which only an agent's can have"
    called = {call.tool_call_id for call in step.tool_calls or ()}
    for result in step.observation.results if step.observation else ():
        if result.source_call_id is not None and result.source_call_id not in called:
            return f"has a result of the call {result.source_call_id!r}, which it does not make"
    if step.timestamp is not None and not _is_timestamp(step.timestamp):
        return f"has the timestamp {step.timestamp!r}, which is not ISO 8601"
    return None


def _is_timestamp(timestamp: str) -> bool:
    """Whether a text is an ISO 8601 timestamp."""
    try:
        datetime.fromisoformat(timestamp)
    except ValueError:
        return False
    return True


UNKNOWN_VERSION = "unknown"
"""The format requires a version, which not every agent reports."""

_VERSION = re.compile(r"ATIF-v1\.(?P<minor>\d{1,3})")
_NEWEST_MINOR = 8
_decoder = msgspec.json.Decoder(AtifTrajectory)
_encoder = msgspec.json.Encoder()


def build_trajectory(report: AgentReport, agent_name: str) -> AtifTrajectory:
    """A complete trajectory. It must have a step, so the final text or the failure becomes one where there is none."""
    steps = report.steps or (_only_step(report),)
    return AtifTrajectory(
        schema_version=ATIF_VERSION,
        session_id=report.session_id,
        agent=AtifAgent(name=agent_name, version=report.version or UNKNOWN_VERSION, model_name=report.model),
        steps=tuple(_within_rules(step, number) for number, step in enumerate(steps, start=1)),
        notes="\n".join(report.warnings) or None,
        final_metrics=_final_metrics(report, len(steps)),
    )


def trajectory_json(report: AgentReport, agent_name: str) -> bytes:
    """A report's trajectory as the text of a file."""
    return encode_trajectory(build_trajectory(report, agent_name))


def encode_trajectory(trajectory: AtifTrajectory) -> bytes:
    """A trajectory as the text of a file."""
    return _encoder.encode(trajectory)


def read_trajectory(content: bytes, source: str = "the trajectory") -> AtifTrajectory:
    """Read a trajectory of any known version; raise EvidenceError with the place where it breaks a rule."""
    try:
        trajectory = _decoder.decode(content)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as fault:
        raise EvidenceError(f"{source} is not a trajectory in the ATIF format: {fault}. Export it again.") from None
    version = _VERSION.fullmatch(trajectory.schema_version)
    if version is None or int(version["minor"]) > _NEWEST_MINOR:
        raise EvidenceError(
            f"{source} has the version {trajectory.schema_version!r}; ATIF-v1.0 to {ATIF_VERSION} can be read. "
            "Export it again in one of those."
        )
    broken = _find_broken_rule(trajectory)
    if broken is not None:
        raise EvidenceError(f"{source} breaks a rule of the ATIF format: {broken}. Export it again.")
    return trajectory


def _within_rules(step: AtifStep, number: int) -> AtifStep:
    """The step with its number, without a timestamp that is not valid."""
    known = step.timestamp is not None and _is_timestamp(step.timestamp)
    return msgspec.structs.replace(step, step_id=number, timestamp=step.timestamp if known else None)


def _only_step(report: AgentReport) -> AtifStep:
    if report.final_text:
        return AtifStep(step_id=1, source="agent", message=report.final_text, model_name=report.model)
    message = report.failure.detail if report.failure is not None else "The agent did not show any step."
    return AtifStep(step_id=1, source="system", message=message)


def _final_metrics(report: AgentReport, step_count: int) -> AtifFinalMetrics:
    usage = report.usage
    extra = {
        "total_cache_creation_input_tokens": usage.cache_write_tokens,
        "total_cache_read_input_tokens": usage.cache_read_tokens,
        "cost_source": None if report.cost_usd is None else "reported",
    }
    return AtifFinalMetrics(
        total_prompt_tokens=prompt_tokens(usage),
        total_completion_tokens=usage.output_tokens,
        total_cached_tokens=usage.cache_read_tokens,
        total_cost_usd=report.cost_usd,
        total_steps=step_count,
        extra={key: value for key, value in extra.items() if value is not None} or None,
    )
