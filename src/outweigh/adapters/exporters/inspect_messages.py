"""A trajectory as the messages of a chat, in the terms of Inspect."""

from collections.abc import Iterator
from typing import Any

from outweigh.transcript.atif import AtifResult, AtifStep, AtifTrajectory
from outweigh.transcript.content_text import content_text

Message = dict[str, Any]

_ROLES = {"system": "system", "user": "user", "agent": "assistant"}


def chat_messages(trajectory: AtifTrajectory, mark: str) -> list[Message]:
    """What was said, in order: a step, then what its tools answered. `mark` makes the messages' ids unique."""
    return [message for step in trajectory.steps for message in _step_messages(step, f"{mark}-{step.step_id}")]


def last_answer(messages: list[Message]) -> Message | None:
    """What the agent said last; a sub-agent's word is not the agent's."""
    answers = (each for each in reversed(messages) if each["role"] == "assistant")
    return next((each for each in answers if "sub_agent" not in each.get("metadata", {})), None)


def _step_messages(step: AtifStep, mark: str) -> Iterator[Message]:
    about = _about(step)
    message: Message = {"id": mark, "role": _ROLES[step.source], "content": _content(step)} | about
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


def _tool_message(result: AtifResult, mark: str, functions: dict[str, str]) -> Message:
    answer = content_text(result.content or "")
    message: Message = {"id": mark, "role": "tool", "content": answer}
    if result.source_call_id is not None:
        message |= {"tool_call_id": result.source_call_id, "function": functions.get(result.source_call_id)}
    if (result.extra or {}).get("is_error") is True:
        # What kind of error it was is not recorded, and the format has a word for that.
        message["error"] = {"type": "unknown", "message": answer}
    return message


def _about(step: AtifStep) -> dict[str, Any]:
    """What a message has no field for."""
    known = {
        "timestamp": step.timestamp,
        "sub_agent": step.sub_agent,
        "copied_context": step.is_copied_context,
    }
    metadata = {name: value for name, value in known.items() if value is not None}
    return {"metadata": metadata} if metadata else {}
