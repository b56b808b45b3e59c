"""The sandbox provider that a suite asks for, and the egress proxy for the hosts it allows.

A provider that does not work is reported, never replaced by a weaker one.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import urlsplit

from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.gateway.egress_proxy import EgressProxy
from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.gateway.host_allowlist import DEFAULT_PORTS, AllowedHosts
from outweigh.model.arm import Arm
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


_LOOPBACK_HOSTS = ("localhost", "127.0.0.1", "::1")


def unreachable_servers(suite: LoadedSuite) -> Iterator[str]:
    """A sentence for every remote tool server that its arm's sandbox does not reach."""
    if suite.spec.sandbox.kind == "local":
        return
    allowed = AllowedHosts(suite.spec.sandbox.allow_hosts)
    for arm in suite.arms.values():
        for name, server in arm.mcp_servers.items():
            if server.url is not None and (why := _why_unreachable(arm, server.url, allowed)) is not None:
                yield f"arms.{arm.name}.mcp_servers.{name}: {why}"


def _why_unreachable(arm: Arm, url: str, allowed: AllowedHosts) -> str | None:
    address = urlsplit(url)
    host, port = address.hostname or "", address.port or (443 if address.scheme == "https" else 80)
    if host in _LOOPBACK_HOSTS:
        return (
            f"{host} is the sandbox itself, where no server listens. Start the server by `command`, or name another "
            "address of its machine and add that to allow_hosts under [sandbox]."
        )
    if not allowed.allows(host, port):
        entry = host if port in DEFAULT_PORTS else f"{host}:{port}"
        return f'the sandbox does not reach {host}. Add "{entry}" to allow_hosts under [sandbox].'
    if getattr(load_adapter("agent", arm.agent), "ignores_no_proxy", False):
        return (
            f"{arm.agent} cannot reach a remote server from a sandbox, because it would ask its model through the same "
            "proxy. Start the server by `command`, or use another agent."
        )
    return None


@contextmanager
def open_allowed_hosts(spec: SandboxSpec, more: Sequence[str] = ()) -> Iterator[Callable[[], HostAccess | None]]:
    """Makes an egress proxy for every run, so that each counts its own refusals; None where no host is allowed."""
    hosts = (*spec.allow_hosts, *more)
    if not hosts:
        yield lambda: None
        return
    with EventLoopThread() as background:
        yield lambda: EgressProxy(hosts, background)
