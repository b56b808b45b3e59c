"""Ways out of a sandbox: to the model, metered, and to the hosts that a suite allows."""

from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Protocol

from outweigh.ports.sandboxes import Door
from outweigh.transcript.model_call import Account, Marker


@dataclass(frozen=True, slots=True, kw_only=True)
class ModelAccess:
    """How a program inside a sandbox reaches the model. The key is worth nothing anywhere else."""

    base_url: str
    key: str


@dataclass(frozen=True, slots=True, kw_only=True)
class MeterRequest:
    """What a run may take from models, and what to look for in what it sends."""

    label: str
    budget_usd: float | None
    tokens: int | None
    markers: tuple[Marker, ...]
    keep_bodies: bool


class Meter(Protocol):
    """One run's way to the model, open as long as the run lasts."""

    @property
    def door(self) -> Door:
        """The door that a sandbox opens to it."""

    @property
    def key(self) -> str:
        """What the agent must send instead of a real key; it tells the runs apart."""

    def account(self) -> Account:
        """Everything that passed so far."""


class Gateway(Protocol):
    """Stands between agents and models: meters, keeps the keys, holds the caps."""

    def meter(self, request: MeterRequest) -> AbstractContextManager[Meter]:
        """Open the way for one run; leaving the context closes it, also for what is still under way."""


class Hosts(Protocol):
    """One run's way to the hosts that its suite allows."""

    def door(self) -> Door:
        """The door to an HTTP proxy that connects to them alone."""

    def refused(self) -> tuple[str, ...]:
        """Which others were asked for so far, with their ports."""
