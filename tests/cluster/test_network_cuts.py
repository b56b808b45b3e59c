"""Claims about links that are cut without a word: the port leaves the switch, and its carrier stays."""

import sys
from collections.abc import Iterator
from pathlib import Path
from time import monotonic, sleep

import pytest
from tests.cli.engines import until
from tests.cluster.certificates import write_certificates
from tests.cluster.dask_cluster import LEASE_SECONDS, ClusterProcess, DaskCluster, command_of
from tests.cluster.network_namespaces import Network, network
from tests.prerequisites import needs

from outweigh.model.failure import Status

HEAD, CUT_HOST, OTHER_HOST = "head", "first", "second"
SLOTS = {CUT_HOST: 2, OTHER_HOST: 4}
TRIALS = 6
TRIAL_SECONDS = 20.0
LONG_LEASE_SECONDS = 20.0
"""A cut of half a lease ends in time whatever TCP waits before it sends again: at most twice the cut."""


class NetworkedCluster(DaskCluster):
    """A scheduler and leads on one machine, and a host on each of the others, with TLS between them."""

    def __init__(self, folder: Path, net: Network) -> None:
        self.net = net
        self._machine = HEAD
        super().__init__(folder, tls=write_certificates(folder), listen=net.addresses[HEAD])

    def start_on(self, machine: str) -> ClusterProcess:
        """A host with a spool of its own."""
        self._machine = machine
        try:
            return self.start_host(slots=SLOTS[machine], spool=self.folder / f"spool-{machine}")
        finally:
            self._machine = HEAD

    def start_suite(self, lease_seconds: float) -> ClusterProcess:
        """A lead whose trials are all under way."""
        assert self.tls is not None
        named = {name.replace("-", "_"): path for name, path in self.tls.items()}
        cluster = {"lease_seconds": lease_seconds, **named}
        assert self.write_suite(tasks=3, repeats=1, seconds=TRIAL_SECONDS, cluster=cluster) == TRIALS
        for machine in SLOTS:
            self.start_on(machine)
        lead = self.start_lead()
        until(lambda: self.sleeping() == TRIALS or lead.has_ended)
        return lead

    def sleeping(self) -> int:
        """How many agents are at work."""
        work = f"sleep\0{TRIAL_SECONDS}".encode()
        return sum(command_of(each).startswith(work) for each in Path("/proc").iterdir() if each.name.isdigit())

    def _start(self, log: str, *command: str, **variables: str) -> ClusterProcess:
        process = ClusterProcess(
            [*self.net.command(self._machine), sys.executable, *command],
            self.folder,
            self.folder / f"{log}.log",
            **variables,
        )
        self.started.append(process)
        return process


@pytest.fixture
@needs("namespaces")
def cluster(tmp_path: Path) -> Iterator[NetworkedCluster]:
    with network(HEAD, *SLOTS) as net:
        cluster = NetworkedCluster(tmp_path, net)
        try:
            yield cluster
        finally:
            cluster.close()


def test_after_a_silent_cut_for_ever_all_trials_are_done_within_a_lease_and_two_trials(
    cluster: NetworkedCluster,
) -> None:
    lead = cluster.start_suite(LEASE_SECONDS)
    sleep(TRIAL_SECONDS / 2)

    cluster.net.cut(CUT_HOST)
    began = monotonic()
    until(lambda: len(cluster.counted()) == TRIALS or lead.has_ended)
    took = monotonic() - began

    assert cluster.net.has_carrier(CUT_HOST)
    assert lead.wait() == 0, cluster.said()
    cluster.assert_complete(TRIALS)
    assert took <= LEASE_SECONDS + 2 * TRIAL_SECONDS
    assert cluster.silent() == SLOTS[CUT_HOST]
    # The host has ended its agents when its lease ran out, without anybody telling it.
    assert cluster.paid_twice(TRIALS) == 0
    until(lambda: cluster.sleeping() == 0)


@pytest.mark.parametrize("machine", [CUT_HOST, HEAD])
def test_a_silent_cut_of_half_a_lease_costs_nothing(machine: str, cluster: NetworkedCluster) -> None:
    lead = cluster.start_suite(LONG_LEASE_SECONDS)

    cluster.net.cut(machine)
    sleep(LONG_LEASE_SECONDS / 2)
    cluster.net.mend(machine)

    assert lead.wait() == 0, cluster.said()
    cluster.assert_complete(TRIALS)
    assert [run.attempt for run in cluster.records()] == [1] * TRIALS
    assert {run.status for run in cluster.records()} == {Status.COMPLETED}
    assert cluster.paid_twice(TRIALS) == 0
