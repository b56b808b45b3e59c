"""What all agents that are somebody's command-line program share: finding, starting, and taking their word.

The program gets a home of its own with nothing in it but what its file here writes there, and an environment of
nothing but what it needs: what a person has set up for themselves never reaches a trial.
"""

import os
from abc import ABC, abstractmethod
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar

import msgspec
from msgspec import Meta

from outweigh.adapters.agents.installed import Installed, find
from outweigh.adapters.agents.launch import Launch
from outweigh.adapters.agents.left_behind import collect, tidy
from outweigh.adapters.agents.outcome import outcome
from outweigh.adapters.agents.sign_in import sign_in
from outweigh.adapters.agents.told import explained, told
from outweigh.errors import UsageError
from outweigh.ports.agents import AttemptOutcome, AttemptRequest
from outweigh.ports.sandboxes import Sandbox
from outweigh.record.run_record import AgentIdentity, AgentKind
from outweigh.record.status import Status
from outweigh.task.arm import Arm
from outweigh.task.spec import Spec


class PlaceOptions(Spec, frozen=True, kw_only=True):
    """Options of every command-line agent. With `in_image` the program is looked for inside the sandbox only."""

    in_image: bool = False


class ProgramOptions(PlaceOptions, frozen=True, kw_only=True):
    """Options of agents with a program of their own; `program` is another name for it, or its full path."""

    program: Annotated[str, Meta(min_length=1)] | None = None


class TurnOptions(ProgramOptions, frozen=True, kw_only=True):
    """Options of agents that can be told to stop after so many turns."""

    max_turns: Annotated[int, Meta(ge=1)] | None = None


class CommandLineAgent(ABC):
    """A program that is started once per trial and ends by itself."""

    name: ClassVar[str]
    program: ClassVar[str]
    install: ClassVar[str]
    """How people get it, in a few words."""
    options: ClassVar[type[PlaceOptions]] = ProgramOptions
    starts_servers: ClassVar[bool] = True
    needs_model: ClassVar[bool] = False
    version_question: ClassVar[str] = "--version"
    own_ways: ClassVar[tuple[str, ...]] = ()
    """Variables that would lead it past the gateway; they are left out where there is one."""
    keys: ClassVar[tuple[str, ...]]
    """Variables of the caller that the gateway takes the key for its model from, unless a suite names others."""
    direct_keys: ClassVar[tuple[str, ...]] = ()
    """Variables that it understands itself, and that the gateway does not look at."""
    logins: ClassVar[tuple[str, ...]] = ()
    """Files of the caller's home that a login leaves."""

    @abstractmethod
    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """How this request is put to the program; `home` is what its home folder is called inside."""

    def missing(self, arm: Arm) -> str | None:
        """Whether the program is there and can do what the arm asks for."""
        try:
            options = self.options_of(arm)
        except UsageError as error:
            return str(error)
        if arm.mcp_servers and not self.starts_servers:
            return f"arms.{arm.name}.mcp_servers: {self.name} starts no tool servers; leave them out."
        if self.needs_model and arm.model is None:
            return f"arms.{arm.name}: {self.name} has no model of its own; name one by `model`."
        if not options.in_image and self.installed(arm) is None:
            return (
                f"arms.{arm.name}: there is no program {self.program_of(arm)!r} on your PATH, or no `node` for it. "
                f"Install {self.name} ({self.install}), or name the program by its full path in the arm's options."
            )
        return None

    def uses_model(self, arm: Arm) -> bool:  # noqa: ARG002 - the port's signature
        """It always does."""
        return True

    def read_only(self, arm: Arm) -> tuple[str, ...]:
        """Where it is installed."""
        found = self.installed(arm)
        return () if found is None else found.needs

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Start the program, listen to it, and take over what it says about itself."""
        complaint = self.missing(request.arm)
        if complaint is not None:
            return outcome(self._identity(request, None), Status.INFRA_ERROR, complaint)
        launch = self.launch(request, sandbox.home)
        _write(sandbox.host_home, launch.files)
        done = sandbox.exec(
            [*self.command(request.arm), *launch.arguments, *request.arm.flags],
            environment=self._environment(request, launch, sandbox.home),
            timeout_seconds=request.timeout_seconds,
            stdin=launch.stdin,
            listen=launch.listen,
        )
        left = collect(sandbox, launch.leaves)
        tidy(sandbox, launch.litter)
        report = explained(launch.report(left), done, launch.exit_codes)
        return told(self._identity(request, report.version, report.model), request.task, done, report, left)

    def version(self, arm: Arm) -> str | None:
        """The version that is installed, where that can be told."""
        found = self.installed(arm)
        return None if found is None else found.version(self.version_question)

    def provider(self, arm: Arm) -> str | None:  # noqa: ARG002 - some go by the arm's model
        """Whose API it speaks through the gateway, as `[gateway]` calls it; None where nobody knows beforehand."""
        return None

    def sign_in(self) -> str:
        """Whether the caller has a key for its model, in words that give nothing away."""
        return sign_in(self.keys, self.direct_keys, self.logins, os.environ, Path.home())

    def options_of(self, arm: Arm) -> Any:
        """The arm's options, checked."""
        try:
            return msgspec.convert(arm.options, self.options)
        except msgspec.ValidationError as fault:
            known = ", ".join(self.options.__struct_fields__)
            raise UsageError(f"arms.{arm.name}.options of {self.name}: {fault}. It understands {known}.") from None

    def program_of(self, arm: Arm) -> str:
        """The name or path of its program."""
        return str(self.options_of(arm).program or self.program)

    def installed(self, arm: Arm) -> Installed | None:
        """Its program on this machine; None where it is not there, or has no business there."""
        if self.options_of(arm).in_image:
            return None
        path = os.pathsep.join(filter(None, (arm.environment.get("PATH"), os.environ.get("PATH"))))
        return find(self.program_of(arm), path)

    def command(self, arm: Arm) -> tuple[str, ...]:
        """The words that start it inside."""
        found = self.installed(arm)
        return (self.program_of(arm),) if found is None else found.command

    def _environment(self, request: AttemptRequest, launch: Launch, home: str) -> Mapping[str, str]:
        metered = request.model_access is not None
        arms = {name: value for name, value in request.environment.items() if not (metered and name in self.own_ways)}
        return {**_own_folders(home), **launch.defaults, **arms, **launch.access}

    def _identity(self, request: AttemptRequest, version: str | None, model: str | None = None) -> AgentIdentity:
        return AgentIdentity(
            kind=AgentKind.REAL,
            name=self.name,
            version=version or self.version(request.arm),
            model=model or request.arm.model,
        )


def _own_folders(home: str) -> dict[str, str]:
    """Where programs keep what they remember: all of it in the trial's own home."""
    return {
        "LANG": "C.UTF-8",
        "HOME": home,
        "XDG_CONFIG_HOME": f"{home}/.config",
        "XDG_DATA_HOME": f"{home}/.local/share",
        "XDG_STATE_HOME": f"{home}/.local/state",
        "XDG_CACHE_HOME": f"{home}/.cache",
    }


def _write(home: Path, files: Mapping[str, bytes]) -> None:
    for path, content in files.items():
        place = home / path
        place.parent.mkdir(parents=True, exist_ok=True)
        with place.open("xb") as file:  # never through something that is there already
            file.write(content)
