"""Arms for tests of Harbor's job files."""

from typing import Any

from outweigh.task.arm import Arm
from outweigh.testing.agent_setting import an_arm


def arm(**changes: Any) -> Arm:
    """A plain arm of Claude Code, but for these."""
    return an_arm(**({"agent": "claude-code"} | changes))
