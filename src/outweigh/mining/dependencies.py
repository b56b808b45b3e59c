"""Dependencies of a commit: what is installed for its tests, once per distinct set of manifests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from outweigh.model.task_environment import DEPENDENCIES_INSIDE as DEPENDENCIES_INSIDE  # noqa: PLC0414 - used from here


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencySet:
    """What is to be installed for a commit. `key` is a hash of all the rest: manifests, command, date, interpreter.

    `before` is the day after which released versions are ignored.
    """

    key: str
    commands: tuple[str, ...]
    manifests: Mapping[str, str]
    before: str | None
    version: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledDependencies:
    """Dependencies that are ready on this machine.

    `variables` are for commands that use them. `setup` are commands that connect a workspace with them, such as a
    link. `hidden` are paths below the folder that contain later code of the project itself.
    """

    key: str
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    setup: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()


class DependencyError(Exception):
    """The dependencies of a commit could not be installed; the message says what failed."""
