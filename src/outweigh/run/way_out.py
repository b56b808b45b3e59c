"""The way from a room to the hosts that a suite allows: its door, and how programs inside are told of it."""

from dataclasses import dataclass

from outweigh.ports.gateways import Hosts
from outweigh.ports.sandboxes import Door, Sandbox

_HERE = "127.0.0.1"
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY")


@dataclass(frozen=True, slots=True)
class WayOut:
    """The way of one run; there is none where the suite allows no hosts."""

    hosts: Hosts | None

    @property
    def doors(self) -> tuple[Door, ...]:
        """What a sandbox must open."""
        return () if self.hosts is None else (self.hosts.door(),)

    def variables(self, sandbox: Sandbox) -> dict[str, str]:
        """What programs go by; some read small letters only, some capitals only."""
        if self.hosts is None:
            return {}
        proxy = f"http://{_HERE}:{sandbox.port(self.hosts.door().name)}"
        # Other doors, and what a program starts itself, are reached directly.
        told = {**dict.fromkeys(_PROXIES, proxy), "NO_PROXY": f"{_HERE},localhost"}
        return told | {name.lower(): value for name, value in told.items()}

    def refused(self) -> bytes:
        """The hosts that were asked for in vain, one on each line."""
        return b"" if self.hosts is None else "".join(f"{host}\n" for host in self.hosts.refused()).encode()
