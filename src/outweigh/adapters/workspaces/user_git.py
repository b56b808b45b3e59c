"""What a user's own git knows and ours must ask for: how to reach a remote, and who makes a commit."""

import os
import re
import time
from collections.abc import Mapping
from pathlib import Path
from subprocess import TimeoutExpired

from outweigh.apart import run_apart
from outweigh.errors import UsageError

_SECONDS = 60.0
_REMOTE_NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_./-]*")
# Ways to a remote and the means to get in; nothing that makes git run a program of the repository.
_TAKEN_OVER = re.compile(
    r"(credential|http|https|url|ssh|user|author|committer)\..+|core\.(sshcommand|gitproxy|askpass)", re.IGNORECASE
)
# Which repository is meant is for us to say.
_PLACES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE")


class UserGit:
    """The settings of the repository that a folder lies in, as its user has them: their own, and the system's."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._settings = _read_settings(folder)

    def address(self, remote: str, *, push: bool = False) -> str:
        """The address of a remote, as git would use it."""
        if not _REMOTE_NAME.fullmatch(remote):
            raise UsageError(f"{remote!r} is no name of a remote.")
        options = ["--push"] if push else []
        try:
            return _users_own(self._folder, "remote", "get-url", *options, "--", remote).strip()
        except UsageError as fault:
            raise UsageError(f"{self._folder} has no remote {remote!r}; name one by --remote.") from fault

    def reaching(self) -> dict[str, str]:
        """An environment that reaches remotes as the user's git does, and in which nothing asks at the terminal.

        Settings go there and not to a command line, which anybody on the machine could read.
        """
        given = {"GIT_CONFIG_COUNT": str(len(self._settings))}
        for number, (key, value) in enumerate(self._settings):
            given |= {f"GIT_CONFIG_KEY_{number}": key, f"GIT_CONFIG_VALUE_{number}": value}
        closed = {"GIT_CONFIG_NOSYSTEM": "1", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_TERMINAL_PROMPT": "0"}
        return {**_surroundings(), **given, **closed}

    def identity(self) -> Mapping[str, str]:
        """Who makes a commit, and when: as the user's git would say."""
        now = f"{int(time.time())} +0000"
        found: dict[str, str] = {}
        for role in ("author", "committer"):
            for part in ("name", "email"):
                found[f"GIT_{role}_{part}".upper()] = self._said(role, part)
            found[f"GIT_{role}_DATE".upper()] = now
        return found

    def _said(self, role: str, part: str) -> str:
        settings = {key.lower(): value for key, value in self._settings}
        said = os.environ.get(f"GIT_{role}_{part}".upper()) or settings.get(f"{role}.{part}")
        value = said or settings.get(f"user.{part}")
        if not value:
            raise UsageError(f"git does not know who makes the commit; set it: git config user.{part} …")
        return value


def _read_settings(folder: Path) -> list[tuple[str, str]]:
    """Everything that applies there, in git's own order; the last of a name wins."""
    listed = _users_own(folder, "config", "--null", "--list")
    pairs = (line.partition("\n") for line in listed.split("\0") if line)
    return [(key, value) for key, _, value in pairs if _TAKEN_OVER.fullmatch(key)]


def _users_own(folder: Path, *arguments: str) -> str:
    """Ask git about its settings as the user's own would be asked; none of these questions runs anything."""
    # Whoever owns the folder: in CI it often belongs to another account.
    command = ["git", "-c", "safe.directory=*", *arguments]
    try:
        done = run_apart(command, folder=folder, environment=_surroundings(), timeout_seconds=_SECONDS)
    except (OSError, TimeoutExpired) as fault:
        raise UsageError(f"{folder}: git cannot be asked: {fault}.") from fault
    if done.returncode:
        said = done.stderr.decode(errors="replace").strip()
        raise UsageError(f"{folder}: git {arguments[0]}: {said or f'exit code {done.returncode}'}.")
    return done.stdout.decode(errors="replace")


def _surroundings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name not in _PLACES} | {"LC_ALL": "C.UTF-8"}
