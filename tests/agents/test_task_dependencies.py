"""Claims about agents in the sandbox of a task with installed dependencies, with the real programs."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.agents.programs import PROGRAMS
from tests.prerequisites import needs, require

from outweigh.agents.claude_code.agent import ClaudeCodeAgent
from outweigh.agents.codex.agent import CodexAgent
from outweigh.agents.command_line import CommandLineAgent
from outweigh.engine.run_agent import keep_path_in_login_shells
from outweigh.model.failure import Status
from outweigh.ports.gateways import ModelAccess
from outweigh.ports.sandboxes import Mount
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.agent_contract import MODEL_PORT, an_agent_arm, an_attempt, port_to
from outweigh.testing.model_server import ModelServer, Script, Turn
from outweigh.testing.sandbox_fixtures import a_sandbox_request

INSIDE = "/opt/dependencies"
VARIABLES = {
    "PATH": f"{INSIDE}/venv/bin:/usr/local/bin:/usr/bin:/bin",
    "VIRTUAL_ENV": f"{INSIDE}/venv",
    "NODE_PATH": f"{INSIDE}/node_modules",
}


@pytest.fixture(params=[(ClaudeCodeAgent(), "claude-sonnet-4-5"), (CodexAgent(), "gpt-5")], ids=["claude", "codex"])
@needs("agent", "bubblewrap")
def agent(request: pytest.FixtureRequest) -> tuple[CommandLineAgent, str]:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    found: tuple[CommandLineAgent, str] = request.param
    return found


def test_its_commands_find_them_first_and_its_own_program_is_still_found(
    agent: tuple[CommandLineAgent, str], tmp_path: Path
) -> None:
    program, model = agent
    arm = an_agent_arm(program.name, {"program": str(PROGRAMS / program.program)}, model=model)
    require("agent", program.missing(arm))
    dependencies = tmp_path / "dependencies"
    (dependencies / "venv" / "bin").mkdir(parents=True)
    # Programs that the agent itself could start by name: they must be shadowed for its commands, and not break it.
    for name in ("python3", "node"):
        fake = dependencies / "venv" / "bin" / name
        fake.write_text('#!/bin/sh\necho "from dependencies"\n')
        fake.chmod(0o755)
    wanted = replace(
        a_sandbox_request(tmp_path / "run", "agents"),
        read_only=program.read_only(arm),
        mounts=(Mount(source=dependencies, target=INSIDE),),
    )
    keep_path_in_login_shells(wanted.home, VARIABLES)
    line = 'python3 > answer.txt; echo "$VIRTUAL_ENV $NODE_PATH" >> answer.txt'
    with (
        ModelServer(Script(turn=[Turn(run=line), Turn(text="Done.")])) as server,
        BubblewrapSandboxProvider().open(replace(wanted, ports=(port_to(server.port),))) as sandbox,
    ):
        access = ModelAccess(base_url=f"http://127.0.0.1:{sandbox.port(MODEL_PORT)}", key="run-key-1")
        outcome = program.attempt(an_attempt(arm, environment=VARIABLES, model_access=access), sandbox)

    assert (outcome.status, outcome.status_detail) == (Status.COMPLETED, None)
    written = (wanted.workspace / "answer.txt").read_text().splitlines()
    assert written == ["from dependencies", f"{VARIABLES['VIRTUAL_ENV']} {VARIABLES['NODE_PATH']}"]
