"""The real agents, as installed by `make agents`, keep the contract: behind walls, against a scripted model."""

from abc import abstractmethod
from pathlib import Path
from typing import ClassVar

import pytest
from tests.adapters.agents.programs import PROGRAMS
from tests.parts import require

from outweigh.adapters.agents.claude_code import ClaudeCode
from outweigh.adapters.agents.codex import Codex
from outweigh.adapters.agents.command_line import CommandLineAgent
from outweigh.adapters.agents.mini_swe_agent import MiniSweAgent
from outweigh.adapters.sandboxes.bubblewrap import BubblewrapSandboxes
from outweigh.ports import SandboxProvider
from outweigh.task.arm import Arm
from outweigh.testing.agent_contract import AgentContract
from outweigh.testing.agent_setting import an_arm
from outweigh.testing.model_server import Turn


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
