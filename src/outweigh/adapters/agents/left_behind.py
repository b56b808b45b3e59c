"""What an agent leaves behind: files in its home that are worth keeping, and litter in the workspace.

Both are looked at from inside: a link that the agent planted leads nowhere that it could not have gone itself.
"""

from collections.abc import Mapping, Sequence

from outweigh.ports.sandboxes import Ending, Sandbox

SIZE_LIMIT = 64 * 2**20
_PATIENCE_SECONDS = 60.0
_SHOW = 'cd && set -- $1 && for file; do [ -f "$file" ] && [ ! -L "$file" ] && cat -- "$file"; done; true'


def collect(sandbox: Sandbox, leaves: Mapping[str, str]) -> dict[str, bytes]:
    """The files by the name they are kept under; patterns of paths without blanks, several files one after another."""
    found = {name: _read(sandbox, pattern) for name, pattern in leaves.items()}
    return {name: content for name, content in found.items() if content}


def tidy(sandbox: Sandbox, litter: Sequence[str]) -> None:
    """Take away what the program made for itself, so that it is not taken for work."""
    if litter:
        command = ["/bin/sh", "-c", "rm -rf -- " + " ".join(litter)]
        sandbox.exec(command, environment={}, timeout_seconds=_PATIENCE_SECONDS)


def _read(sandbox: Sandbox, pattern: str) -> bytes:
    content = bytearray()

    def take(chunk: bytes) -> None:
        content.extend(chunk[: SIZE_LIMIT - len(content)])

    done = sandbox.exec(
        ["/bin/sh", "-c", _SHOW, "sh", pattern],
        environment={"HOME": sandbox.home},
        timeout_seconds=_PATIENCE_SECONDS,
        listen=take,
    )
    return bytes(content) if done.ending is Ending.EXITED else b""
