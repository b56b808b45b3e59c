"""A tool call of the Agent Client Protocol, in the words of a trajectory."""

from typing import Any

from outweigh.transcript.failure_text import exit_code_told
from outweigh.transcript.fields import as_text, at, name_at, number_at, table_at, tables_at, text_at
from outweigh.transcript.json_lines import Event

_META_DEPTH = 3


def tool_name(call: Event) -> str:
    """The tool's own name where the agent adds it, else the kind of the call; titles are made for people."""
    return _named(call.get("_meta"), _META_DEPTH) or name_at(call, "kind") or _first_word(call) or "unknown"


def call_arguments(call: Event) -> dict[str, Any]:
    """What was asked; agents that keep it to themselves tell at least a title and places."""
    raw = table_at(call, "rawInput")
    if raw:
        return raw
    places = [path for place in tables_at(call, "locations") if (path := text_at(place, "path")) is not None]
    return {"title": text_at(call, "title") or "", **({"locations": places} if places else {})}


def call_output(call: Event) -> str:
    """What came of it: texts, and the files that were changed."""
    parts = [_content(item) for item in tables_at(call, "content")]
    return "\n".join(parts) if parts else as_text(at(call, "rawOutput"))


def call_failed(call: Event) -> bool:
    """Whether it failed: by its state, or by the exit code of a command that was carried out nevertheless."""
    raw = table_at(call, "rawOutput")
    told = number_at(raw, "exit_code") or number_at(raw, "metadata", "exit") or exit_code_told(call_output(call))
    return text_at(call, "status") == "failed" or bool(told)


def _content(item: Event) -> str:
    match text_at(item, "type"):
        case "diff":
            return f"[changed {text_at(item, 'path') or 'a file'}]"
        case "terminal":
            return "[terminal]"
        case _:
            return text_at(item, "content", "text") or as_text(at(item, "content"))


def _named(meta: Any, depth: int) -> str | None:
    """Agents put the name under a key of their own; whatever that is, the last key is the same."""
    if not isinstance(meta, dict) or depth == 0:
        return None
    inner = (_named(value, depth - 1) for value in meta.values())
    return name_at(meta, "toolName") or next((name for name in inner if name is not None), None)


def _first_word(call: Event) -> str | None:
    words = (text_at(call, "title") or "").split()
    return words[0].rstrip(":")[:200] or None if words else None
