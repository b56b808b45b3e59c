"""The images of a suite's tasks: made ready before the first paid run, with every agent's program tried in each."""

import os
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from threading import Event
from types import MappingProxyType

from outweigh.agents.command_line import CommandLineAgent
from outweigh.app.sandbox_limits import with_default_limits
from outweigh.app.suite_sandbox import has_own_image
from outweigh.engine.load_suite import LoadedSuite
from outweigh.engine.run_agent import show_agent
from outweigh.engine.sandbox_request import build_sandbox_request
from outweigh.errors import UsageError
from outweigh.model.arm import Arm
from outweigh.model.failure import detail_line
from outweigh.model.task import Task
from outweigh.ports.agents import Agent
from outweigh.ports.sandboxes import CommandEnding, ReadyImage, SandboxProvider, SandboxRequest, UsesImages, path_inside
from outweigh.store.preflight_file import read_preflight

Notify = Callable[[str], None]
NO_IMAGES: Mapping[str, ReadyImage] = MappingProxyType({})
_START_TIMEOUT_SECONDS = 120.0


def prepare_task_images(
    suite: LoadedSuite, provider: SandboxProvider, notify: Notify = lambda _: None
) -> dict[str, ReadyImage]:
    """The images of the tasks that run in their own, by task: built, or found in the engine's storage.

    UsageError for the first that cannot be had, and for a task that needs an image and has none.
    """
    spec = suite.spec.sandbox
    wanted = [task for task in suite.tasks if has_own_image(spec, task)]
    if not wanted:
        return {}
    _refuse_tasks_without_image(suite, wanted)
    if not isinstance(provider, UsesImages):
        raise UsageError(f"task {wanted[0].id!r} has an image of its own, and the {provider.name} sandbox has none.")
    notify(f"preparing the images of {len(wanted)} {'task' if len(wanted) == 1 else 'tasks'} …")
    return {task.id: _prepare(task, provider, network=spec.build_network) for task in wanted}


def _refuse_tasks_without_image(suite: LoadedSuite, wanted: Sequence[Task]) -> None:
    for task in wanted:
        if task.image is not None and task.image.unsupported is not None:
            raise UsageError(
                f"task {task.id!r} cannot be run by outweigh's own engine: {task.image.unsupported}. Run the suite "
                "with --executor harbor, or leave the task out."
            )
    if suite.spec.sandbox.image is None and len(wanted) < len(suite.tasks):
        other = next(task for task in suite.tasks if task not in wanted)
        raise UsageError(
            f"task {wanted[0].id!r} has an image of its own, so the suite runs in containers, and task {other.id!r} "
            "has none. Give it an environment/Dockerfile, or set image under [sandbox] for tasks without one."
        )


def refuse_store_without_images(folder: Path, suite: LoadedSuite) -> None:
    """Refuse to add runs in images to a store whose tasks were tried without, as earlier releases did."""
    kept = read_preflight(folder)
    ids = {task.id for task in suite.tasks if has_own_image(suite.spec.sandbox, task)}
    if kept is None or suite.spec.sandbox.kind != "auto":
        return
    if any(result.task_id in ids and result.sandbox != "container" for result in kept.tasks):
        raise UsageError(
            f"{folder} was begun in bubblewrap, and its tasks have images of their own, in which they now run. To add "
            'to it, set kind = "bubblewrap" under [sandbox]; to use the images, run into another folder with -o.'
        )


def _prepare(task: Task, provider: UsesImages, *, network: str) -> ReadyImage:
    assert task.image is not None
    try:
        return provider.prepare_image(task.image, network=network)
    except UsageError as fault:
        raise UsageError(f"task {task.id!r}: {fault}") from None


def image_files(provider: SandboxProvider, images: Mapping[str, ReadyImage]) -> Callable[[Task, Path], bool]:
    """What fills the workspace of a task that starts from the files of its image."""

    def fill(task: Task, target: Path) -> bool:
        image = images.get(task.id)
        if image is None or task.image is None or not task.image.fills_workspace:
            return False
        if isinstance(provider, UsesImages):
            provider.copy_files(image, target)
        return True

    return fill


def first_image(suite: LoadedSuite | None, provider: SandboxProvider) -> ReadyImage | None:
    """The image in which arms of a suite are tried before any run; None where no task has one of its own."""
    images = {} if suite is None else prepare_task_images(suite, provider)
    return next(iter(images.values()), None)


def require_agents_start(
    suite: LoadedSuite,
    provider: SandboxProvider,
    agents: Mapping[str, Agent],
    images: Mapping[str, ReadyImage],
) -> None:
    """Start the program of every agent in every image, which may lack its libraries; UsageError where one fails."""
    tasks = {image.name: (task, image) for task, image in images.items()}
    for task, image in tasks.values():
        for arm in _one_arm_per_program(suite, agents):
            said = _why_not_started(suite, provider, agents[arm.agent], arm, image)
            if said is not None:
                raise UsageError(
                    f"the program of agent {arm.agent!r} does not start in the image of task {task!r}: {said}. "
                    "Programs of this machine need an image with the GNU C library, at least as new as theirs, such as "
                    f"Debian or Ubuntu. Or install {arm.agent} in the image, and set options = {{ in_image = true }} "
                    "in the arm."
                )


def _one_arm_per_program(suite: LoadedSuite, agents: Mapping[str, Agent]) -> Iterator[Arm]:
    seen: set[tuple[str, ...]] = set()
    for arm in suite.arms.values():
        agent = agents[arm.agent]
        if isinstance(agent, CommandLineAgent) and (command := agent.command(arm)) not in seen:
            seen.add(command)
            yield arm


def _why_not_started(
    suite: LoadedSuite, provider: SandboxProvider, agent: Agent, arm: Arm, image: ReadyImage
) -> str | None:
    assert isinstance(agent, CommandLineAgent)
    with tempfile.TemporaryDirectory(prefix="outweigh-start-", ignore_cleanup_errors=True) as folder:
        request = show_agent(_empty_request(suite, Path(folder), image), agent, arm)
        with provider.open(request) as sandbox:
            command = [path_inside(sandbox, word) for word in agent.command(arm)]
            done = sandbox.exec(
                [*command, agent.version_flag],
                environment={"HOME": sandbox.home, "LANG": "C.UTF-8"},
                timeout_seconds=_START_TIMEOUT_SECONDS,
            )
    if done.ending is CommandEnding.EXITED and done.exit_code == 0:
        return None
    output = (done.stderr or done.stdout).decode(errors="replace")
    return detail_line(output).rstrip(".") or f"it ended with exit code {done.exit_code}"


def _empty_request(suite: LoadedSuite, folder: Path, image: ReadyImage) -> SandboxRequest:
    workspace, home = folder / "workspace", folder / "home"
    workspace.mkdir()
    home.mkdir()
    return build_sandbox_request(
        with_default_limits(suite.spec.sandbox, 1),
        workspace=workspace,
        home=home,
        label=f"outweigh-start:{os.getpid()}",
        cancel=Event(),
        ports=(),
        image=image,
    )
