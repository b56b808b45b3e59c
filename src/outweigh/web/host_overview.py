"""The hosts of a run on a cluster as its lead saw them last, and what is to be said about how old that is."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from hashlib import sha256

import msgspec

from outweigh.report.formatting import count_of, format_dollars, format_seconds
from outweigh.store.hosts_file import HostCondition, HostsFile, SeenHost, read_hosts
from outweigh.web.catalogue import ViewedStore

STALE_SECONDS = 15.0
"""A lead writes every two seconds; one that has not for so long is stopped, or its disk is full."""

_PROBLEMS = (HostCondition.LOST, HostCondition.SILENT, HostCondition.NO_SPACE, HostCondition.UNFIT)
_SHORT_NAME = 6


@dataclass(frozen=True, slots=True, kw_only=True)
class SeenHosts:
    """What the file of a store says. `is_running` is whether an engine holds the store, as this machine can tell."""

    file: HostsFile
    is_running: bool
    age_seconds: float

    @property
    def is_current(self) -> bool:
        """Whether it is how things are now."""
        return self.is_running and self.age_seconds < STALE_SECONDS

    @property
    def summary(self) -> str:
        """The hosts in a few words."""
        found = Counter(host.condition for host in self.file.hosts)
        words = [f"{count_of(self.file.ready_hosts, 'host')}, {self.file.running:,} of {self.file.slots:,} slots"]
        words += [f"{found[condition]:,} {condition}" for condition in _PROBLEMS if found[condition]]
        return ", ".join(words)

    @property
    def spent(self) -> str:
        """What the attempts under way have cost so far."""
        if not self.file.running:
            return ""
        return format_unfinished_cost(self.file.spent_usd, self.file.unknown_costs)

    @property
    def version(self) -> str:
        """Changes with whatever the page of the hosts shows, but for the time."""
        file = self.file
        shown = (file.draining, file.cancelled, file.waiting, file.attempts, file.running, self.is_current)
        hosts = [(host.name, host.condition, host.detail, host.slots) for host in file.hosts]
        return sha256(msgspec.json.encode([shown, hosts])).hexdigest()[:16]

    @property
    def labels(self) -> Mapping[int, str]:
        """What people call each host: its node, with a part of its own name where several share the node."""
        nodes = Counter(host.node for host in self.file.hosts)
        return {
            number: host.node if nodes[host.node] == 1 else f"{host.node} ({host.name[:_SHORT_NAME]})"
            for number, host in enumerate(self.file.hosts)
        }


def seen_hosts(store: ViewedStore) -> SeenHosts | None:
    """The hosts of a store; None where nobody wrote of any."""
    file = read_hosts(store.index.folder) if store.index.path.is_dir() else None
    if file is None:
        return None
    age = (datetime.now(UTC) - file.written_at).total_seconds()
    return SeenHosts(file=file, is_running=store.index.is_running(), age_seconds=max(0.0, age))


def format_unfinished_cost(usd: float | None, unknown: int) -> str:
    """Dollars of attempts under way, and of how many they are not known."""
    if not unknown:
        return format_dollars(usd)
    return f"{unknown:,} unknown" if usd is None else f"{format_dollars(usd)} and {unknown:,} unknown"


def host_words(host: SeenHost) -> str:
    """What a person should know of a host beside its condition."""
    silent = host.condition in (HostCondition.LOST, HostCondition.SILENT)
    words = [f"no answer for {format_seconds(host.silent_seconds)}"] if silent else []
    if host.condition is HostCondition.NO_SPACE:
        words.append("its disk is full, so it starts nothing")
    if host.detail is not None:
        words.append(host.detail)
    return "; ".join(words)


def state_words(seen: SeenHosts) -> tuple[str, ...]:
    """How old this is, and what the run is about to do."""
    file, moment = seen.file, f"{seen.file.written_at:%Y-%m-%d %H:%M:%S} UTC"
    if not seen.is_running:
        until = f"{file.written_at + timedelta(seconds=file.lease_seconds):%H:%M:%S} UTC"
        return (
            f"The run that wrote this is not there any more, as far as this machine can tell: this is from {moment}. "
            f"Its hosts end their agents when no run has asked for {format_seconds(file.lease_seconds)}. The "
            f"same command, started by about {until}, takes over what still runs; later, it gets what had finished.",
        )
    words = [f"As of {moment}."]
    if not seen.is_current:
        words = [f"The run has written nothing for {format_seconds(seen.age_seconds)}: this is from {moment}."]
    if file.cancelled:
        words.append("The run was cancelled: everything is being ended.")
    elif file.draining:
        words.append("The run was interrupted: nothing more is started, and what runs may finish.")
    if file.waiting:
        words.append(f"{count_of(file.waiting, 'attempt')} {'waits' if file.waiting == 1 else 'wait'} for a host.")
    return tuple(words)
