"""A plugin of Claude Code that brings everything that a plugin can bring."""

import json
from collections.abc import Mapping
from pathlib import Path

SERVER = """\
import json, sys

TOOLS = {"tools": [{"name": "add", "description": "adds", "inputSchema": {"type": "object", "properties": {}}}]}
HELLO = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "s", "version": "1"}}
for line in sys.stdin:
    message = json.loads(line)
    if "id" in message:
        result = {"initialize": HELLO, "tools/list": TOOLS}.get(message["method"], {})
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
"""
PLUGIN_FILES = {
    ".claude-plugin/plugin.json": '{"name": "full", "version": "0.1.0", "description": "All that a plugin can bring"}',
    "skills/greet/SKILL.md": "---\nname: greet\ndescription: Greets every zebra in capitals.\n---\nSay HELLO.\n",
    "commands/zoo/release.md": "---\ndescription: Releases one zebra into the wild.\n---\nRelease it.\n",
    "agents/critic.md": "---\nname: critic\ndescription: Reviews what is said about zebras.\n---\nReview.\n",
    "hooks/hooks.json": json.dumps({"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "true"}]}]}}),
    ".mcp.json": json.dumps(
        {"mcpServers": {"sums": {"command": "python3", "args": ["${CLAUDE_PLUGIN_ROOT}/server.py"]}}}
    ),
    "server.py": SERVER,
}


def write_files(folder: Path, files: Mapping[str, str]) -> Path:
    for path, content in files.items():
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(content)
    return folder
