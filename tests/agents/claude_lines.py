"""Events of Claude Code in short, in the shapes that versions 2.1.38 to 2.1.325 write them."""

from typing import Any

import msgspec

Event = dict[str, Any]


def lines(*events: Event) -> bytes:
    return b"".join(msgspec.json.encode(event) + b"\n" for event in events)


def init(**fields: Any) -> Event:
    return {"type": "system", "subtype": "init", "session_id": "s1", **fields}


def usage(input_tokens: int = 0, output: int = 0, cache_read: int = 0, cache_write: int = 0) -> Event:
    return {
        "input_tokens": input_tokens,
        "output_tokens": output,
        "cache_read_input_tokens": cache_read,
        "cache_creation_input_tokens": cache_write,
    }


def model_usage(input_tokens: int, output: int, cache_read: int = 0, cache_write: int = 0, **fields: Any) -> Event:
    return {
        "inputTokens": input_tokens,
        "outputTokens": output,
        "cacheReadInputTokens": cache_read,
        "cacheCreationInputTokens": cache_write,
        **fields,
    }


def assistant(message_id: str | None, *blocks: Event, tokens: Event | None = None, **fields: Any) -> Event:
    message: Event = {"role": "assistant", "model": "claude-x", "content": list(blocks), "stop_reason": None}
    message |= {"id": message_id} if message_id is not None else {}
    message |= {"usage": tokens} if tokens is not None else {}
    message |= fields.pop("message", {})
    return {"type": "assistant", "message": message, **fields}


def user(*blocks: Event, **fields: Any) -> Event:
    return {"type": "user", "message": {"role": "user", "content": list(blocks)}, **fields}


def said(words: str) -> Event:
    return {"type": "text", "text": words}


def call(call_id: str, tool: str, **arguments: Any) -> Event:
    return {"type": "tool_use", "id": call_id, "name": tool, "input": arguments}


def answer(call_id: str, content: Any = "ok", **fields: Any) -> Event:
    return {"type": "tool_result", "tool_use_id": call_id, "content": content, **fields}


def result(**fields: Any) -> Event:
    return {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "api_error_status": None,
        "num_turns": 1,
        "result": "Done.",
        "total_cost_usd": 0.5,
        "duration_ms": 1500,
        "usage": usage(1, 2),
        "modelUsage": {"claude-x": model_usage(1, 2)},
        "permission_denials": [],
        **fields,
    }
