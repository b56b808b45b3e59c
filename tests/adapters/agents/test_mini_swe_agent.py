"""How mini-swe-agent is asked; what it then does is claimed with the real program."""

from typing import Any

import msgspec
import pytest

from outweigh.adapters.agents.launch import Launch
from outweigh.adapters.agents.mini_swe_agent import MiniSweAgent
from outweigh.testing.agent_setting import ACCESS, an_arm, an_attempt


def launched(
    options: dict[str, Any] | None = None, *, model: str = "openai/m", asked: dict[str, Any] | None = None
) -> Launch:
    return MiniSweAgent().launch(
        an_attempt(an_arm("mini-swe-agent", options, model=model), **(asked or {})), "/home/me"
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


@pytest.mark.parametrize(
    ("model", "access"),
    [
        ("openai/gpt-4.1", {"OPENAI_API_BASE": f"{ACCESS.base_url}/v1", "OPENAI_API_KEY": ACCESS.key}),
        ("gpt-4.1", {"OPENAI_API_BASE": f"{ACCESS.base_url}/v1", "OPENAI_API_KEY": ACCESS.key}),
        ("anthropic/claude-sonnet-4-5", {"ANTHROPIC_API_BASE": ACCESS.base_url, "ANTHROPIC_API_KEY": ACCESS.key}),
        ("claude-sonnet-4-5", {"ANTHROPIC_API_BASE": ACCESS.base_url, "ANTHROPIC_API_KEY": ACCESS.key}),
        ("gemini/gemini-2.5-pro", {"GEMINI_API_BASE": f"{ACCESS.base_url}/v1beta", "GEMINI_API_KEY": ACCESS.key}),
    ],
)
def test_the_models_name_tells_which_way_it_is_led(model: str, access: dict[str, str]) -> None:
    assert launched(model=model).access == access
    assert launched(model=model, asked={"model_access": None}).access == {}
    assert access.keys() <= set(MiniSweAgent.own_ways)
