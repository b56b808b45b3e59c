"""What a task needs around its files: an image, variables, services, and commands before and after the work."""

from outweigh.model.base import SafeName, Seconds, Spec, VariableName

Command = str | list[str]

SETUP_TIMEOUT = 600.0
SERVICE_TIMEOUT = 60.0
DEPENDENCIES_INSIDE = "/opt/dependencies"
"""Where a task's installed dependencies are in every sandbox."""


class TaskImage(Spec, frozen=True, kw_only=True):
    """The container image of a task, as Harbor's layout names it: built from `dockerfile`, a folder, or stored under
    `name`.

    `working_directory` is where the workspace is, if the task says so; otherwise the image does. `fills_workspace` says
    that the files there are the initial workspace. `unsupported` is why only Harbor can run the task, None where
    the engine can. The variables are those of the tables [environment], [verifier] and [solution].
    """

    dockerfile: str | None = None
    name: str | None = None
    working_directory: str | None = None
    fills_workspace: bool = True
    unsupported: str | None = None
    cpus: float | None = None
    memory_mb: int | None = None
    storage_mb: int | None = None
    build_timeout_seconds: float | None = None
    variables: dict[str, str] = {}  # noqa: RUF012 - msgspec copies defaults
    verifier_variables: dict[str, str] = {}  # noqa: RUF012
    solution_variables: dict[str, str] = {}  # noqa: RUF012


class SetupCommand(Spec, frozen=True, kw_only=True):
    """A command before or after the work. A plain string is run by `sh -c`."""

    run: Command
    timeout_seconds: Seconds = SETUP_TIMEOUT


class Service(Spec, frozen=True, kw_only=True):
    """A program that runs beside a command. It is ready when `ready` ends with 0; without that, once it is started."""

    name: SafeName
    run: Command
    ready: Command | None = None
    timeout_seconds: Seconds = SERVICE_TIMEOUT


class StageSettings(Spec, frozen=True, kw_only=True):
    """Variables, services, and commands before and after, as a `task.toml` states them for its checks."""

    setup: list[str | SetupCommand] = []  # noqa: RUF012 - msgspec copies defaults
    teardown: list[str | SetupCommand] = []  # noqa: RUF012
    environment: dict[VariableName, str] = {}  # noqa: RUF012
    services: list[Service] = []  # noqa: RUF012

    def __post_init__(self) -> None:
        """Services are told apart by name."""
        names = [service.name for service in self.services]
        if len(set(names)) < len(names):
            raise ValueError("two of the `services` have the same name")


class TaskStage(Spec, frozen=True, kw_only=True):
    """One of the two stages of a run, the agent's work or its checks: what is around it in the sandbox."""

    setup: tuple[SetupCommand, ...] = ()
    teardown: tuple[SetupCommand, ...] = ()
    environment: dict[str, str] = {}  # noqa: RUF012 - msgspec copies defaults
    services: tuple[Service, ...] = ()


NO_STAGE = TaskStage()
"""The stage of a task that needs nothing around it."""
