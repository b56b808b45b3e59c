"""What people see of a lead's hosts: described from its state, and written for the viewer as long as the run lasts."""

from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from itertools import islice
from math import fsum
from pathlib import Path
from threading import Event, Thread

from outweigh.cluster.lead_state import HEARD_SECONDS, KnownHost, LeadState
from outweigh.cluster.messages import AttemptKey, HostState
from outweigh.model.run_record import Trial
from outweigh.model.usage import Cost
from outweigh.store.hosts_file import (
    HostCondition,
    HostedAttempt,
    HostsFile,
    SeenHost,
    remove_hosts,
    write_hosts,
)

WRITE_SECONDS = 2.0
"""How often the file is written: a page that follows it asks as often."""

MOST_HOSTS = 1_000
MOST_ATTEMPTS = 5_000
"""More than these are counted and not listed, so that the file stays below a megabyte or so."""

_CONDITIONS = {
    HostState.BUSY: HostCondition.BUSY,
    HostState.NEEDS_PACKAGE: HostCondition.PREPARING,
    HostState.PREPARING: HostCondition.PREPARING,
    HostState.UNFIT: HostCondition.UNFIT,
    HostState.READY: HostCondition.READY,
}
_URGENCY = {condition: place for place, condition in enumerate(HostCondition)}

_Made = tuple[str, AttemptKey, Trial | None, Cost]


def describe_hosts(state: LeadState, now: float, *, draining: bool) -> HostsFile:
    """The hosts, what needs attention first, and what each makes. The lock of the lead is held."""
    made = list(_made(state))
    running = Counter(host for host, *_ in made)
    hosts = [(host, _condition(host, now)) for host in state.hosts.values()]
    hosts += [(host, HostCondition.LOST) for host in state.lost_hosts.values()]
    hosts.sort(key=lambda each: (_URGENCY[each[1]], each[0].node, each[0].name))
    numbers = {host.name: number for number, (host, _) in enumerate(hosts[:MOST_HOSTS])}
    listed = list(islice((each for each in made if each[0] in numbers), MOST_ATTEMPTS))
    known = [cost.usd for *_, cost in made if cost.usd is not None]
    return HostsFile(
        written_at=datetime.now(UTC),
        lease_seconds=state.lease_seconds,
        draining=draining,
        cancelled=state.cancelled,
        hosts=tuple(_describe(host, condition, running[host.name], now) for host, condition in hosts[:MOST_HOSTS]),
        more_hosts=max(0, len(hosts) - MOST_HOSTS),
        ready_hosts=sum(condition is HostCondition.READY for _, condition in hosts),
        slots=sum(host.slots for host, condition in hosts if condition is HostCondition.READY),
        running=len(made),
        waiting=len(state.waiting),
        attempts=tuple(_attempt(numbers[host], key, trial, cost) for host, key, trial, cost in listed),
        more_attempts=len(made) - len(listed),
        spent_usd=fsum(known) if known else None,
        unknown_costs=len(made) - len(known),
    )


@contextmanager
def hosts_shown(folder: Path, describe: Callable[[], HostsFile]) -> Iterator[None]:
    """Keep the file of a store up to date while the context lasts, in a thread: a slow disk holds up no lease."""
    ended = Event()

    def keep_writing() -> None:
        while True:
            write_hosts(folder, describe())
            if ended.wait(WRITE_SECONDS):
                return

    thread = Thread(target=keep_writing, name="hosts", daemon=True)
    thread.start()
    try:
        yield
    finally:
        ended.set()
        thread.join()
        remove_hosts(folder)


def _made(state: LeadState) -> Iterator[_Made]:
    for key, given in state.given.items():
        if given.host is not None:
            yield given.host, key, given.order.trial, given.cost
    for key, (host, cost) in state.running_elsewhere.items():
        yield host, key, None, cost


def _condition(host: KnownHost, now: float) -> HostCondition:
    if now - host.heard_at > HEARD_SECONDS:
        return HostCondition.SILENT
    if host.state is HostState.READY and not host.slots:
        return HostCondition.NO_SPACE
    return _CONDITIONS[host.state]


def _describe(host: KnownHost, condition: HostCondition, running: int, now: float) -> SeenHost:
    return SeenHost(
        name=host.name,
        node=host.node,
        condition=condition,
        detail=host.detail,
        slots=host.slots,
        running=running,
        silent_seconds=round(max(0.0, now - host.heard_at), 1),
    )


def _attempt(host: int, key: AttemptKey, trial: Trial | None, cost: Cost) -> HostedAttempt:
    return HostedAttempt(
        host=host,
        run_id=key[0],
        attempt=key[1],
        task_id=None if trial is None else trial.task_id,
        arm=None if trial is None else trial.arm,
        repeat=None if trial is None else trial.repeat,
        cost_usd=cost.usd,
    )
