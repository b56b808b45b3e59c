"""What a try says about an arm can be shown and stored: no secret is in it."""

from pathlib import Path

from tests.agents.programs import a_program

from outweigh.app.one_attempt import AttemptSetting
from outweigh.app.smoke_test import try_arm
from outweigh.engine.setup_check import expected_setup
from outweigh.model.arm import McpServer
from outweigh.model.suite import SandboxSpec
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.testing.agent_contract import an_agent_arm


def test_a_secret_that_a_failing_server_prints_is_not_in_the_fault(tmp_path: Path) -> None:
    program = a_program(tmp_path / "codex", "cat >/dev/null; sh ~/.outweigh-servers/0.sh </dev/null")
    server = McpServer(command=["sh", "-c", "echo wrong token $ZOO_TOKEN >&2; exit 3"])
    arm = an_agent_arm("codex", {"program": str(program)}, mcp_servers={"zoo": server}, secrets=("ZOO_TOKEN",))
    setting = AttemptSetting(
        overlays={},
        sandbox=SandboxSpec(kind="local"),
        sandboxes=LocalSandboxProvider(),
        gateway=None,
        expected=expected_setup({}, {}),
        timeout_seconds=60,
        secrets={"ZOO_TOKEN": "tok-very-secret"},
    )

    (fault,) = try_arm(setting, arm).faults

    assert fault == (
        "the MCP server 'zoo' is declared and it ended before it answered initialize (exit code 3): "
        "wrong token [secret]"
    )
