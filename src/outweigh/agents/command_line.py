"""What all agents that are command-line programs share: finding and starting them, and collecting their files.

The program gets a new home with only the files that its adapter writes, and an environment with only what it needs:
the user's own configuration never reaches a trial.
"""

import os
import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, ClassVar

from msgspec import Meta

from outweigh.agents.credentials import describe_credentials, describe_missing_login
from outweigh.agents.exchanges import Exchange, ReportScope, hold_conversation, join_commands, join_reports
from outweigh.agents.home_files import (
    HomeArtifacts,
    collect_artifacts,
    home_environment,
    remove_litter,
    write_files,
)
from outweigh.agents.installed_program import InstalledProgram, current_python, find_program
from outweigh.agents.model_provider import models_named_beside, provider_hosts, stated_hosts
from outweigh.agents.outcomes import explain_exit_code, missing_in_sandbox, outcome_from_report
from outweigh.agents.server_headers import header_values
from outweigh.agents.server_start import (
    RECORDS_ARTIFACT,
    read_server_starts,
    recorded_servers,
    recorder_files,
    with_recorders,
)
from outweigh.agents.watch_records import RecordWatch
from outweigh.errors import UsageError
from outweigh.model.agent_files import ConfigurationKind, configuration_kind
from outweigh.model.arm import Arm
from outweigh.model.base import Spec
from outweigh.model.failure import FailureKind, Status
from outweigh.model.model_name import bare_model_name
from outweigh.model.run_record import AgentIdentity, AgentKind
from outweigh.model.source_document import convert_options
from outweigh.ports.agents import AttemptOutcome, AttemptRequest, ServerEvidence, build_outcome
from outweigh.ports.sandboxes import Sandbox, SandboxError, path_inside
from outweigh.transcript.agent_report import AgentReport, TranscriptReader


@dataclass(frozen=True, slots=True, kw_only=True)
class Launch:
    """How an agent is started for one attempt. Paths are below the home folder, which is empty before.

    `on_output` gets standard output as it arrives; `report` is called at the end with the collected artifacts.
    `files` are written into the home. `defaults` are variables that the arm may override; `gateway_variables`, which
    lead to the model, it may not. `artifacts` are files of the home to keep, as patterns by the name of the artifact.
    `report_scope` is what `report` covers after several turns of one session.
    `workspace_litter` are files that the program creates for itself in the workspace, to be removed. `exit_codes`
    maps exit codes with a known meaning.
    """

    arguments: tuple[str, ...]
    report: Callable[[HomeArtifacts], AgentReport]
    on_output: Callable[[bytes], None] | None = None
    stdin: bytes = b""
    files: Mapping[str, bytes] = field(default_factory=dict)
    defaults: Mapping[str, str] = field(default_factory=dict)
    gateway_variables: Mapping[str, str] = field(default_factory=dict)
    artifacts: Mapping[str, str] = field(default_factory=dict)
    report_scope: ReportScope = ReportScope.TURN
    workspace_litter: tuple[str, ...] = ()
    exit_codes: Mapping[int, FailureKind] = field(default_factory=dict)


def read_whole(reader: TranscriptReader, content: bytes) -> AgentReport:
    """The report on a whole file; an empty one reports nothing."""
    reader.feed(content)
    return reader.report()


def build_prompt(request: AttemptRequest) -> str:
    """The task's instruction, followed by the arm's extra prompt."""
    extra = request.arm.extra_prompt
    return request.task.instruction if extra is None else f"{request.task.instruction.rstrip()}\n\n{extra}"


class LocationOptions(Spec, frozen=True, kw_only=True):
    """Options of every command-line agent. With `in_image` the program is expected inside the sandbox only."""

    in_image: bool = False


class ProgramOptions(LocationOptions, frozen=True, kw_only=True):
    """Options of agents with a known program; `program` is another name for it, or its full path."""

    program: Annotated[str, Meta(min_length=1)] | None = None


