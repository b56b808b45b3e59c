"""Hosts on machines that ssh reaches: one connection for each, with the user's own keys and configuration.

Dask's SSHCluster starts workers of its own and has no place for another command, so the system's ssh is used.
"""

import shlex
import subprocess
import time
from collections.abc import Collection, Iterator
from contextlib import closing, contextmanager
from threading import Event, Thread
from typing import Any

from outweigh.cluster.dask_settings import quiet_dask
from outweigh.cluster.host_launch import HostLaunch
from outweigh.errors import UsageError, requires_extra
from outweigh.model.launch_spec import SshLaunch
from outweigh.process import spawn

REJOIN_SECONDS = 3.0
"""A host of an earlier lead comes back within this time after the scheduler listens again."""

WATCH_SECONDS = 0.5
END_SECONDS = 10.0


@contextmanager
def ssh_hosts(launch: HostLaunch, spec: SshLaunch) -> Iterator[None]:
    """A host on every machine for as long as the lead works; those of an earlier lead are not started again."""
    with requires_extra("a Dask cluster", "dask"):
        from distributed import Scheduler  # noqa: PLC0415 - an extra
        from distributed.deploy.spec import SpecCluster  # noqa: PLC0415 - an extra

    with quiet_dask():
        cluster = SpecCluster(
            workers={},
            scheduler={"cls": Scheduler, "options": launch.scheduler_options()},
            security=launch.security,
            silence_logs="critical",
            name=launch.name,
        )
    with closing(cluster):
        there = _rejoined(launch, spec, cluster)
        connections = _Connections(launch)
        try:
            for machine in spec.machines:
                if _host_name(launch, machine) not in there:
                    connections.open(machine, _command(launch, spec, machine))
            yield
        finally:
            connections.close()


def _host_name(launch: HostLaunch, machine: str) -> str:
    return f"{launch.name}-{machine}"


def _command(launch: HostLaunch, spec: SshLaunch, machine: str) -> list[str]:
    """What ssh starts: `command` may be any text of a shell, such as one that reads keys from a file first."""
    named = {"--tls-ca-file": launch.tls.ca_file, "--tls-cert": launch.tls.cert, "--tls-key": launch.tls.key}
    tls = [part for option, path in named.items() if path is not None for part in (option, path)]
    options = [launch.spec.scheduler, "--name", _host_name(launch, machine), *launch.host_options(), *tls]
    remote = f"{spec.command} dev host {shlex.join(options)}"
    return [*shlex.split(spec.program), "-o", "BatchMode=yes", machine, remote]


def _rejoined(launch: HostLaunch, spec: SshLaunch, cluster: Any) -> Collection[str]:
    """The names of hosts that are back; they need a moment after the scheduler has started."""
    wanted = {_host_name(launch, machine) for machine in spec.machines}
    there: set[str] = set()
    end = time.monotonic() + (REJOIN_SECONDS if launch.session > 1 else 0)
    while not wanted <= there and time.monotonic() < end:
        time.sleep(WATCH_SECONDS)
        there = {str(worker["name"]) for worker in cluster.scheduler_info["workers"].values()}
    if there:
        launch.say(f"{len(wanted & there)} of {len(wanted)} hosts are there from an earlier run")
    return there


class _Connections:
    """The connections of one lead, with a thread for each. A host that ends early is named with what it said last."""

    def __init__(self, launch: HostLaunch) -> None:
        self._launch = launch
        self._processes: list[subprocess.Popen[bytes]] = []
        self._threads: list[Thread] = []
        self._closing = Event()

    def open(self, machine: str, command: list[str]) -> None:
        """Start a host."""
        try:
            process = spawn(command)
        except OSError as fault:
            raise UsageError(
                f"{command[0]} cannot be started: {fault}. Name another program as `program` under [ssh]."
            ) from fault
        self._processes.append(process)
        self._threads.append(Thread(target=self._follow, args=(machine, process), name=f"ssh-{machine}", daemon=True))
        self._threads[-1].start()

    def close(self) -> None:
        """Wait a moment for the hosts, which the lead has told that it is done, and end the connections."""
        self._closing.set()
        end = time.monotonic() + END_SECONDS
        for process in self._processes:
            try:
                process.wait(max(0.0, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.terminate()
        for thread in self._threads:
            thread.join()

    def _follow(self, machine: str, process: "subprocess.Popen[bytes]") -> None:
        out, err = process.communicate()
        if not self._closing.is_set():
            said = (err or out).decode(errors="replace").strip().splitlines()
            self._launch.say(f"the host on {machine} has ended: {said[-1] if said else 'it said nothing'}")
