"""The real agents, as installed by `make agents`, keep the contract: behind walls, against a scripted model."""

from abc import abstractmethod
from pathlib import Path
from shutil import which
from typing import ClassVar

import msgspec
import pytest
from tests.adapters.agents.programs import PROGRAMS
from tests.parts import require

from outweigh.adapters.agents.acp import Acp
from outweigh.adapters.agents.aider import Aider
from outweigh.adapters.agents.claude_code import ClaudeCode
from outweigh.adapters.agents.codex import Codex
from outweigh.adapters.agents.command_line import CommandLineAgent
from outweigh.adapters.agents.gemini_cli import GeminiCli
from outweigh.adapters.agents.goose import Goose
from outweigh.adapters.agents.mini_swe_agent import MiniSweAgent
from outweigh.adapters.agents.opencode import OpenCode
from outweigh.adapters.agents.qwen_code import QwenCode
from outweigh.adapters.sandboxes.bubblewrap import BubblewrapSandboxes
from outweigh.ports import SandboxProvider
from outweigh.record.status import Status
from outweigh.record.usage import NO_USAGE, Usage
from outweigh.run.arms import ArmFiles, load_arm
from outweigh.task.arm import Arm, ArmSpec, McpServer
from outweigh.task.places import places_of
from outweigh.testing.agent_contract import ANSWER, FIRST_USAGE, AgentContract
from outweigh.testing.agent_setting import an_arm
from outweigh.testing.model_server import LedgerEntry, Tokens, Turn

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

    @pytest.fixture(autouse=True)
    def _parts(self, tmp_path: Path) -> None:
        require(BubblewrapSandboxes().missing())
        require(self.agent().missing(self.arm()))
        self._folder = tmp_path

    @abstractmethod
    def agent(self) -> CommandLineAgent: ...

    def arm(self) -> Arm:
        agent = self.agent()
        return an_arm(agent.name, {"program": str(PROGRAMS / agent.program)}, model=self.model)

    def sandboxes(self) -> SandboxProvider:
        return BubblewrapSandboxes()

    def folder(self) -> Path:
        return self._folder

    def laid(self) -> tuple[Arm, dict[str, bytes]]:
        """An arm with all that this agent understands, loaded as a suite's is, and the files that it lays."""
        source = self._folder / "suite"
        (source / "skills" / "tidy").mkdir(parents=True)
        (source / "skills" / "tidy" / "SKILL.md").write_text(SKILL)
        (source / "files").mkdir()
        (source / "files" / "tool_server.py").write_text(TOOL_SERVER)
        plain, places = self.arm(), places_of(self.agent().name)
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

    def test_what_the_arm_lays_is_put_before_the_model(self) -> None:
        require(None if which("python3", path=INSIDE) else f"no python3 in {INSIDE}, where sandboxes look for it")
        arm, files = self.laid()

        done = self.attempted(self.turns(), arm, files)

        sent = b"\n".join(entry.body or b"" for entry in done.requests).decode()
        places = places_of(self.agent().name)
        assert done.outcome.status is Status.COMPLETED, done.told
        assert (DESCRIPTION in sent, INSTRUCTIONS in sent) == (bool(places.skills), bool(places.instructions)), (
            done.told
        )
        assert ("feed_the_zebra" in sent) == self.agent().starts_servers, done.told


class TestClaudeCode(LiveAgent):
    model = "claude-sonnet-4-5"

    def agent(self) -> CommandLineAgent:
        return ClaudeCode()


class TestCodex(LiveAgent):
    model = "gpt-5"

    def agent(self) -> CommandLineAgent:
        return Codex()


class TestMiniSweAgent(LiveAgent):
    model = "openai/gpt-4.1"

    def agent(self) -> CommandLineAgent:
        return MiniSweAgent()

    def turns(self) -> list[Turn]:
        """It ends by a command."""
        act, end = super().turns()
        return [act, Turn(run="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", usage=end.usage)]


class TestGeminiCli(LiveAgent):
    model = "gemini-2.5-pro"

    def agent(self) -> CommandLineAgent:
        return GeminiCli()

    @pytest.mark.xfail(reason="Google refuses a key with 400, which is not yet read as such")
    def test_a_model_that_refuses_the_key_says_nothing_about_the_arm(self) -> None:
        super().test_a_model_that_refuses_the_key_says_nothing_about_the_arm()


class TestOpenCode(LiveAgent):
    model = "openai/gpt-5"

    def agent(self) -> CommandLineAgent:
        return OpenCode()

    def counts(self, entry: LedgerEntry) -> bool:
        """It does not count the request for a title."""
        return super().counts(entry) and bool(entry.tools)


class TestGoose(LiveAgent):
    model = "openai/gpt-4.1"

    def agent(self) -> CommandLineAgent:
        return Goose()

    def counts(self, entry: LedgerEntry) -> bool:
        """It does not count the request for a title."""
        return super().counts(entry) and bool(entry.tools)


class TestQwenCode(LiveAgent):
    model = "qwen3-coder"

    def agent(self) -> CommandLineAgent:
        return QwenCode()

    def usage_of(self, tokens: Tokens) -> Usage:
        """It has no word for what is written to the cache."""
        return msgspec.structs.replace(super().usage_of(tokens), cache_write_tokens=None)


class TestAider(LiveAgent):
    model = "openai/gpt-4.1"

    def agent(self) -> CommandLineAgent:
        return Aider()

    def turns(self) -> list[Turn]:
        """It has no tools: the model answers with the change itself."""
        change = f"{ANSWER}\n```\n<<<<<<< SEARCH\n=======\n42\n>>>>>>> REPLACE\n```\n"
        return [Turn(text=change, usage=FIRST_USAGE)]

    def usage_of(self, tokens: Tokens) -> Usage:
        """It tells what came out, and of what went in not how much the cache held."""
        return Usage(
            input_tokens=None, output_tokens=tokens.output_tokens, cache_read_tokens=None, cache_write_tokens=None
        )


class TestAcp(LiveAgent):
    """By way of goose, which asks its client to run its commands."""

    model = "gpt-4.1"

    def agent(self) -> CommandLineAgent:
        return Acp()

    def arm(self) -> Arm:
        access = {
            "GOOSE_PROVIDER": "openai",
            "GOOSE_MODEL": "{model}",
            "GOOSE_MODE": "auto",
            "GOOSE_DISABLE_KEYRING": "1",
            "OPENAI_HOST": "{url}",
            "OPENAI_API_KEY": "{key}",
        }
        command = [str(PROGRAMS / "goose"), "acp", "--with-builtin", "developer"]
        return an_arm("acp", {"command": command, "access": access}, model=self.model)

    def usage_of(self, tokens: Tokens) -> Usage:
        """Its figures are of the last request alone, and are not believed."""
        return NO_USAGE
