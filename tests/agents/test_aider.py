"""How aider is asked; and what it then does, with the real program."""

from typing import Any

import pytest
from tests.agents.live_agent import LiveAgent

from outweigh.agents.aider import AiderAgent
from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.model.arm import OverlayFile
from outweigh.model.usage import Usage
from outweigh.testing.agent_contract import ANSWER_FILE, FIRST_USAGE, MODEL_ACCESS, an_agent_arm, an_attempt
from outweigh.testing.model_server import Tokens, Turn


def launched(options: dict[str, Any] | None = None, *, asked: dict[str, Any] | None = None, **arm: Any) -> Launch:
    request = an_attempt(an_agent_arm("aider", options, model="gpt-4.1", **arm), **(asked or {}))
    return AiderAgent().launch(request, "/home/agent")


def test_the_prompt_is_in_a_file_and_nobody_is_asked_for_leave() -> None:
    launch = launched(asked={"instruction": "/run rm"})

    assert launch.files["aider-prompt.md"] == b"/run rm"
    assert launch.arguments[:5] == (
        "--model",
        "openai/gpt-4.1",
        "--message-file",
        "/home/agent/aider-prompt.md",
        "--yes-always",
    )


def test_its_histories_and_logs_are_not_in_the_workspace() -> None:
    told = launched().arguments

    for option in ("--analytics-log", "--input-history-file", "--chat-history-file"):
        assert told[told.index(option) + 1].startswith("/home/agent/")
    assert launched().workspace_litter == (".aider.tags.cache.v*",)


def test_conventions_that_the_arm_lays_are_read_and_files_are_open_from_the_start() -> None:
    laid = (OverlayFile(path="CONVENTIONS.md", sha256="0" * 64, executable=False),)

    assert launched({"files": ["a.py", "b.py"]}, overlay=laid).arguments[-4:] == (
        "--read",
        "CONVENTIONS.md",
        "a.py",
        "b.py",
    )
    assert "--read" not in launched().arguments


def test_the_gateway_is_its_provider() -> None:
    assert launched().gateway_variables == {
        "OPENAI_API_BASE": f"{MODEL_ACCESS.base_url}/v1",
        "OPENAI_API_KEY": MODEL_ACCESS.key,
    }


@pytest.mark.parametrize(
    ("alias", "provider", "variable"),
    [
        ("sonnet", "anthropic", "ANTHROPIC_API_BASE"),
        ("flash", "gemini", "GEMINI_API_BASE"),
        ("4o", "openai", "OPENAI_API_BASE"),
    ],
)
def test_an_alias_of_its_own_is_passed_on_and_led_to_its_provider(alias: str, provider: str, variable: str) -> None:
    arm = an_agent_arm("aider", model=alias)

    launch = AiderAgent().launch(an_attempt(arm), "/home/agent")

    assert launch.arguments[:2] == ("--model", alias)
    assert variable in launch.gateway_variables
    assert AiderAgent().provider(arm) == provider
    assert AiderAgent().resolved_models(arm) != ()


class TestAider(LiveAgent):
    model = "openai/gpt-4.1"

    def agent(self) -> CommandLineAgent:
        return AiderAgent()

    def turns(self) -> list[Turn]:
        """It has no tools: the model answers with the change itself."""
        change = f"{ANSWER_FILE}\n```\n<<<<<<< SEARCH\n=======\n42\n>>>>>>> REPLACE\n```\n"
        return [Turn(text=change, usage=FIRST_USAGE)]

    def usage_of(self, tokens: Tokens) -> Usage:
        """It tells what came out, and of what went in not how much the cache held."""
        return Usage(
            input_tokens=None, output_tokens=tokens.output_tokens, cache_read_tokens=None, cache_write_tokens=None
        )
