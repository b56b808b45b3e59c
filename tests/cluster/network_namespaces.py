"""Machines on one switch, as network namespaces of this one: each has a link that a test cuts without a word."""

import os
import shutil
import subprocess
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from uuid import uuid4

from tests.prerequisites import require


class Network:
    """A namespace for each machine, with an address of its own, and one for the switch between them."""

    def __init__(self, machines: Sequence[str]) -> None:
        self._mark = f"ow{uuid4().hex[:6]}"
        self._made: list[str] = []
        self.addresses = {machine: f"10.77.0.{number}" for number, machine in enumerate(machines, 1)}

    def build(self) -> None:
        switch = self._make("switch")
        _ip("-n", switch, "link", "add", "bridge", "type", "bridge")
        _ip("-n", switch, "link", "set", "bridge", "up")
        for machine, address in self.addresses.items():
            inside = self._make(machine)
            _ip("link", "add", machine, "netns", switch, "type", "veth", "peer", "name", "eth0", "netns", inside)
            _ip("-n", inside, "address", "add", f"{address}/24", "dev", "eth0")
            for name in ("lo", "eth0"):
                _ip("-n", inside, "link", "set", name, "up")
            _ip("-n", switch, "link", "set", machine, "up")
            self.mend(machine)

    def command(self, machine: str) -> tuple[str, ...]:
        """What starts a program on a machine, in the same process."""
        return ("ip", "netns", "exec", self._name(machine))

    def cut(self, machine: str) -> None:
        """The port of a machine leaves the switch. Both ends of the link keep their carrier, so nobody is told."""
        _ip("-n", self._name("switch"), "link", "set", machine, "nomaster")

    def mend(self, machine: str) -> None:
        """The port is back."""
        _ip("-n", self._name("switch"), "link", "set", machine, "master", "bridge")

    def has_carrier(self, machine: str) -> bool:
        """Whether the machine believes that its link works."""
        return "LOWER_UP" in _ip("-n", self._name(machine), "link", "show", "eth0")

    def remove(self) -> None:
        """Every namespace, with its links."""
        for name in reversed(self._made):
            subprocess.run(["ip", "netns", "delete", name], check=False, capture_output=True)

    def _name(self, machine: str) -> str:
        return f"{self._mark}-{machine}"

    def _make(self, machine: str) -> str:
        name = self._name(machine)
        self._made.append(name)
        _ip("netns", "add", name)
        return name


@contextmanager
def network(*machines: str) -> Iterator[Network]:
    """So many machines, which are gone at the end whatever happens."""
    require("namespaces", _missing())
    made = Network(machines)
    try:
        made.build()
        yield made
    finally:
        made.remove()


def _missing() -> str | None:
    """Why no link can be cut here."""
    if shutil.which("ip") is None:
        return "iproute2 is not installed; run `make parts`"
    if os.geteuid() != 0:
        return "only root may make network namespaces"
    probe = Network(["probe"])
    try:
        probe.build()
    except subprocess.CalledProcessError as fault:
        return f"no network namespaces can be made here: {fault.stderr.strip()}"
    finally:
        probe.remove()
    return None


def _ip(*arguments: str) -> str:
    return subprocess.run(["ip", *arguments], check=True, capture_output=True, text=True).stdout
