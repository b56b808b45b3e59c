"""Arms for tests of Harbor's job files."""

from typing import Any

from msgspec.structs import replace

from outweigh.task.arm import Arm

PLAIN = Arm(
    name="plain",
    agent="claude-code",
    model=None,
    tier=None,
    overlay=(),
    skills=(),
    mcp_servers={},
    extra_prompt=None,
    environment={},
    secrets=(),
    flags=(),
    options={},
    option_files={},
)


def arm(**changes: Any) -> Arm:
    """A plain arm of Claude Code, but for these."""
    return replace(PLAIN, **changes)
