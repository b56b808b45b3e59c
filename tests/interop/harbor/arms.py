"""Arms for tests of Harbor's job files."""

from typing import Any

from outweigh.model.arm import Arm
from outweigh.testing.agent_contract import an_agent_arm


def arm(**changes: Any) -> Arm:
    """A plain arm of Claude Code; any field can be given by name."""
    return an_agent_arm(**({"agent": "claude-code"} | changes))