class TurnOptions(ProgramOptions, frozen=True, kw_only=True):
    """Options of agents that can limit their number of turns."""

    max_turns: Annotated[int, Meta(ge=1)] | None = None


class CommandLineAgent(ABC):
    """An agent that is a program, started once per trial, that ends by itself."""

    name: ClassVar[str]
    program: ClassVar[str]
    install: ClassVar[str]
    """How to install it, in a few words."""
    options: ClassVar[type[LocationOptions]] = ProgramOptions
    starts_servers: ClassVar[bool] = True
    server_names: ClassVar[str | None] = None
    """A pattern of the names that it takes for a server, where it takes not all: it would leave the others out."""
    tool_forms: ClassVar[tuple[str, ...] | None] = None
    """How it names the tools of a server to its model, such as `mcp__{server}__{tool}`; None where that is unknown."""
    ignores_no_proxy: ClassVar[bool] = False
    """Whether it sends all its requests through a proxy, also those to the gateway, which no proxy reaches."""
    own_tools: ClassVar[frozenset[str]] = frozenset()
    """Tools of its own whose names look like those of a server."""
    needs_model: ClassVar[bool] = False
    names_provider: ClassVar[bool] = False
    """Whether its models are named with their provider, as in `openai/gpt-5`."""
    version_flag: ClassVar[str] = "--version"
    model_aliases: ClassVar[Mapping[str, tuple[str, ...]]] = {}
    """Names of its own for models, with patterns of the models that they stand for."""
    background_models: ClassVar[tuple[str, ...]] = ()
    """Patterns of the models that it uses for titles, summaries and the like, whatever the arm names."""
    bypass_variables: ClassVar[tuple[str, ...]] = ()
    """Variables that would make it bypass the gateway; they are removed where a gateway is used."""
    keys: ClassVar[tuple[str, ...]]
    """Variables of the caller from which the gateway takes the key, unless a suite names others."""
    direct_keys: ClassVar[tuple[str, ...]] = ()
    """Variables that the agent itself reads and the gateway does not."""
    login_files: ClassVar[tuple[str, ...]] = ()
    """Files of the caller's home in which a login is stored."""
    login_api: ClassVar[str] = ""
    """The API that the gateway can use with its login, as `[gateway]` names it; empty where it cannot."""
    login_variables: ClassVar[tuple[str, ...]] = ()
    """Variables that hold the token of a login."""
    login_command: ClassVar[str] = ""
    """What makes a key for `direct_keys` out of a login; empty where nothing does."""

    @abstractmethod
    def launch(self, request: AttemptRequest, home: str) -> Launch:
        """How the program is started for this request; `home` is the path of its home inside the sandbox."""

    def resume(self, request: AttemptRequest, home: str, session: str, message: str) -> Launch:  # noqa: ARG002
        """How to go on in a session with what the user says next; a program that can do so overrides it."""
        raise SandboxError(f"{self.name} cannot go on in a session")

    def holds_conversations(self, arm: Arm) -> bool:  # noqa: ARG002 - the port's signature
        """Whether it can go on in a session."""
        return type(self).resume is not CommandLineAgent.resume

    def missing(self, arm: Arm) -> str | None:
        """Why the program is not installed or cannot do what the arm asks for; None when it can."""
        try:
            options = self.options_of(arm)
        except UsageError as error:
            return str(error)
        if (refused := self._refused_servers(arm)) is not None:
            return refused
        if self.needs_model and arm.model is None:
            return f"arms.{arm.name}: {self.name} has no default model; set `model`."
        if self.names_provider and arm.model is not None and "/" not in arm.model:
            return f"arms.{arm.name}.model: {self.name} needs a provider before the name, as in openai/{arm.model}."
        if not options.in_image and self.installed(arm) is None:
            return (
                f"arms.{arm.name}: there is no program {self.program_of(arm)!r} on your PATH, or no `node` for it. "
                f"Install {self.name} ({self.install}), or name the program by its full path in the arm's options."
            )
        return None

    def uses_model(self, arm: Arm) -> bool:  # noqa: ARG002 - the port's signature
        """Whether it asks a model: always."""
        return True

    def read_only(self, arm: Arm) -> tuple[str, ...]:
        """The paths of its installation."""
        found = self.installed(arm)
        if found is None:
            return ()
        recorder = current_python().paths if recorded_servers(arm) else ()
        return tuple(dict.fromkeys((*found.paths, *recorder)))

    def system_paths(self, arm: Arm) -> tuple[str, ...]:
        """The paths of its installation below /usr, which the image of a task does not have."""
        found = self.installed(arm)
        return () if found is None else found.system_paths

    def attempt(self, request: AttemptRequest, sandbox: Sandbox) -> AttemptOutcome:
        """Start the program, read its output, and build the outcome from its report."""
        missing = self.missing(request.arm)
        if missing is not None:
            return build_outcome(self._identity(request, None), Status.INFRA_ERROR, missing)
        recorded = replace(request, arm=with_recorders(request.arm, sandbox.home))
        launch = self.launch(recorded, sandbox.home)
        write_files(sandbox.host_home, {**launch.files, **self._recorder_files(request, sandbox.home)})
        command = [path_inside(sandbox, word) for word in self.command(request.arm)]
        environment = self._environment(request, launch, sandbox.home)
        missing = missing_in_sandbox(sandbox, command[0], environment)
        if missing is not None:
            return build_outcome(self._identity(request, None), Status.INFRA_ERROR, missing)

        def start(launch: Launch, said: str | None, seconds: float) -> Exchange:
            done = sandbox.exec(
                [*command, *launch.arguments, *request.arm.flags],
                environment=environment,
                timeout_seconds=seconds,
                stdin=launch.stdin,
                on_output=launch.on_output,
            )
            return Exchange(said=said, done=done, read=launch.report)

        watch = RecordWatch(sandbox.host_home, request.arm)
        with watch.watching():
            exchanges = hold_conversation(
                start(launch, None, request.timeout_seconds),
                request.replies,
                lambda session, said, left: start(self.resume(recorded, sandbox.home, session, said), said, left),
                request.timeout_seconds,
            )
        artifacts = {**collect_artifacts(sandbox, launch.artifacts), **watch.artifact(sandbox)}
        remove_litter(sandbox, launch.workspace_litter)
        done = join_commands(exchanges)
        report = join_reports(exchanges, artifacts, launch.report_scope)
        report = explain_exit_code(report, done, launch.exit_codes)
        outcome = outcome_from_report(
            self._identity(request, report.version, report.model), request.task, done, report, artifacts
        )
        return replace(outcome, servers=self._server_evidence(request.arm, artifacts))

    def version(self, arm: Arm) -> str | None:
        """The installed version; None where it cannot be found out."""
        found = self.installed(arm)
        return None if found is None else found.version(self.version_flag)

    def provider(self, arm: Arm) -> str | None:  # noqa: ARG002 - some go by the arm's model
        """The provider whose API it uses, as `[gateway]` names it; None where that is not known before the run."""
        return None

    def resolved_models(self, arm: Arm) -> tuple[str, ...]:
        """What the arm's model stands for where it is one of the agent's own names."""
        return self.model_aliases.get(bare_model_name(arm.model or ""), ())

    def other_models(self, arm: Arm) -> tuple[str, ...]:
        """The models that the arm's flags and variables name, and those that work in the background."""
        return (*models_named_beside(arm), *self.background_models)

    def credentials(self) -> str:
        """Whether the caller has a key for its model, without showing the key."""
        return describe_credentials(
            self.keys,
            self.direct_keys,
            self.login_files,
            os.environ,
            Path.home(),
            can_log_in=bool(self.login_api),
            login_variables=self.login_variables,
        )

    def missing_login(self, arm: Arm) -> str | None:
        """Why the arm has no login where it asks its model directly, and what to do; None where it has or may have."""
        own_settings = any(configuration_kind(file.path) is ConfigurationKind.SETTINGS for file in arm.overlay)
        if not self.keys or own_settings or stated_hosts(arm.environment) or self.options_of(arm).in_image:
            return None
        names = (*self.direct_keys, *self.keys)
        if any(name in arm.secrets or name in arm.environment for name in names):
            return None
        return describe_missing_login(arm.name, names, self.login_files, self.login_command, Path.home())

    def hosts(self, arm: Arm) -> tuple[str, ...]:
        """The host that the arm's own settings name, else that of its provider; none where it is not known."""
        return stated_hosts(arm.environment) or provider_hosts(self.provider(arm), arm.model)

    def options_of(self, arm: Arm) -> Any:
        """The arm's options, checked."""
        return convert_options(arm.options, self.options, ("arms", arm.name, "options"))

    def program_of(self, arm: Arm) -> str:
        """The name or path of its program."""
        return str(self.options_of(arm).program or self.program)

    def installed(self, arm: Arm) -> InstalledProgram | None:
        """Its program on this machine; None where it is not installed, or expected in the image."""
        if self.options_of(arm).in_image:
            return None
        path = os.pathsep.join(filter(None, (arm.environment.get("PATH"), os.environ.get("PATH"))))
        return find_program(self.program_of(arm), path)

    def command(self, arm: Arm) -> tuple[str, ...]:
        """The command that starts it inside the sandbox."""
        found = self.installed(arm)
        return (self.program_of(arm),) if found is None else found.command

    def _refused_servers(self, arm: Arm) -> str | None:
        if arm.mcp_servers and not self.starts_servers:
            return f"arms.{arm.name}.mcp_servers: {self.name} starts no tool servers; leave them out."
        for name in arm.mcp_servers:
            if self.server_names is not None and not re.fullmatch(self.server_names, name):
                return (
                    f"arms.{arm.name}.mcp_servers: {self.name} starts no server that is called {name!r}; use letters, "
                    "digits, - and _ only."
                )
        return None

    def secrets_of_servers(self, request: AttemptRequest) -> tuple[str, ...]:
        """The arm's secrets that tool servers are to get, for settings that must name them."""
        given = self._given_variables(request)
        return tuple(name for name in request.arm.secrets if name in given)

    def _recorder_files(self, request: AttemptRequest, home: str) -> Mapping[str, bytes]:
        given = self._given_variables(request)
        plain = {name: value for name, value in given.items() if name not in request.arm.secrets}
        variables = {**home_environment(home), **plain}
        return recorder_files(request.arm, home, variables, current_python().command[0])

    def _server_evidence(self, arm: Arm, artifacts: Mapping[str, bytes]) -> ServerEvidence:
        starts = read_server_starts(recorded_servers(arm), artifacts.get(RECORDS_ARTIFACT, b""))
        return ServerEvidence(starts=starts, tool_forms=self.tool_forms, own_tools=self.own_tools)

    def _given_variables(self, request: AttemptRequest) -> dict[str, str]:
        metered = request.model_access is not None
        return {
            name: value
            for name, value in request.environment.items()
            if not (metered and name in self.bypass_variables)
        }

    def _environment(self, request: AttemptRequest, launch: Launch, home: str) -> Mapping[str, str]:
        own = self._given_variables(request)
        if self.ignores_no_proxy and request.model_access is not None:
            own = {name: value for name, value in own.items() if name.upper() not in _PROXY_VARIABLES}
        headers = header_values(request.arm, own)
        return {**home_environment(home), **launch.defaults, **own, **headers, **launch.gateway_variables}

    def _identity(self, request: AttemptRequest, version: str | None, model: str | None = None) -> AgentIdentity:
        return AgentIdentity(
            kind=AgentKind.REAL,
            name=self.name,
            version=version or self.version(request.arm),
            model=model or request.arm.model,
        )


_PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY")
