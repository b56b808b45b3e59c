"""The files of a trial's home: written before the agent starts, collected as artifacts after it has ended."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from outweigh.ports.sandboxes import CommandEnding, Sandbox, SandboxError, bare_sandbox

HomeArtifacts = Mapping[str, bytes]
"""Files that a program wrote into its home, by the name of the artifact."""

_ARTIFACT_SIZE_LIMIT = 64 * 2**20
_CLEANUP_TIMEOUT_SECONDS = 60.0
_CAT_FILES = 'cd && set -- $1 && for file; do [ -f "$file" ] && [ ! -L "$file" ] && cat -- "$file"; done; true'


def collect_artifacts(sandbox: Sandbox, leaves: Mapping[str, str]) -> dict[str, bytes]:
    """The contents of the matching files by artifact name, concatenated; patterns must not contain blanks."""
    found = {name: _read_artifact(sandbox, pattern) for name, pattern in leaves.items()}
    return {name: content for name, content in found.items() if content}


def remove_litter(sandbox: Sandbox, litter: Sequence[str]) -> None:
    """Remove files that the program created for itself, so that they do not count as work."""
    if litter:
        command = ["/bin/sh", "-c", "rm -rf -- " + " ".join(litter)]
        with suppress(SandboxError):  # the agent can leave a workspace in which no command starts
            bare_sandbox(sandbox).exec(command, environment={}, timeout_seconds=_CLEANUP_TIMEOUT_SECONDS)


def _read_artifact(sandbox: Sandbox, pattern: str) -> bytes:
    content = bytearray()

    def take(chunk: bytes) -> None:
        content.extend(chunk[: _ARTIFACT_SIZE_LIMIT - len(content)])

    try:
        done = bare_sandbox(sandbox).exec(
            ["/bin/sh", "-c", _CAT_FILES, "sh", pattern],
            environment={"HOME": sandbox.home},
            timeout_seconds=_CLEANUP_TIMEOUT_SECONDS,
            on_output=take,
        )
    except SandboxError:  # the agent can leave a workspace in which no command starts
        return b""
    return bytes(content) if done.ending is CommandEnding.EXITED else b""


def write_files(home: Path, files: Mapping[str, bytes]) -> None:
    """Write files into an empty home, by their paths below it."""
    for path, content in files.items():
        place = home / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:  # never overwrite or follow an existing file
            file.write(content)


def home_environment(home: str) -> dict[str, str]:
    """Variables that point configuration, data and caches to the trial's home."""
    return {
        "LANG": "C.UTF-8",
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CACHE_HOME": f"{home}/.cache",
    }
