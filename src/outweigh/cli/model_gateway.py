"""The gateway that a suite asks for, with the caller's keys and the prices of the suite."""

import os
from collections.abc import Collection, Iterator
from contextlib import contextmanager

from outweigh.cli.arguments import price_tables
from outweigh.cli.workshop import Equipment
from outweigh.errors import UsageError
from outweigh.gateway.model_gateway import ModelGateway
from outweigh.gateway.upstream import Upstream, upstreams
from outweigh.ports.gateways import Gateway
from outweigh.run.loading import LoadedSuite
from outweigh.task.suite import GatewaySpec


@contextmanager
def model_gateway(suite: LoadedSuite, equipment: Equipment) -> Iterator[Gateway | None]:
    """The way to the models as long as the experiment runs; None where no arm needs one, or goes directly."""
    spec = suite.spec.gateway
    if spec.mode == "direct" or not any(equipment.agents[arm.agent].uses_model(arm) for arm in suite.arms.values()):
        yield None
        return
    ways = upstreams(spec, os.environ)
    _refuse_keyless(ways.values())
    with ModelGateway(ways, price_tables(_price_file(suite, spec))) as gateway:
        yield gateway


def _price_file(suite: LoadedSuite, spec: GatewaySpec) -> str | None:
    return None if spec.prices is None else str(suite.folder / spec.prices)


def _refuse_keyless(ways: Collection[Upstream]) -> None:
    """Which provider an arm will ask, only its agent knows; but with no key at all none can be asked."""
    if all(way.key is None for way in ways):
        raise UsageError(
            f"the suite's arms ask models, and none of {', '.join(way.variable for way in ways)} is set. "
            'Export the key of your provider, name another variable under [gateway], or set mode = "direct" there for '
            "agents with a login of their own."
        )
