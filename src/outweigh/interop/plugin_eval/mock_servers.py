"""Mocks of a plugin's tool servers, as servers in its copy that give the same answers.

A mock that a model plays, one that guards its input, and one for a server that the plugin does not have are left out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from outweigh.errors import UsageError, quote_names
from outweigh.interop.plugin_eval.case_files import MOCK_FOLDER, read_prose
from outweigh.interop.suite_files import decode_text, read_bytes
from outweigh.model.json_text import try_decode_json
from outweigh.model.untrusted_json import as_dict, as_str, dicts_at
from outweigh.ports.suites import DraftFile

SERVERS_FILE = ".mcp.json"
_FOLDER = ".mock-servers"
_TOOL_FILE = re.compile(r"[A-Za-z0-9_-]+\.md")
_AGENT_FILE, _TOOLS_FILE = "_server.md", "_tools.json"
_PROGRAM = b"""\
# Answers calls of tools with the texts of a JSON file: a stand-in for a tool server.
import json
import sys

with open(sys.argv[1], encoding="utf-8") as file:
    mock = json.load(file)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    method, parameters = message.get("method"), message.get("params") or {}
    result = {}
    if method == "initialize":
        server = {"name": "mock", "version": "1"}
        version = parameters.get("protocolVersion", "2025-06-18")
        result = {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": server}
    elif method == "tools/list":
        result = {"tools": mock["tools"]}
    elif method == "tools/call":
        answer = mock["answers"].get(parameters.get("name"), {"text": "there is no such tool", "error": True})
        result = {"content": [{"type": "text", "text": answer["text"]}], "isError": answer["error"]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""


@dataclass(frozen=True, slots=True, kw_only=True)
class MockedPlugin:
    """Files that replace or join those of the plugin's copy, and notes on mocks that were left out."""

    files: dict[str, DraftFile]
    notes: tuple[str, ...]


def read_mocks(evals: Path, plugin: Mapping[str, DraftFile]) -> MockedPlugin:
    """The mocks for all cases; `plugin` are the files of its copy."""
    folder = evals / MOCK_FOLDER
    servers = sorted(entry for entry in folder.iterdir() if entry.is_dir()) if folder.is_dir() else []
    declared = as_dict(try_decode_json(plugin[SERVERS_FILE].content)) if SERVERS_FILE in plugin else {}
    table = as_dict(declared.get("mcpServers", declared))
    files: dict[str, DraftFile] = {}
    notes: list[str] = []
    mocked: dict[str, Any] = {}
    for server in servers:
        try:
            if server.name not in table:
                raise UsageError(f"the plugin's {SERVERS_FILE} has no such server")
            answers = dict(_answers(server))
            if not answers:
                raise UsageError("it has no answers")
        except UsageError as fault:
            notes.append(f"The mock of {server.name!r} was left out: {str(fault).rstrip('.')}.")
            continue
        document = {"tools": _tools(server, list(answers)), "answers": answers}
        files[f"{_FOLDER}/{server.name}.json"] = DraftFile(content=msgspec.json.encode(document))
        arguments = [f"${{CLAUDE_PLUGIN_ROOT}}/{_FOLDER}/{name}" for name in ("server.py", f"{server.name}.json")]
        mocked[server.name] = {"command": "python3", "args": arguments}
    if mocked:
        files[f"{_FOLDER}/server.py"] = DraftFile(content=_PROGRAM)
        files[SERVERS_FILE] = DraftFile(content=msgspec.json.encode({"mcpServers": table | mocked}))
    if real := [name for name in table if name not in mocked]:
        notes.append(
            f"The plugin's own servers without a mock ({quote_names(real)}) are started in the sandbox, as "
            "`claude plugin eval` does only with --allow-real-servers."
        )
    return MockedPlugin(files=files, notes=tuple(notes))


def _answers(server: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    if (server / _AGENT_FILE).is_file():
        raise UsageError("a model plays it")
    for path in sorted(server.glob("*.md")):
        stated, body = read_prose(path)
        if _TOOL_FILE.fullmatch(path.name) is None or as_str(stated.get("type", "fixed")) != "fixed":
            raise UsageError(f"a model plays its tool {path.stem!r}")
        if stated.get("expect") is not None or "{{" in body:
            raise UsageError(f"its tool {path.stem!r} looks at what it is given")
        yield path.stem, {"text": body, "error": stated.get("error") is True}


def _tools(server: Path, names: list[str]) -> list[dict[str, Any]]:
    """The tools as a saved list describes them; one that is not in it takes anything."""
    path = server / _TOOLS_FILE
    saved = as_dict(try_decode_json(decode_text(read_bytes(path)).encode())) if path.is_file() else {}
    listed = {as_str(each.get("name")): each for each in dicts_at(saved.get("result", saved), "tools")}
    return [
        {
            "name": name,
            "description": as_str(as_dict(listed.get(name)).get("description")) or "",
            "inputSchema": as_dict(as_dict(listed.get(name)).get("inputSchema")) or {"type": "object"},
        }
        for name in names
    ]
