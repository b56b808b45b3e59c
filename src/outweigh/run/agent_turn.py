"""The agent's part of an attempt: its way to a model, its room, and what it is asked."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace

from outweigh.ports.agents import AttemptOutcome, AttemptRequest
from outweigh.ports.gateways import Meter, MeterRequest, ModelAccess
from outweigh.ports.sandboxes import Sandbox, SandboxError, SandboxRequest
from outweigh.run.draft import Draft
from outweigh.run.workshop import Workshop


@contextmanager
def metered(shop: Workshop, draft: Draft) -> Iterator[Meter | None]:
    """The run's way to its model; whatever happens on it is accounted for, also when the attempt breaks."""
    if shop.gateway is None or not shop.agents[draft.arm.agent].uses_model(draft.arm):
        yield None
        return
    request = MeterRequest(
        label=draft.run_id,
        budget_usd=shop.limits.budget_usd,
        tokens=shop.limits.tokens,
        markers=tuple(shop.watch.markers.values()),
        keep_bodies=shop.keep_bodies,
    )
    meter: Meter | None = None
    try:
        with shop.gateway.meter(request) as meter:
            yield meter
    finally:
        if meter is not None:
            draft.account = meter.account()  # only now: what was still under way has been cut off and counted


def agent_room(shop: Workshop, draft: Draft, room: SandboxRequest, meter: Meter | None) -> SandboxRequest:
    """The agent's room has what the agent is installed in, and the door to its model."""
    doors = room.doors if meter is None else (*room.doors, meter.door)
    programs = shop.agents[draft.arm.agent].read_only(draft.arm)
    return replace(room, doors=doors, read_only=tuple(dict.fromkeys((*room.read_only, *programs))))


def ask(
    shop: Workshop, draft: Draft, sandbox: Sandbox, meter: Meter | None, variables: Mapping[str, str]
) -> AttemptOutcome:
    """Let the agent work in an open sandbox. Where its adapter breaks, infrastructure did, not the agent."""
    access = None
    if meter is not None:
        access = ModelAccess(base_url=f"http://127.0.0.1:{sandbox.port(meter.door.name)}", key=meter.key)
    try:
        return shop.agents[draft.arm.agent].attempt(_request(shop, draft, access, variables), sandbox)
    except (SandboxError, OSError):
        raise
    except Exception as fault:  # somebody else's adapter: its mistakes must not end everybody's experiment
        raise SandboxError(f"the agent {draft.arm.agent!r} is broken: {type(fault).__name__}: {fault}") from fault


def _request(shop: Workshop, draft: Draft, access: ModelAccess | None, variables: Mapping[str, str]) -> AttemptRequest:
    arm = draft.arm
    return AttemptRequest(
        trial=draft.planned.trial,
        task=draft.task,
        arm=arm,
        timeout_seconds=draft.task.timeout_seconds or shop.limits.timeout_seconds,
        budget_usd=shop.limits.budget_usd,
        environment={**variables, **arm.environment, **{name: shop.secrets[name] for name in arm.secrets}},
        model_access=access,
    )
