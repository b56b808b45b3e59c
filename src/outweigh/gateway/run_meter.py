"""One run's way to the models."""

from collections.abc import Iterator
from contextlib import contextmanager
from socket import socket
from typing import TYPE_CHECKING

from outweigh.gateway.background import Background
from outweigh.gateway.run_ledger import RunLedger
from outweigh.ports.sandboxes import Door
from outweigh.transcript.model_call import Account

if TYPE_CHECKING:
    from outweigh.gateway.open_door import OpenDoor
    from outweigh.gateway.reverse_proxy import ReverseProxy

DOOR = "model"


class RunMeter:
    """Serves a run's doors, each on a socket that a sandbox listens on, and tells what passed."""

    def __init__(self, ledger: RunLedger, background: Background, proxy: "ReverseProxy") -> None:
        self._ledger = ledger
        self._background = background
        self._proxy = proxy
        self._open_doors: set[OpenDoor] = set()
        self._final: Account | None = None

    @property
    def door(self) -> Door:
        """The door that a sandbox opens to it."""
        return Door(name=DOOR, serve=self._serve)

    @property
    def key(self) -> str:
        """What the agent must send instead of a real key."""
        return self._ledger.key

    def account(self) -> Account:
        """Everything that passed so far; what a client has received is in it."""
        return self._final or self._background.run(self._account())

    async def close(self) -> None:
        """Close what is still open, and the account with it. In the background's own thread."""
        self._ledger.is_open = False
        for door in tuple(self._open_doors):
            await door.close()
        self._final = self._ledger.account()

    async def _account(self) -> Account:
        return self._ledger.account()

    @contextmanager
    def _serve(self, listening: socket) -> Iterator[None]:
        from outweigh.gateway.open_door import OpenDoor  # noqa: PLC0415 - heavy, and needed only here

        door = OpenDoor(self._ledger, self._proxy)
        self._background.run(door.open(listening))
        self._open_doors.add(door)
        try:
            yield
        finally:
            self._background.run(door.close())
            self._open_doors.discard(door)
