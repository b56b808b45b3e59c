"""Hooks, sub-agents, plugins and commands of real agents: tried, proven, missed, or said not to be provable."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from tests.agents.programs import PROGRAMS
from tests.cli.agent_experiment import ACT, END, AgentDesk, require_agent
from tests.engine.engine_fixtures import write_suite
from tests.prerequisites import needs, require

from outweigh.model.failure import Status
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.model_server import Conversation, ModelServer, Script, Turn, When
from outweigh.testing.model_server.model_script import CallSpec

HOOK = {"type": "command", "command": "true"}
KEEPER = "---\nname: keeper\ndescription: Takes care of every zebra in the stable.\n---\nYou keep zebras.\n"
STRIPES = "---\ndescription: Counts the stripes of one zebra.\n---\nCount them.\n"
CLAUDE_FILES = {
    ".claude/agents/keeper.md": KEEPER,
    ".claude/commands/zoo/stripes.md": STRIPES,
    ".claude/settings.json": json.dumps(
        {"hooks": {"SessionStart": [{"hooks": [HOOK]}], "PreToolUse": [{"matcher": "Bash", "hooks": [HOOK]}]}}
    ),
    "plug/.claude-plugin/plugin.json": '{"name": "zoo", "version": "1.0.0"}',
    "plug/agents/rider.md": KEEPER.replace("keeper", "rider"),
}
CODEX_FILES = {
    ".codex/agents/keeper.toml": 'name = "keeper"\ndescription = "Takes care of every zebra in the stable."\n'
    'developer_instructions = "You keep zebras."\n',
    ".codex/hooks.json": json.dumps({"hooks": {"PreToolUse": [{"matcher": ".*", "hooks": [HOOK]}]}}),
}
GEMINI_FILES = {".gemini/commands/stripes.toml": 'description = "Counts the stripes."\nprompt = "Count them."\n'}
QWEN_FILES = {".qwen/agents/keeper.md": KEEPER, ".qwen/commands/stripes.md": STRIPES}
OPENCODE_FILES = {".opencode/agents/keeper.md": KEEPER.replace("---\nYou", "mode: subagent\n---\nYou")}
PLUGIN_FLAGS = ["--plugin-dir", "plug"]
ARMS: dict[str, tuple[dict[str, Any], Mapping[str, str]]] = {
    "whole": ({"agent": "claude-code", "flags": PLUGIN_FLAGS}, CLAUDE_FILES),
    "deaf": ({"agent": "claude-code", "flags": ["--safe-mode"]}, CLAUDE_FILES),
    "codex": ({"agent": "codex", "model": "gpt-5"}, CODEX_FILES),
    "gemini": ({"agent": "gemini-cli", "model": "gemini-2.5-pro"}, GEMINI_FILES),
    "qwen": ({"agent": "qwen-code", "model": "qwen3-coder"}, QWEN_FILES),
    "opencode": ({"agent": "opencode", "model": "openai/gpt-5"}, OPENCODE_FILES),
}


NO_SIGN = "neither its output nor its requests show this"
FOUND = {
    "whole": (None, "2 requests"),
    "deaf": (
        "the sub-agent 'keeper' is declared and was not loaded; "
        "the command 'zoo:stripes' is declared and was not loaded; "
        "the hook for SessionStart is declared and was not run",
        "2 requests; not provable with this agent: "
        "the hook 'PreToolUse' (run only at that moment, and not seen in this run)",
    ),
    "codex": (None, f"2 requests; not provable with this agent: the hook 'PreToolUse' ({NO_SIGN})"),
    "gemini": (None, f"2 requests; not provable with this agent: the command 'stripes' ({NO_SIGN})"),
    "qwen": (None, "2 requests"),
    "opencode": (None, "3 requests"),
}
"""What is missing in each arm, and what else is said about it."""


@pytest.fixture
@needs("agent", "bubblewrap")
def suite(tmp_path: Path) -> Path:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    for program in ("claude", "codex", "gemini", "qwen", "opencode"):
        require("agent", None if (PROGRAMS / program).exists() else f"{program} is not installed; run `make agents`")
    for name, (_, files) in ARMS.items():
        for path, content in files.items():
            file = tmp_path / "suite" / name / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(content)
    arms = {name: {**settings, "files": name} for name, (settings, _) in ARMS.items()}
    return write_suite(tmp_path / "suite", arms, sandbox={"kind": "bubblewrap"})


def test_what_an_agent_shows_is_proven_or_missed_and_the_rest_is_listed(
    outweigh_process: Any, suite: Path, tmp_path: Path
) -> None:
    keys = dict.fromkeys(("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "GEMINI_API_KEY"), "sk-1")
    environment = {"PATH": f"{PROGRAMS}:{os.environ['PATH']}", "HOME": str(tmp_path), **keys}

    answer = outweigh_process("doctor", "-c", str(suite), "--try-agents", "--format", "json", environment=environment)

    tried = [part for part in answer.json()["parts"] if part["kind"] == "tried"]
    assert {part["name"]: (part["missing"], part["detail"]) for part in tried} == FOUND


@pytest.mark.needs_agent
@pytest.mark.needs_bubblewrap
def test_a_sub_agent_with_a_model_of_its_own_and_instructions_for_a_folder_are_used_and_proven(tmp_path: Path) -> None:
    require_agent("claude")
    desk = AgentDesk(tmp_path, "claude-sonnet-4-5")
    files = {
        ".claude/agents/keeper.md": KEEPER.replace("---\nYou", "model: opus\n---\nYou"),
        "sub/CLAUDE.md": "Speak softly to every zebra in this folder.\n",
        "sub/file.txt": "A zebra.\n",
    }
    for path, content in files.items():
        (desk.suite / "files" / path).parent.mkdir(parents=True, exist_ok=True)
        (desk.suite / "files" / path).write_text(content)
    task = "Take care of zebra number seven."
    delegated = CallSpec(name="Agent", arguments={"subagent_type": "keeper", "description": "keep", "prompt": task})
    opened = CallSpec(name="Read", arguments={"file_path": "/ws/sub/file.txt"})
    script = Script(
        conversation=[Conversation(when=When(contains=task), turn=[Turn(text="Done.")])],
        turn=[Turn(tool_calls=[delegated]), Turn(tool_calls=[opened]), ACT, END],
    )
    with ModelServer(script) as server:
        desk.write(server, {"keeping": {"agent": "claude-code", "model": "claude-sonnet-4-5", "files": "files"}})
        desk.run()

    (run,) = (run for run in desk.records() if run.trial.arm == "keeping")
    assert (run.status, run.status_detail) == (Status.COMPLETED, None)
    assert run.metering is not None
    assert len(run.metering.models) == 2
    assert any("opus" in model for model in run.metering.models)
    assert run.loaded is not None
    assert run.loaded.agents == ("keeper",)
    assert not any("not provable" in warning for warning in run.warnings)
