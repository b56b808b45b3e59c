"""What a lead wrote of its hosts, for tests of the viewer."""

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from outweigh.store.hosts_file import HostCondition, HostedAttempt, HostsFile, SeenHost, write_hosts

READY, LOST, NO_SPACE = HostCondition.READY, HostCondition.LOST, HostCondition.NO_SPACE


def a_host(number: int, condition: HostCondition = READY, *, node: str | None = None, running: int = 0) -> SeenHost:
    silent = 95.0 if condition is LOST else 0.4
    return SeenHost(
        name=f"{number:016x}",
        node=node or f"node-{number}",
        condition=condition,
        detail=None,
        slots=0 if condition is NO_SPACE else 8,
        running=running,
        silent_seconds=silent,
    )


def an_attempt(host: int, task: int, arm: str, cost_usd: float | None = 0.25) -> HostedAttempt:
    return HostedAttempt(
        host=host,
        run_id=f"task-{task}/{arm}/4#1",
        attempt=1,
        task_id=f"task-{task}",
        arm=arm,
        repeat=4,
        cost_usd=cost_usd,
    )


def hosts_file(
    hosts: tuple[SeenHost, ...],
    attempts: tuple[HostedAttempt, ...] = (),
    *,
    seconds_ago: float = 0.0,
    draining: bool = False,
    waiting: int = 0,
    more_hosts: int = 0,
    more_attempts: int = 0,
) -> HostsFile:
    known = [each.cost_usd for each in attempts if each.cost_usd is not None]
    return HostsFile(
        written_at=datetime.now(UTC) - timedelta(seconds=seconds_ago),
        lease_seconds=120.0,
        draining=draining,
        cancelled=False,
        hosts=hosts,
        more_hosts=more_hosts,
        ready_hosts=sum(host.condition is READY for host in hosts) + more_hosts,
        slots=sum(host.slots for host in hosts) + 8 * more_hosts,
        running=len(attempts) + more_attempts,
        waiting=waiting,
        attempts=attempts,
        more_attempts=more_attempts,
        spent_usd=sum(known) if known else None,
        unknown_costs=len(attempts) - len(known) + more_attempts,
    )


def write_seen_hosts(folder: Path, *seen: Any, **options: Any) -> None:
    write_hosts(folder, hosts_file(*seen, **options))
