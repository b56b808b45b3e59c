"""Files that an agent leaves in its home and that are worth keeping."""

from collections.abc import Mapping

from outweigh.ports import Ending, Sandbox

_PATIENCE_SECONDS = 60.0
# Looked at from inside: a link that the agent planted leads nowhere that it could not have read itself.
_SHOW = 'cd && set -- $1 && for file; do [ -f "$file" ] && [ ! -L "$file" ] && cat -- "$file"; done; true'


def collect(sandbox: Sandbox, leaves: Mapping[str, str]) -> dict[str, bytes]:
    """The files by the name they are kept under; patterns of paths without blanks, several files one after another."""
    found = {}
    for name, pattern in leaves.items():
        done = sandbox.exec(
            ["/bin/sh", "-c", _SHOW, "sh", pattern],
            environment={"HOME": sandbox.home},
            timeout_seconds=_PATIENCE_SECONDS,
        )
        if done.ending is Ending.EXITED and done.stdout:
            found[name] = done.stdout
    return found
