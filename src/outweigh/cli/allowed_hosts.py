"""The way out to the hosts that a suite allows, for as long as a command line needs it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from outweigh.gateway.background import Background
from outweigh.gateway.egress import Egress
from outweigh.ports.gateways import Hosts
from outweigh.task.suite import SandboxSpec


@contextmanager
def allowed_hosts(spec: SandboxSpec) -> Iterator[Callable[[], Hosts | None]]:
    """What gives every run a way of its own, so that refusals are the run's; none where no host is allowed."""
    if not spec.allow_hosts:
        yield lambda: None
        return
    with Background() as background:
        yield lambda: Egress(spec.allow_hosts, background)
