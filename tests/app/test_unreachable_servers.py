"""A remote tool server that its sandbox does not reach is named before anything is run."""

from pathlib import Path

import msgspec
import pytest

from outweigh.app.suite_sandbox import unreachable_servers
from outweigh.engine.load_suite import LoadedSuite
from outweigh.model.arm import McpServer, bare_arm
from outweigh.model.suite import SandboxSpec, SuiteSpec


def unreachable(url: str, agent: str = "claude-code", **sandbox: object) -> list[str]:
    servers = {"notes": McpServer(url=url), "own": McpServer(command=["notes"])}
    arm = msgspec.structs.replace(bare_arm("tooled", agent), mcp_servers=servers)
    spec = SuiteSpec(name="s", tasks=["t"], arms={}, baseline="tooled", sandbox=SandboxSpec(**sandbox))  # type: ignore[arg-type]
    suite = LoadedSuite(spec=spec, folder=Path(), tasks=(), arms={"tooled": arm}, overlays={}, origins={})
    return list(unreachable_servers(suite))


@pytest.mark.parametrize(
    ("url", "entry"),
    [
        ("https://notes.example.org/mcp", "notes.example.org"),
        ("http://notes.example.org:8080/mcp", "notes.example.org:8080"),
    ],
)
def test_its_host_must_be_allowed(url: str, entry: str) -> None:
    assert unreachable(url) == [
        "arms.tooled.mcp_servers.notes: the sandbox does not reach notes.example.org. "
        f'Add "{entry}" to allow_hosts under [sandbox].'
    ]
    assert unreachable(url, allow_hosts=[entry]) == []
    assert unreachable(url, kind="local") == []


@pytest.mark.parametrize("host", ["localhost", "127.0.0.1", "[::1]"])
def test_an_address_of_the_machine_itself_is_another_one_inside_a_sandbox(host: str) -> None:
    (said,) = unreachable(f"http://{host}:8080/mcp", allow_hosts=[f"{host}:8080"])

    assert "is the sandbox itself, where no server listens" in said


def test_an_agent_that_needs_its_proxy_for_nothing_else_is_named() -> None:
    (said,) = unreachable("https://notes.example.org", "qwen-code", allow_hosts=["notes.example.org"])

    assert "qwen-code cannot reach a remote server from a sandbox" in said
