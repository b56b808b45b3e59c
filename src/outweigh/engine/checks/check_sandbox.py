"""Where checks run: a new sandbox over the agent's workspace, with the task's tests and a folder for reports.

Both lie outside the workspace: the tests at `/tests`, which nothing inside can write, and the reports at
`/logs/verifier`, where Harbor's verifiers leave their reward. No file of the agent is beside or above them, so that a
test runner that looks for settings there finds none. Every command starts with fresh tests, no report, and an empty
home. The `local` sandbox has no file system of its own; there, both are folders beside the workspace.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from outweigh.engine.checks import untrusted_files
from outweigh.engine.sandbox_request import RunEgress
from outweigh.engine.stages import CHECK_ENVIRONMENT, command_words, read_service_result, serve_command
from outweigh.model.task_environment import NO_STAGE, Command, TaskStage
from outweigh.ports.sandboxes import (
    CompletedCommand,
    Mount,
    Sandbox,
    SandboxProvider,
    SandboxRequest,
)

TESTS_MOUNT = "/tests"
REPORTS_MOUNT = "/logs/verifier"
TESTS_VARIABLE = "OUTWEIGH_TESTS"
REPORTS_VARIABLE = "OUTWEIGH_REPORTS"
CONFINE_VARIABLE = "OUTWEIGH_CONFINE"
PYTEST_REPORT = "pytest.xml"
"""The report that any pytest leaves which a check starts, unless its command line names another."""


class ServiceNotReadyError(Exception):
    """A service was not ready, so the command of a check was not run; what the agent left may be the cause."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSandboxRequest:
    """What checks need: a request over the agent's workspace, a folder that does not exist yet, and the tests.

    The home folder of `sandbox` is not used; checks have one of their own in `folder`. `stage` is what the task has
    around its checks, and `work` what it has around the agent, which is all that code by itself may see.
    """

    provider: SandboxProvider
    sandbox: SandboxRequest
    folder: Path
    tests: str | None
    environment: Mapping[str, str] = field(default_factory=lambda: CHECK_ENVIRONMENT)
    egress: RunEgress = field(default_factory=lambda: RunEgress(None))
    stage: TaskStage = NO_STAGE
    work: TaskStage = NO_STAGE

    def run_in(
        self,
        sandbox: Sandbox,
        words: Sequence[str],
        *,
        stage: TaskStage,
        timeout_seconds: float,
        variables: Mapping[str, str] | None = None,
        stdin: bytes = b"",
        on_output: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        """Run a command with the variables of a stage, when the services of that stage are ready."""
        done = sandbox.exec(
            serve_command(words, stage.services),
            environment={
                **self.environment,
                **self.egress.variables(sandbox),
                **stage.environment,
                **(variables or {}),
            },
            timeout_seconds=timeout_seconds,
            stdin=stdin,
            on_output=on_output,
        )
        done, fault = read_service_result(done, stage.services)
        if fault is not None:
            raise ServiceNotReadyError(fault)
        return done


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckSandbox:
    """An open sandbox for checks. No process of the agent runs in it, and its home is not the agent's.

    `withheld` are paths in the tests' folder that only the engine reads; they are not copied into the sandbox.
    """

    request: CheckSandboxRequest
    sandbox: Sandbox
    tests_mount: Mount
    reports_mount: Mount
    withheld: tuple[str, ...] = ()

    @property
    def root(self) -> Path:
        """The workspace's path on the host."""
        return self.sandbox.host_workspace

    @property
    def reports(self) -> Path:
        """The path on the host of the folder for reports."""
        return self.reports_mount.source

    @property
    def tests_inside(self) -> str:
        """The path of the tests inside the sandbox."""
        return self.sandbox.mounted_at(self.tests_mount)

    @property
    def reports_inside(self) -> str:
        """The path inside the sandbox of the folder for reports."""
        return self.sandbox.mounted_at(self.reports_mount)

    def run(
        self,
        command: Command,
        timeout_seconds: float,
        variables: Mapping[str, str] | None = None,
        on_output: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        """Run a command over fresh tests, with an empty home and no report, when the task's services are ready.

        `on_output` gets its standard output as it arrives.
        """
        untrusted_files.require_workspace(self.root)
        untrusted_files.fill_folder(self.sandbox.host_home, None)
        untrusted_files.fill_folder(self.reports, None)
        tests = None if self.request.tests is None else Path(self.request.tests)
        untrusted_files.fill_folder(self.tests_mount.source, tests)
        for path in self.withheld:
            untrusted_files.remove_path(self.tests_mount.source, path)
        return self.request.run_in(
            self.sandbox,
            command_words(command),
            stage=self.request.stage,
            timeout_seconds=timeout_seconds,
            variables={**self._variables(), **(variables or {})},
            on_output=on_output,
        )

    def _variables(self) -> dict[str, str]:
        report = shlex.quote(f"{self.reports_inside}/{PYTEST_REPORT}")
        own = {
            REPORTS_VARIABLE: self.reports_inside,
            # `env` starts its arguments as they are; a check that counts on more says that it did not get it.
            CONFINE_VARIABLE: self.sandbox.confine or "env",
            "PYTEST_ADDOPTS": f"-p no:cacheprovider --junitxml={report}",
        }
        if self.request.tests is not None:
            own[TESTS_VARIABLE] = self.tests_inside
        return own


@contextmanager
def open_check_sandbox(request: CheckSandboxRequest) -> Iterator[CheckSandbox]:
    """Open a sandbox for checks; its folders stay until the caller removes `folder`."""
    home, tests, reports = (request.folder / name for name in ("home", "tests", "reports"))
    for place in (home, tests, reports):
        place.mkdir(parents=True)
    tests_mount = Mount(source=tests, target=TESTS_MOUNT)
    reports_mount = Mount(source=reports, target=REPORTS_MOUNT, writable=True)
    mounts = (*request.sandbox.mounts, tests_mount, reports_mount)
    # Code that one command starts must not get hold of the programs of the next.
    wanted = replace(request.sandbox, home=home, mounts=mounts, renewed=True)
    with request.provider.open(wanted) as sandbox:
        yield CheckSandbox(request=request, sandbox=sandbox, tests_mount=tests_mount, reports_mount=reports_mount)


@contextmanager
def open_call_sandbox(request: CheckSandboxRequest) -> Iterator[Sandbox]:
    """Open a sandbox in which there is nothing to be read but the workspace: neither tests nor reports."""
    home = request.folder / "call-home"
    home.mkdir(parents=True, exist_ok=True)
    with request.provider.open(replace(request.sandbox, home=home)) as sandbox:
        yield sandbox
