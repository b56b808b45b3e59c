"""Claims about what a fault costs: hosts, scheduler and lead are killed or stopped, five times each in one run."""

import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import until
from tests.cli.killed_experiment import verdict
from tests.cluster.dask_cluster import ClusterProcess, DaskCluster, dask_cluster
from tests.cluster.small_disks import fill, mounted_small_disk
from tests.prerequisites import needs

from outweigh.model.failure import Status
from outweigh.model.run_record import LATE_LABEL

FAULTS = 5
SLOTS = 4
TASKS, REPEATS = 10, 10
RESULTS_BETWEEN = 25
RETRIES = {"retries": FAULTS}
"""A trial may be under way on the host at every fault."""


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[DaskCluster]:
    with dask_cluster(tmp_path) as cluster:
        yield cluster


def work_on(cluster: DaskCluster, lead: ClusterProcess, results: int = RESULTS_BETWEEN) -> None:
    """Wait until so many more trials have a result, so that every fault happens in the middle of work."""
    goal = sum(cluster.counted().values()) + results
    until(lambda: sum(cluster.counted().values()) >= goal or lead.has_ended)


def finish(cluster: DaskCluster, lead: ClusterProcess, trials: int, local: Any, outweigh: Any) -> None:
    """Let the run end: whatever happened, every result is there once, at its cost, and the verdict is the same."""
    assert lead.wait() == 0, cluster.said()
    cluster.assert_complete(trials)
    for host in cluster.hosts:
        host.end()
    until(lambda: cluster.agents() == [])
    assert verdict(outweigh, cluster.store) == local


@pytest.fixture(scope="module")
def local_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The same suite without a cluster; agents need not take their time for it."""
    folder = tmp_path_factory.mktemp("local")
    with dask_cluster(folder) as cluster:
        cluster.write_suite(tasks=TASKS, repeats=REPEATS, seconds=0.0, limits=RETRIES)
        assert cluster.run_here("-j", "4").wait() == 0, cluster.said("here")
    return folder / "here"


@pytest.fixture
def local(local_store: Path, outweigh: Any) -> Any:
    """What the same suite is judged without a cluster."""
    return verdict(outweigh, local_store)


def test_a_killed_host_costs_at_most_what_was_under_way_on_it(cluster: DaskCluster, local: Any, outweigh: Any) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    hosts = [cluster.start_host(slots=SLOTS) for _ in range(2)]
    lead = cluster.start_lead()

    for number in range(FAULTS):
        work_on(cluster, lead)
        hosts[number % 2].kill()
        hosts[number % 2] = cluster.start_host(slots=SLOTS)

    finish(cluster, lead, trials, local, outweigh)
    assert cluster.paid_twice(trials) <= FAULTS * SLOTS


def stop_beyond_lease(cluster: DaskCluster, host: ClusterProcess) -> None:
    """Stop a host until the lead has given up what was under way on it."""
    before = cluster.silent()
    host.signal(signal.SIGSTOP)
    until(lambda: cluster.silent() >= before + SLOTS)


def go_on(cluster: DaskCluster, host: ClusterProcess) -> None:
    """Let a stopped host go on until the lead has heard what became of its attempts."""
    before = len(cluster.late())
    host.signal(signal.SIGCONT)
    until(lambda: len(cluster.late()) >= before + SLOTS)


def test_what_had_ended_on_a_host_that_is_stopped_beyond_its_lease_counts_and_nothing_is_paid_twice(
    cluster: DaskCluster, local: Any, outweigh: Any
) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    hosts = [cluster.start_host(slots=SLOTS) for _ in range(2)]
    lead = cluster.start_lead()

    for number in range(FAULTS):
        work_on(cluster, lead, results=10)
        cluster.hold("checks", attempts=2 * SLOTS)
        stop_beyond_lease(cluster, hosts[number % 2])
        cluster.let_go("checks")
        work_on(cluster, lead, results=SLOTS)  # the other host goes on with trials that nobody has attempted
        cluster.hold("agents", attempts=SLOTS)
        go_on(cluster, hosts[number % 2])
        cluster.let_go("agents")

    finish(cluster, lead, trials, local, outweigh)
    assert cluster.paid_twice(trials) == 0
    assert [run.extra[LATE_LABEL]["status"] for run in cluster.late()] == [None] * len(cluster.late())


def test_agents_of_a_host_that_was_stopped_beyond_its_lease_are_ended_and_nothing_is_paid_twice(
    cluster: DaskCluster, local: Any, outweigh: Any
) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    hosts = [cluster.start_host(slots=SLOTS) for _ in range(2)]
    lead = cluster.start_lead()

    for number in range(FAULTS):
        work_on(cluster, lead, results=10)
        cluster.hold("agents", attempts=2 * SLOTS)
        stop_beyond_lease(cluster, hosts[number % 2])
        go_on(cluster, hosts[number % 2])
        cluster.let_go("agents")

    finish(cluster, lead, trials, local, outweigh)
    assert cluster.paid_twice(trials) == 0
    assert {run.status for run in cluster.late()} == {Status.INFRA_ERROR}
    assert all("lost its lead" in (run.status_detail or "") for run in cluster.late())


def test_a_scheduler_that_is_killed_and_started_again_costs_nothing(
    cluster: DaskCluster, local: Any, outweigh: Any
) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    for _ in range(2):
        cluster.start_host(slots=SLOTS)
    lead = cluster.start_lead()

    for _ in range(FAULTS):
        work_on(cluster, lead)
        cluster.scheduler.kill()
        cluster.start_scheduler()

    finish(cluster, lead, trials, local, outweigh)
    assert cluster.paid_twice(trials) == 0


def test_a_lead_that_is_killed_and_started_again_costs_nothing(cluster: DaskCluster, local: Any, outweigh: Any) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    for _ in range(2):
        cluster.start_host(slots=SLOTS)
    lead = cluster.start_lead()

    for _ in range(FAULTS):
        work_on(cluster, lead)
        lead.kill()
        lead = cluster.start_lead()

    finish(cluster, lead, trials, local, outweigh)
    assert cluster.paid_twice(trials) == 0


@pytest.fixture
@needs("privileges")
def small_disk(tmp_path: Path) -> Iterator[Path]:
    with mounted_small_disk(tmp_path) as place:
        yield place


def test_a_host_whose_disk_is_full_begins_nothing_and_loses_nothing_that_it_made(
    cluster: DaskCluster, small_disk: Path, local: Any, outweigh: Any
) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    for spool in (small_disk, cluster.folder / "spool"):
        cluster.start_host(slots=SLOTS, spool=spool)
    lead = cluster.start_lead()

    for _ in range(FAULTS):
        work_on(cluster, lead)
        fill(small_disk / "filler")
        work_on(cluster, lead)
        (small_disk / "filler").unlink()

    finish(cluster, lead, trials, local, outweigh)
    assert cluster.paid_twice(trials) == 0
    assert len(cluster.records()) == trials
