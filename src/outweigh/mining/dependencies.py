"""Dependencies of a commit: what is installed for its tests, once per distinct set of manifests."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from outweigh.model.task_environment import DEPENDENCIES_INSIDE as DEPENDENCIES_INSIDE  # noqa: PLC0414 - used from here

SYSTEM_PATH = "/usr/local/bin:/usr/bin:/bin"


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencyOptions:
    """What the user says about dependencies.

    `setup` is a command that installs them in place of what manifests say. `python` is a version such as `3.11`. With
    `in_image` everything is installed in a container image, with its own interpreters. `needs_pytest` says that tests
    are run by it, whatever the project uses.
    """

    setup: str | None = None
    python: str | None = None
    in_image: bool = False
    needs_pytest: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class DependencySet:
    """What is to be installed for a commit. `key` is a hash of all the rest: manifests, commands, date, interpreter.

    `before` is the day after which released versions are ignored. `fallbacks` are other lists of commands, tried one
    after the other where `commands` fail, and `otherwise` is what is installed where all of them do: a lock file
    decides the same for every commit that has it, and only what is installed without it depends on the day.
    `interpreter` is the Python of this machine that is used. `names` are those of the project itself, by ecosystem
    (`python`, `node`). `notes` are for the recipe. `connect` are commands that the workspace of this commit needs
    beside those that all with the same key share.
    """

    key: str
    commands: tuple[str, ...]
    manifests: Mapping[str, str]
    before: str | None
    version: str | None = None
    fallbacks: tuple[tuple[str, ...], ...] = ()
    otherwise: "DependencySet | None" = None
    interpreter: str | None = None
    names: Mapping[str, str] = field(default_factory=dict)
    project_version: str | None = None
    notes: tuple[str, ...] = ()
    connect: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledDependencies:
    """Dependencies that are ready on this machine.

    `variables` are for commands that use them. `setup` are commands that connect a workspace with them, such as a
    link. `copies` are paths that contain code of the project itself, with the version where one is known: below the
    folder, or full ones of this machine's system. `hidden` are those that are later than the commit.
    """

    key: str
    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)
    setup: tuple[str, ...] = ()
    copies: Mapping[str, str] = field(default_factory=dict)
    hidden: tuple[str, ...] = ()


class DependencyError(Exception):
    """The dependencies of a commit could not be installed; the message says what failed, `output` is its end."""

    def __init__(self, message: str, output: str = "") -> None:
        super().__init__(message)
        self.output = output


class MissingToolError(DependencyError):
    """This machine lacks the program that would install them, so that nothing is known of the commit."""
