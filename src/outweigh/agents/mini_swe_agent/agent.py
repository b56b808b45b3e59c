"""The adapter of mini-swe-agent, run by `mini`."""

from typing import Any

import msgspec

from outweigh.agents.command_line import CommandLineAgent, Launch, TurnOptions, build_prompt, read_whole
from outweigh.agents.mini_swe_agent.trajectory import MiniSweAgentReader
from outweigh.agents.model_provider import LITELLM_BYPASS_VARIABLES, LITELLM_KEYS, litellm_provider, litellm_route
from outweigh.model.arm import Arm
from outweigh.ports.agents import AttemptRequest

_SETTINGS, _TRAJECTORY = "mini-settings.yaml", "mini-trajectory.json"


class MiniSweAgent(CommandLineAgent):
    """A loop around a shell, without skills, instruction files or tool servers. Models have litellm's names."""

    name = "mini-swe-agent"
    program = "mini"
    install = "uv tool install mini-swe-agent --with mcp"
    options = TurnOptions
    starts_servers = False
    needs_model = True
    version_flag = "--help"
    bypass_variables = LITELLM_BYPASS_VARIABLES
    keys = LITELLM_KEYS

    def provider(self, arm: Arm) -> str | None:
        """The provider in the model's name."""
        return litellm_provider(arm.model)

    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """`mini` with everything in a settings file; its report is the trajectory file."""
        route = litellm_route(request)
        return Launch(
            arguments=(
                *("-c", "mini.yaml", "-c", f"{home}/{_SETTINGS}", "-m", route.model),
                *("--yolo", "--exit-immediately", "-o", f"{home}/{_TRAJECTORY}"),
            ),
            report=lambda artifacts: read_whole(MiniSweAgentReader(), artifacts.get(_TRAJECTORY, b"")),
            files={_SETTINGS: msgspec.json.encode(self._settings(request))},
            defaults={
                "MSWEA_CONFIGURED": "true",
                "MSWEA_SILENT_STARTUP": "1",
                "MSWEA_COST_TRACKING": "ignore_errors",  # do not stop at an unknown price; its cost of 0.0 is ignored
                "LITELLM_LOCAL_MODEL_COST_MAP": "True",
            },
            gateway_variables=route.variables,
            artifacts={_TRAJECTORY: _TRAJECTORY},
        )

    def _settings(self, request: AttemptRequest) -> dict[str, Any]:
        """The settings as JSON, which is valid YAML. Its own budget applies only without a gateway."""
        direct = request.model_access is None
        limits: dict[str, float] = {"cost_limit": (request.budget_usd or 0.0) if direct else 0.0}
        turns = self.options_of(request.arm).max_turns
        if turns is not None:
            limits["step_limit"] = turns
        return {"run": {"task": build_prompt(request)}, "agent": limits}
