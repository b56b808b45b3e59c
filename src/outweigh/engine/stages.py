"""Runs what is around a stage of a task: setup before it, teardown after it, services beside each of its commands.

Setup and teardown have a sandbox of their own over the run's workspace and home. A service lives as long as the
command that it serves, because every command of a sandbox has its processes and its network to itself.
"""

import shlex
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path

from outweigh.engine.sandbox_request import RunEgress
from outweigh.engine.sandbox_wrapper import SandboxWrapper
from outweigh.model.failure import detail_line
from outweigh.model.task import Task
from outweigh.model.task_environment import Command, Service, SetupCommand, TaskStage
from outweigh.ports.sandboxes import (
    CommandEnding,
    CompletedCommand,
    ReadyImage,
    Sandbox,
    SandboxError,
    SandboxProvider,
    SandboxRequest,
)
from outweigh.ports.workspaces import Workspaces

CHECK_ENVIRONMENT: Mapping[str, str] = {
    "PATH": "/usr/local/bin:/usr/bin:/bin",
    "LANG": "C.UTF-8",
    "PYTHONDONTWRITEBYTECODE": "1",
    "PYTHONNOUSERSITE": "1",
}
"""What commands of a task get: its setup, its solution and its checks."""

_READY = b"outweigh: services are ready\n"
_SHOWN_OUTPUT = 300


class StageError(SandboxError):
    """What a task needs around the work failed before any of the work was done."""


def command_environment(image: ReadyImage | None) -> dict[str, str]:
    """The environment of a task's commands. In an image of its own, the image says where programs are."""
    return {name: value for name, value in CHECK_ENVIRONMENT.items() if image is None or name != "PATH"}


def check_environment(task: Task, request: SandboxRequest) -> dict[str, str]:
    """The environment of a task's checks, with the variables that its verifier has in Harbor where it has an image."""
    own = {} if request.task_image is None or task.image is None else task.image.verifier_variables
    return {**command_environment(request.task_image), **own}


def command_words(command: Command) -> Sequence[str]:
    """The command as arguments; a shell gives exit code 127 for a missing program in every sandbox."""
    return ["sh", "-c", command] if isinstance(command, str) else list(command)


def failed_command(commands: Sequence[SetupCommand], run: Callable[[Command, float], CompletedCommand]) -> str | None:
    """Run commands one after the other; says what the first that fails did, None where all ended with 0."""
    for command in commands:
        done = run(command.run, command.timeout_seconds)
        if done.ending is CommandEnding.EXITED and done.exit_code == 0:
            continue
        shown = command.run if isinstance(command.run, str) else shlex.join(command.run)
        return f"`{detail_line(shown)}` {_describe_ending(done, command.timeout_seconds)}"
    return None


def _describe_ending(done: CompletedCommand, timeout_seconds: float) -> str:
    if done.ending is CommandEnding.TIMED_OUT:
        ended = f"was not done after {timeout_seconds:g} s"
    elif done.ending is CommandEnding.CANCELLED:
        ended = "was cancelled"
    else:
        ended = f"ended with exit code {done.exit_code}"
    output = (done.stderr or done.stdout)[-_SHOWN_OUTPUT:].decode(errors="replace").strip()
    return f"{ended} and said: {output}" if output else ended


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkSetting:
    """Where setup and teardown of a task's work are run."""

    stage: TaskStage
    provider: SandboxProvider
    request: SandboxRequest
    workspaces: Workspaces
    egress: RunEgress

    def run(self, commands: Sequence[SetupCommand]) -> str | None:
        """Run the commands in a sandbox of their own; says what failed."""
        with self.provider.open(self.request) as sandbox:
            environment = {
                **command_environment(self.request.task_image),
                **self.egress.variables(sandbox),
                **self.stage.environment,
            }
            return failed_command(
                commands,
                lambda command, seconds: sandbox.exec(
                    command_words(command), environment=environment, timeout_seconds=seconds
                ),
            )


