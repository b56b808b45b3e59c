"""The folder of one run as a collected record: what the harness noted, and what OpenCode left beside it."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from outweigh.adapters.importers.source_text import json_lines, read_json
from outweigh.errors import EvidenceError
from outweigh.ports.importers import ImportNotes
from outweigh.transcript.fields import amount_at, count_at, table_at, text_at
from outweigh.transcript.foreign import mapping, sequence

_EVENTS, _SESSION = "opencode.events.jsonl", "session.export.json"


def run_row(folder: Path, meta: dict[str, Any], notes: ImportNotes) -> dict[str, Any]:
    """The harness's own fields, with tokens and dollars of the session and counts of the events."""
    return {
        **_session(folder / _SESSION, notes),
        **_events(folder / _EVENTS, meta.get("acceptance_command"), notes),
        **meta,
    }


def _session(path: Path, notes: ImportNotes) -> dict[str, Any]:
    """Sums over what the model answered. OpenCode counts reasoning beside the output; here it is a part of it."""
    if not path.is_file() or not path.stat().st_size:
        return {}
    try:
        messages = sequence(mapping(read_json(path, notes)).get("messages"))
    except EvidenceError as fault:
        notes.warn(f"a session was not read, so its tokens are unknown: {fault}")
        return {}
    infos = [info for message in messages if _is_answer(info := table_at(mapping(message), "info"))]
    output = _total(count_at(info, "tokens", "output") for info in infos)
    thought = any("reasoning" in table_at(info, "tokens") for info in infos)
    reasoning = _total(count_at(info, "tokens", "reasoning") for info in infos) if thought else 0
    return {
        "total_cost_usd": _total(amount_at(info, "cost") for info in infos),
        "input_tokens": _total(count_at(info, "tokens", "input") for info in infos),
        "output_tokens": None if output is None or reasoning is None else output + reasoning,
        "cache_read_tokens": _total(count_at(info, "tokens", "cache", "read") for info in infos),
        "cache_write_tokens": _total(count_at(info, "tokens", "cache", "write") for info in infos),
    }


def _is_answer(info: dict[str, Any]) -> bool:
    """Only the model's messages have tokens and a price."""
    return info.get("role") == "assistant" or "tokens" in info or "cost" in info


def _events(path: Path, command: object, notes: ImportNotes) -> dict[str, Any]:
    """Steps, tools, and how often the agent itself ran the check; unknown where a line cannot be read."""
    if not path.is_file() or not path.stat().st_size:
        return {}
    steps = tools = checks = 0
    trouble = ImportNotes()
    for line in json_lines(path, trouble):
        kind = text_at(line.value, "type")
        steps += kind == "step_finish"
        if kind == "tool_use":
            tools += 1
            typed = text_at(line.value, "part", "state", "input", "command")
            checks += isinstance(command, str) and typed is not None and f"{typed} ".startswith(f"{command} ")
    if trouble.unreadable:
        notes.warn(f"steps and tool calls are unknown, because not every line of {path} can be read.")
        return {}
    known = {"step_count": steps, "tool_call_count": tools}
    return known | {"acceptance_cmd_count": checks} if isinstance(command, str) and command else known


def _total(values: Iterator[Any]) -> Any:
    """The sum; unknown with any of its parts, and of nothing."""
    found = list(values)
    return None if not found or None in found else sum(found)
