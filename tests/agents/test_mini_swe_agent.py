"""How mini-swe-agent is asked; and what it then does, with the real program."""

from typing import Any

import msgspec
import pytest
from tests.agents.live_agent import LimitsTurns

from outweigh.agents.command_line import CommandLineAgent, Launch
from outweigh.agents.mini_swe_agent.agent import MiniSweAgent
from outweigh.testing.agent_contract import MODEL_ACCESS, an_agent_arm, an_attempt
from outweigh.testing.model_server import Turn


def launched(
    options: dict[str, Any] | None = None, *, model: str = "openai/m", asked: dict[str, Any] | None = None
) -> Launch:
    return MiniSweAgent().launch(
        an_attempt(an_agent_arm("mini-swe-agent", options, model=model), **(asked or {})), "/home/me"
    )


def settings(launch: Launch) -> dict[str, Any]:
    found: dict[str, Any] = msgspec.json.decode(launch.files["mini-settings.yaml"])
    return found


def test_the_prompt_is_in_a_file_however_long_it_is() -> None:
    words = "'x' " * 100_000

    launch = launched(asked={"instruction": words})

    assert settings(launch)["run"] == {"task": words}
    assert sum(map(len, launch.arguments)) < 300
    assert launch.arguments[:4] == ("-c", "mini.yaml", "-c", "/home/me/mini-settings.yaml")


def test_turns_are_limited_where_the_arm_says_so_and_dollars_where_nobody_else_does() -> None:
    metered = launched({"max_turns": 5}, asked={"budget_usd": 0.5})
    direct = launched(asked={"budget_usd": 0.5, "model_access": None})

    assert settings(metered)["agent"] == {"cost_limit": 0.0, "step_limit": 5}
    assert settings(direct)["agent"] == {"cost_limit": 0.5}


OPENAI = {"OPENAI_API_BASE": f"{MODEL_ACCESS.base_url}/v1", "OPENAI_API_KEY": MODEL_ACCESS.key}
ANTHROPIC = {"ANTHROPIC_API_BASE": MODEL_ACCESS.base_url, "ANTHROPIC_API_KEY": MODEL_ACCESS.key}
GEMINI = {"GEMINI_API_BASE": f"{MODEL_ACCESS.base_url}/v1beta", "GEMINI_API_KEY": MODEL_ACCESS.key}


@pytest.mark.parametrize(
    ("model", "told", "access"),
    [
        ("openai/gpt-4.1", "openai/gpt-4.1", OPENAI),
        ("gpt-4.1", "openai/gpt-4.1", OPENAI),
        ("openrouter/qwen/qwen3", "openai/qwen/qwen3", OPENAI),
        ("anthropic/claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", ANTHROPIC),
        ("claude-sonnet-4-5", "anthropic/claude-sonnet-4-5", ANTHROPIC),
        ("gemini/gemini-2.5-pro", "gemini/gemini-2.5-pro", GEMINI),
        ("gemini-2.5-pro", "gemini/gemini-2.5-pro", GEMINI),
    ],
)
def test_the_models_name_tells_which_way_it_is_led(model: str, told: str, access: dict[str, str]) -> None:
    metered, direct = launched(model=model), launched(model=model, asked={"model_access": None})

    assert (metered.arguments[5], metered.gateway_variables) == (told, access)
    assert (direct.arguments[5], direct.gateway_variables) == (model, {})
    assert access.keys() <= set(MiniSweAgent.bypass_variables)


class TestMiniSweAgent(LimitsTurns):
    model = "openai/gpt-4.1"
    must_be_there = True

    def agent(self) -> CommandLineAgent:
        return MiniSweAgent()

    def turns(self) -> list[Turn]:
        """It ends by a command."""
        act, end = super().turns()
        return [act, Turn(run="echo COMPLETE_TASK_AND_SUBMIT_FINAL_OUTPUT", usage=end.usage)]
