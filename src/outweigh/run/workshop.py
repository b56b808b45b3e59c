"""What the attempts of an experiment share."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from threading import Event as Signal

from outweigh.ports.agents import Agent
from outweigh.ports.gateways import Gateway, Hosts
from outweigh.ports.sandboxes import SandboxProvider
from outweigh.ports.stores import RunStore
from outweigh.ports.workspaces import Workspaces
from outweigh.run.watchlist import Watchlist
from outweigh.task.arm import Arm
from outweigh.task.suite import LimitsSpec, SandboxSpec
from outweigh.task.task import Task


@dataclass(frozen=True, slots=True, kw_only=True)
class Workshop:
    """What every attempt of an experiment shares: its material, its rooms and its tools."""

    tasks: Mapping[str, Task]
    arms: Mapping[str, Arm]
    overlays: Mapping[str, bytes]
    agents: Mapping[str, Agent]
    sandboxes: SandboxProvider
    workspaces: Workspaces
    store: RunStore
    sandbox: SandboxSpec
    limits: LimitsSpec
    secrets: Mapping[str, str]
    scratch: Path
    label: str
    cancel: Signal
    now: Callable[[], datetime]
    diff: Callable[[Path, Path, Mapping[str, str]], bytes]
    remove: Callable[[Path], None]
    gateway: Gateway | None
    hosts: Callable[[], Hosts | None]
    watch: Watchlist
    keep_bodies: bool
    rules_sha256: str | None = None
