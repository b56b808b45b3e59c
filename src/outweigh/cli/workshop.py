"""What the engine works with, put together: agents, sandboxes, secrets, workspaces and the store."""

import os
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from hashlib import sha256
from pathlib import Path
from threading import Event

from outweigh.adapters.stores.bound_rules import rules_of_store
from outweigh.adapters.stores.run_store import FolderRunStore
from outweigh.adapters.workspaces.copies import CachedWorkspaces
from outweigh.adapters.workspaces.patch import diff
from outweigh.cli.sandbox_choice import choose_sandbox
from outweigh.cli.scratch_folder import Scratch
from outweigh.errors import UsageError
from outweigh.gateway.allowed_hosts import AllowedHosts
from outweigh.plugins import load
from outweigh.ports.agents import Agent
from outweigh.ports.gateways import Gateway, Hosts
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.run.loading import LoadedSuite
from outweigh.run.watchlist import watchlist
from outweigh.run.workshop import Workshop


@dataclass(frozen=True, slots=True, kw_only=True)
class Equipment:
    """What a suite needs from this machine."""

    sandboxes: SandboxProvider
    agents: dict[str, Agent]
    secrets: dict[str, str]


def equip(suite: LoadedSuite) -> Equipment:
    """Find everything the suite names; what is missing is refused before anything is written or paid for."""
    AllowedHosts(suite.spec.sandbox.allow_hosts)
    return Equipment(sandboxes=choose_sandbox(suite.spec.sandbox.kind), agents=_agents(suite), secrets=_secrets(suite))


def label_of(store: Path) -> str:
    """The mark on all that an engine of this store starts; other stores, also of the same suite, have another."""
    return f"outweigh:{sha256(os.fsencode(store.resolve())).hexdigest()[:16]}"


def workshop(
    suite: LoadedSuite,
    equipment: Equipment,
    store: FolderRunStore,
    label: str,
    scratch: Scratch,
    cancel: Event,
    gateway: Gateway | None = None,
    hosts: Callable[[], Hosts | None] = lambda: None,
) -> Workshop:
    """The engine's workshop; without a gateway agents go to their models directly."""
    return Workshop(
        tasks={task.id: task for task in suite.tasks},
        arms=suite.arms,
        overlays=suite.overlays,
        agents=equipment.agents,
        sandboxes=equipment.sandboxes,
        workspaces=CachedWorkspaces(scratch.folder / "pristine", remove=_with_its_trial),
        store=store,
        sandbox=suite.spec.sandbox,
        limits=suite.spec.limits,
        secrets=equipment.secrets,
        scratch=scratch.folder / "trials",
        label=label,
        cancel=cancel,
        now=lambda: datetime.now(UTC),
        diff=partial(diff, scratch=scratch.folder),
        remove=scratch.remove,
        gateway=gateway,
        hosts=hosts,
        watch=watchlist(suite.arms, suite.overlays),
        keep_bodies=suite.spec.gateway.keep_bodies,
        rules_sha256=rules_of_store(store.folder),
    )


def _with_its_trial(layout: Path) -> None:
    """Leave a layout where it is: it lies in its trial's folder, which is removed as a whole."""


def _agents(suite: LoadedSuite) -> dict[str, Agent]:
    agents: dict[str, Agent] = {name: load("agent", name) for name in {arm.agent for arm in suite.arms.values()}}
    for arm in suite.arms.values():
        if (missing := agents[arm.agent].missing(arm)) is not None:
            raise UsageError(f"arm {arm.name!r} cannot run here: {missing}")
    return agents


def _secrets(suite: LoadedSuite) -> dict[str, str]:
    wanted = {name for arm in suite.arms.values() for name in arm.secrets}
    missing = sorted(name for name in wanted if name not in os.environ)
    if missing:
        raise UsageError(f"the suite names the secret {missing[0]}, which is not in the environment; export it first.")
    return {name: os.environ[name] for name in wanted}
