"""`.hosts.json`: what the lead of a cluster last saw of its hosts, for whoever watches the run from another process.

It is no part of what makes a store: nothing is decided by it, no copy has it, and it is gone when the run has ended. A
lead that was killed leaves it, and the next engine that opens the store removes it.
"""

import os
from contextlib import suppress
from datetime import datetime
from enum import StrEnum
from pathlib import Path

import msgspec

from outweigh.model.base import Stored

HOSTS_FILE = ".hosts.json"


class HostCondition(StrEnum):
    """What a host is good for now, as the lead sees it, what needs somebody's attention first."""

    LOST = "lost"
    SILENT = "silent"
    NO_SPACE = "no space"
    UNFIT = "unfit"
    BUSY = "busy"
    PREPARING = "preparing"
    READY = "ready"


class HostedAttempt(Stored, frozen=True):
    """An attempt that a host makes, by the number of the host in the file, and its dollars so far where it is metered.

    Of what an earlier lead started and this one has not taken over yet, only the id is known.
    """

    host: int
    run_id: str
    attempt: int
    task_id: str | None
    arm: str | None
    repeat: int | None
    cost_usd: float | None


class SeenHost(Stored, frozen=True):
    """One host. `running` counts all that it makes, and `silent_seconds` is for how long it has not answered."""

    name: str
    node: str
    condition: HostCondition
    detail: str | None
    slots: int
    running: int
    silent_seconds: float


class HostsFile(Stored, frozen=True):
    """The hosts and attempts of one moment. The `more` are those that are not listed.

    `waiting` attempts have no host, `spent_usd` is what the attempts under way have cost so far, as far as it is known.
    """

    written_at: datetime
    lease_seconds: float
    draining: bool
    cancelled: bool
    hosts: tuple[SeenHost, ...]
    more_hosts: int
    ready_hosts: int
    slots: int
    running: int
    waiting: int
    attempts: tuple[HostedAttempt, ...]
    more_attempts: int
    spent_usd: float | None
    unknown_costs: int


def write_hosts(folder: Path, seen: HostsFile) -> None:
    """Replace what was seen before. It need not survive a power cut, and a full disk ends no run for it."""
    unfinished = folder / f"{HOSTS_FILE}.{os.getpid()}"
    try:
        unfinished.write_bytes(msgspec.json.encode(seen) + b"\n")
        unfinished.replace(folder / HOSTS_FILE)
    except OSError:
        with suppress(OSError):
            unfinished.unlink(missing_ok=True)


def read_hosts(folder: Path) -> HostsFile | None:
    """What a lead saw last; None where none is at work, or what it wrote cannot be read."""
    try:
        return msgspec.json.decode((folder / HOSTS_FILE).read_bytes(), type=HostsFile)
    except (OSError, msgspec.MsgspecError, UnicodeDecodeError):
        return None


def remove_hosts(folder: Path) -> None:
    """Nobody watches hosts any more."""
    with suppress(OSError):
        for path in folder.glob(f"{HOSTS_FILE}*"):
            path.unlink()
