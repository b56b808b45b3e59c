"""A plugin of Claude Code as the change of an arm: everything that it brings is proven, and what is broken is named."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.agents.programs import PROGRAMS
from tests.cli.agent_experiment import require_agent
from tests.engine.engine_fixtures import write_suite
from tests.engine.plugin_arms import PLUGIN_FILES, write_files
from tests.prerequisites import needs, require

from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

HOOK = {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "/no/such/program"}]}]}}
SERVER = {"mcpServers": {"sums": {"command": "/no/such/program"}}}
PLUGINS: dict[str, Mapping[str, str]] = {
    "whole": PLUGIN_FILES,
    "without-hook": PLUGIN_FILES | {"hooks/hooks.json": json.dumps(HOOK)},
    "without-server": PLUGIN_FILES | {".mcp.json": json.dumps(SERVER)},
    "without-skill": PLUGIN_FILES | {"skills/greet/SKILL.md": ""},
}


@pytest.fixture
@needs("agent", "bubblewrap")
def suite(tmp_path: Path) -> Path:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    require_agent("claude")
    for name, files in PLUGINS.items():
        write_files(tmp_path / "suite" / name, files)
    arms: dict[str, dict[str, Any]] = {"plain": {"agent": "claude-code"}}
    arms |= {name: {"agent": "claude-code", "plugins": [name]} for name in PLUGINS}
    return write_suite(tmp_path / "suite", arms, sandbox={"kind": "bubblewrap"})


def test_each_part_of_a_plugin_is_proven_or_its_fault_is_named(
    outweigh_process: Any, suite: Path, tmp_path: Path
) -> None:
    environment = {
        "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
        "HOME": str(tmp_path),
        "ANTHROPIC_API_KEY": "sk-1",
    }

    answer = outweigh_process("doctor", "-c", str(suite), "--try-agents", "--format", "json", environment=environment)

    tried = [part for part in answer.json()["parts"] if part["kind"] == "tried"]
    assert {part["name"]: part["missing"] for part in tried} == {
        "plain": None,
        "whole": None,
        "without-hook": "the hook for SessionStart is declared and was not run",
        "without-server": "the MCP server 'plugin:full:sums' is declared and was not loaded",
        "without-skill": "the skill 'full:greet' is declared and was not loaded",
    }
