"""The contract for real agents, as `make agents` installs them: behind walls, against a scripted model."""

from abc import abstractmethod
from hashlib import sha256
from pathlib import Path
from shutil import which
from typing import ClassVar

import msgspec
import pytest
from tests.agents.programs import PROGRAMS
from tests.prerequisites import needs, require

from outweigh.agents.command_line import CommandLineAgent
from outweigh.engine.load_arms import ArmFiles, load_arm
from outweigh.model.agent_files import file_locations_of
from outweigh.model.arm import Arm, ArmSpec, McpServer, OverlayFile
from outweigh.model.failure import FailureKind, Status
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.testing.agent_contract import ANSWER_FILE, AgentContract, an_agent_arm
from outweigh.testing.model_server import Turn

DESCRIPTION = "Puts every zebra back into its own stable."
SKILL = f"---\nname: tidy\ndescription: {DESCRIPTION}\n---\nCount the stripes first.\n"
INSTRUCTIONS = "Greet every zebra by its full name."
TOOL_SERVER = """
import json, sys
TOOL = {"name": "feed_the_zebra", "description": "Feeds it.", "inputSchema": {"type": "object", "properties": {}}}
for line in sys.stdin:
    asked = json.loads(line)
    if "id" not in asked:
        continue
    method, answer = asked["method"], {"error": {"code": -32601, "message": "unknown method"}}
    if method == "initialize":
        version = asked["params"]["protocolVersion"]
        about = {"name": "zoo", "version": "1"}
        answer = {"result": {"protocolVersion": version, "capabilities": {"tools": {}}, "serverInfo": about}}
    elif method == "tools/list":
        answer = {"result": {"tools": [TOOL]}}
    print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], **answer}), flush=True)
"""

SERVERS = {"zoo": McpServer(command=["python3", "tool_server.py"])}
INSIDE = "/usr/local/bin:/usr/bin:/bin"


class LiveAgent(AgentContract):
    """The contract for a program of ours."""

    model: ClassVar[str]
    must_be_there: ClassVar[bool] = False
    """Whether a build that promises everything is broken without it."""

    @pytest.fixture(autouse=True)
    @needs("agent", "bubblewrap")
    def _parts(self, tmp_path: Path) -> None:
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        missing = self.agent().missing(self.arm())
        if missing is not None and not self.must_be_there:
            pytest.skip(missing)
        require("agent", missing)
        self._folder = tmp_path
        self._sandboxes: SandboxProvider = BubblewrapSandboxProvider()

    @abstractmethod
    def agent(self) -> CommandLineAgent: ...

    def arm(self) -> Arm:
        agent = self.agent()
        return an_agent_arm(agent.name, {"program": str(PROGRAMS / agent.program)}, model=self.model)

    def sandboxes(self) -> SandboxProvider:
        return self._sandboxes

    def folder(self) -> Path:
        return self._folder

    def laid(self) -> tuple[Arm, dict[str, bytes]]:
        """An arm with all that this agent understands, loaded as a suite's is, and the files that it lays."""
        source = self._folder / "suite"
        (source / "skills" / "tidy").mkdir(parents=True)
        (source / "skills" / "tidy" / "SKILL.md").write_text(SKILL)
        (source / "files").mkdir()
        (source / "files" / "tool_server.py").write_text(TOOL_SERVER)
        plain, places = self.arm(), file_locations_of(self.agent().name)
        spec = ArmSpec(
            agent=plain.agent,
            model=plain.model,
            options=plain.options,
            files="files",
            skills=["skills/tidy"] if places.skills else [],
            instructions=INSTRUCTIONS if places.instructions else None,
            mcp_servers={"zoo": McpServer(command=["python3", "tool_server.py"])}
            if self.agent().starts_servers
            else {},
        )
        files = ArmFiles(source)
        arm = load_arm("full", {"full": spec}, files, "suite.toml")
        return arm, {file.path: files.contents[file.sha256] for file in arm.overlay}

    def test_works_without_walls_too(self) -> None:
        self._sandboxes = LocalSandboxProvider()

        done = self.run_attempt(self.turns())

        assert done.outcome.status is Status.COMPLETED, done.description
        assert (done.workspace / ANSWER_FILE).read_text() == "42\n", done.description

    def test_what_the_arm_lays_is_put_before_the_model(self) -> None:
        require(
            "bubblewrap",
            None if which("python3", path=INSIDE) else f"no python3 in {INSIDE}, where sandboxes look for it",
        )
        arm, files = self.laid()

        done = self.run_attempt(self.turns(), arm, files)

        sent = b"\n".join(entry.body or b"" for entry in done.requests).decode()
        places = file_locations_of(self.agent().name)
        assert done.outcome.status is Status.COMPLETED, done.description
        assert (DESCRIPTION in sent, INSTRUCTIONS in sent) == (bool(places.skills), bool(places.instructions)), (
            done.description
        )
        assert ("feed_the_zebra" in sent) == self.agent().starts_servers, done.description


class RunsHooks(LiveAgent):
    """The contract for one that runs commands of the arm at certain moments."""

    hooks: ClassVar[tuple[str, str, str]]
    """The file that names them, the moment before a tool is used, and a pattern of tools."""

    def test_hooks_that_the_arm_lays_are_run(self) -> None:
        path, moment, tools = self.hooks
        command = {"type": "command", "name": "note", "command": "touch hook-was-here"}
        content = msgspec.json.encode({"hooks": {moment: [{"matcher": tools, "hooks": [command]}]}})
        file = OverlayFile(path=path, sha256=sha256(content).hexdigest(), executable=False)

        done = self.run_attempt(self.turns(), msgspec.structs.replace(self.arm(), overlay=(file,)), {path: content})

        assert done.outcome.status is Status.COMPLETED, done.description
        assert (done.workspace / "hook-was-here").exists(), done.description
        assert not [warning for warning in done.outcome.warnings if "hook" in warning]


class LimitsTurns(LiveAgent):
    """The contract for one that can be told to stop after so many turns."""

    def test_a_limit_of_turns_is_kept_and_told(self) -> None:
        arm = self.arm()
        arm = msgspec.structs.replace(arm, options={**arm.options, "max_turns": 2})

        done = self.run_attempt([Turn(run=f"echo {number}") for number in range(12)], arm)

        assert done.outcome.failure is not None, done.description
        assert done.outcome.failure.kind is FailureKind.TURN_LIMIT, done.description
        assert (done.outcome.status, done.outcome.tool_call_count) == (Status.AGENT_ERROR, 2), done.description
