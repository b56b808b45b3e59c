"""The messages of a sample as a trajectory. Reading them takes far longer than reading summaries, so they are read only
where transcripts are asked for.
"""

from collections.abc import Mapping
from typing import Any

import msgspec

from outweigh.model.json_text import decode_json
from outweigh.model.untrusted_json import as_dict, as_list, as_name, as_str
from outweigh.transcript.atif import ATIF_VERSION, AtifAgent, AtifTrajectory, content_text
from outweigh.transcript.trajectory_builder import TrajectoryBuilder
from outweigh.transcript.trajectory_file import UNKNOWN_VERSION, encode_trajectory


class _SampleMessages(msgspec.Struct):
    messages: Any = None


def trajectory_of_sample(content: bytes, agent: str | None, model: str | None) -> bytes | None:
    """The trajectory of an encoded sample as the text of a file; None if the sample has no messages."""
    builder = TrajectoryBuilder()
    for message in as_list(_messages(content)):
        _take(builder, as_dict(message))
    steps = builder.steps()
    if not steps:
        return None
    about = AtifAgent(name=agent or "inspect", version=UNKNOWN_VERSION, model_name=model)
    return encode_trajectory(AtifTrajectory(schema_version=ATIF_VERSION, agent=about, steps=steps))


def _messages(content: bytes) -> Any:
    try:
        return msgspec.json.decode(content, type=_SampleMessages).messages
    except (ValueError, RecursionError):
        return as_dict(decode_json(content)).get("messages")


def _take(builder: TrajectoryBuilder, message: Mapping[str, Any]) -> None:
    content, role = message.get("content"), message.get("role")
    if role == "assistant":
        builder.close()
        builder.say(_text(content))
        builder.think(_reasoning(content))
        for number, call in enumerate(map(as_dict, as_list(message.get("tool_calls"))), start=1):
            name = as_name(call.get("function")) or "unnamed"
            call_id = as_name(call.get("id")) or f"{name}_{builder.tool_call_count + number}"
            builder.call(call_id, name, as_dict(call.get("arguments")))
        builder.note(model=as_name(message.get("model")))
    elif role == "tool":
        failed = bool(message.get("error"))
        builder.result(as_name(message.get("tool_call_id")) or "unnamed", _text(content), failed)
    elif role in ("system", "user"):
        builder.add("system" if role == "system" else "user", _text(content))


def _text(content: object) -> str:
    """The texts of a message, without its reasoning."""
    if isinstance(content, str):
        return content
    return content_text([block for block in as_list(content) if as_dict(block).get("type") != "reasoning"])


def _reasoning(content: object) -> str:
    blocks = map(as_dict, as_list(content))
    return "\n".join(as_str(block.get("reasoning")) or "" for block in blocks if block.get("type") == "reasoning")
