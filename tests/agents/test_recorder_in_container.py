"""In an image with neither Python nor Node a server starts all the same, and nothing is claimed about it."""

from pathlib import Path

import pytest
from tests.agents.test_handshake_recorder import ASKED
from tests.prerequisites import needs, require
from tests.sandbox.container_fixtures import PATH, a_request, busybox_image, working_engine

from outweigh.agents.home_files import write_files
from outweigh.agents.installed_program import current_python
from outweigh.agents.server_start import RECORDS_ARTIFACT, read_server_starts, recorder_files, with_recorders
from outweigh.agents.watch_records import RecordWatch
from outweigh.model.arm import McpServer
from outweigh.ports.agents import ServerStart
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.testing.agent_contract import an_agent_arm


@pytest.fixture
@needs("container")
def containers() -> ContainerSandboxProvider:
    provider = ContainerSandboxProvider()
    require("container", provider.missing())
    return provider


def test_a_server_in_a_bare_image_is_not_recorded_and_works(
    containers: ContainerSandboxProvider, tmp_path: Path
) -> None:
    arm = an_agent_arm("codex", mcp_servers={"zoo": McpServer(command=["cat"])})
    with busybox_image(working_engine()) as image, containers.open(a_request(tmp_path, image)) as sandbox:
        files = recorder_files(arm, sandbox.home, {}, current_python().command[0])
        write_files(sandbox.host_home, files)
        command = with_recorders(arm, sandbox.home).mcp_servers["zoo"].command

        done = sandbox.exec(command, environment=PATH, timeout_seconds=60, stdin=ASKED)
        records = RecordWatch(sandbox.host_home, arm).artifact(sandbox)

    assert (done.stdout, done.exit_code) == (ASKED, 0), done.stderr
    assert read_server_starts(["zoo"], records[RECORDS_ARTIFACT]) == {
        "zoo": ServerStart(is_recorded=False, was_started=True, has_answered=False, tools=None, fault=None)
    }
