"""The sandbox provider that a suite asks for, and the egress proxy for the hosts it allows.

A provider that does not work is reported, never replaced by a weaker one.
"""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from outweigh.engine.load_suite import LoadedSuite
from outweigh.errors import UsageError
from outweigh.gateway.egress_proxy import EgressProxy
from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.model.suite import SandboxSpec
from outweigh.plugins import load_adapter
from outweigh.ports.agents import NamesHosts
from outweigh.ports.gateways import HostAccess
from outweigh.ports.sandboxes import SandboxProvider


def sandbox_name(kind: str) -> str:
    """The name of the provider that a suite asks for; `auto` means bubblewrap."""
    return "bubblewrap" if kind == "auto" else kind


def choose_sandbox(kind: str) -> SandboxProvider:
    """The provider of that kind. One that does not work is refused, never replaced by a weaker one."""
    wanted = sandbox_name(kind)
    provider: SandboxProvider = load_adapter("sandbox", wanted)
    missing = provider.missing()
    if missing is not None:
        raise UsageError(
            f"the {wanted} sandbox does not work here: {missing} For agents that you trust with your own account, say "
            'kind = "local" under [sandbox].'
        )
    return provider


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