@contextmanager
def around_work(setting: WorkSetting, pristine: Path) -> Iterator[Path]:
    """Run a task's setup, and in the end its teardown, whatever happened in between.

    Yields the untouched workspace that the work is compared with: what setup left there is no work of the agent.
    """
    stage = setting.stage
    try:
        if stage.setup:
            if (fault := setting.run(stage.setup)) is not None:
                raise StageError(f"the task's setup failed: {fault}")
            workspace = setting.request.workspace
            pristine = setting.workspaces.snapshot(workspace, workspace.with_name("prepared"))
        yield pristine
    finally:
        if stage.teardown:
            # It comes last: whatever it does, the run is over, and what an agent left may be in its way.
            with suppress(SandboxError, OSError):
                setting.run(stage.teardown)


class ServedSandbox(SandboxWrapper):
    """A sandbox that starts the services of a task with every command, and ends them with it."""

    def __init__(self, sandbox: Sandbox, services: Sequence[Service]) -> None:
        super().__init__(sandbox)
        self._services = services
        self._has_served = False

    def exec(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str],
        timeout_seconds: float,
        stdin: bytes = b"",
        on_output: Callable[[bytes], None] | None = None,
    ) -> CompletedCommand:
        """Run a command when the services are ready; StageError where they were not ready for the first one."""
        done = super().exec(
            serve_command(command, self._services),
            environment=environment,
            timeout_seconds=timeout_seconds,
            stdin=stdin,
            on_output=on_output,
        )
        done, fault = read_service_result(done, self._services)
        if fault is not None:
            raise (SandboxError if self._has_served else StageError)(fault)
        self._has_served = True
        return done


def serve_command(command: Sequence[str], services: Sequence[Service]) -> Sequence[str]:
    """The command that starts services, waits until they are ready, and then becomes this one."""
    if not services:
        return command
    started = "".join(_service_script(number, service) for number, service in enumerate(services))
    return [
        "sh",
        "-c",
        f"{_PREPARE}{started}printf '%s' {shlex.quote(_READY.decode())} >&2\nexec \"$@\"",
        "sh",
        *command,
    ]


_PREPARE = """\
d="$HOME/.outweigh-services"
mkdir -p "$d" || exit 97
fail() {
    echo "service $1 $2:" >&2
    tail -c 300 "$3" >&2
    exit 97
}
"""


def _service_script(number: int, service: Service) -> str:
    name, log = shlex.quote(f"{service.name!r}"), f'"$d/{number}.log"'
    start = f"{shlex.join(command_words(service.run))} > {log} 2>&1 < /dev/null &\np=$!\n"
    if service.ready is None:
        return start
    ready = shlex.join(command_words(service.ready))
    # A service may put itself into the background, so that its first process ends well before it is ready.
    return (
        f"{start}end=$(( $(date +%s) + {max(1, round(service.timeout_seconds))} ))\n"
        f"until {ready} > /dev/null 2>&1 < /dev/null; do\n"
        f'    if ! kill -0 $p 2> /dev/null; then wait $p || fail {name} "ended with exit code $?" {log}; p=$$; fi\n'
        f'    [ "$(date +%s)" -lt $end ] || fail {name} "was not ready after {service.timeout_seconds:g} s" {log}\n'
        "    sleep 0.1 2> /dev/null || sleep 1\n"
        "done\n"
    )


def read_service_result(done: CompletedCommand, services: Sequence[Service]) -> tuple[CompletedCommand, str | None]:
    """The result of the command itself, and why it never began, None where it did.

    Nothing of the command runs before the line that says that the services are ready, so it cannot be forged.
    """
    if not services or done.ending is CommandEnding.CANCELLED:
        return done, None
    before, reached, stderr = done.stderr.partition(_READY)
    if reached:
        return replace(done, stderr=stderr), None
    said = detail_line(before[-2 * _SHOWN_OUTPUT :].decode(errors="replace").strip())
    names = ", ".join(repr(service.name) for service in services)
    return done, said or f"services {names} were not ready when the time of their command was over"
