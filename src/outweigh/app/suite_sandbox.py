"""The sandbox provider that a suite asks for, and the egress proxy for the hosts it allows.

A provider that does not work is reported, never replaced by a weaker one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager

from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.gateway.egress_proxy import EgressProxy
from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.model.suite import SandboxSpec
from outweigh.model.task import Task
from outweigh.plugins import load_adapter
from outweigh.ports.agents import NamesHosts
from outweigh.ports.gateways import HostAccess
from outweigh.ports.sandboxes import SandboxProvider


def has_own_image(spec: SandboxSpec, task: Task) -> bool:
    """Whether a task runs in an image of its own."""
    return task.image is not None and spec.task_images and spec.kind in ("auto", "container")


def sandbox_name(spec: SandboxSpec, tasks: Iterable[Task] = ()) -> str:
    """The name of the provider that a suite asks for; `auto` means bubblewrap, or containers where a task needs one."""
    if spec.kind != "auto":
        return spec.kind
    return "container" if any(has_own_image(spec, task) for task in tasks) else "bubblewrap"


def choose_sandbox(spec: SandboxSpec, tasks: Sequence[Task] = ()) -> SandboxProvider:
    """The provider that a suite asks for. One that does not work is refused, never replaced by a weaker one."""
    wanted = sandbox_name(spec, tasks)
    provider: SandboxProvider = load_adapter("sandbox", wanted)
    missing = provider.missing()
    if missing is None:
        return provider
    needing = next((task.id for task in tasks if has_own_image(spec, task)), None)
    if spec.kind == "auto" and needing is not None:
        raise UsageError(
            f"task {needing!r} has an image of its own, and the container sandbox does not work here: {missing} To run "
            "the tasks without their images, set task_images = false under [sandbox]."
        )
    raise UsageError(
        f"the {wanted} sandbox does not work here: {missing} For agents that you trust with your own account, say "
        'kind = "local" under [sandbox].'
    )


def model_hosts(suite: LoadedSuite) -> tuple[str, ...]:
    """The hosts of the models that the arms ask directly, as far as their agents know them.

    None are needed where the gateway asks for them, or where the sandbox does not confine the network.
    """
    if suite.spec.gateway.mode != "direct" or suite.spec.sandbox.kind == "local":
        return ()
    found: list[str] = []
    for arm in suite.arms.values():
        agent = load_adapter("agent", arm.agent)
        found += agent.hosts(arm) if isinstance(agent, NamesHosts) else ()
    return tuple(dict.fromkeys(found))


@contextmanager
def open_allowed_hosts(spec: SandboxSpec, more: Sequence[str] = ()) -> Iterator[Callable[[], HostAccess | None]]:
    """Makes an egress proxy for every run, so that each counts its own refusals; None where no host is allowed."""
    hosts = (*spec.allow_hosts, *more)
    if not hosts:
        yield lambda: None
        return
    with EventLoopThread() as background:
        yield lambda: EgressProxy(hosts, background)
