"""Claims about what a fault costs: hosts, scheduler and lead are killed or stopped, five times each in one run."""

import signal
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from tests.cli.engines import until
from tests.cli.killed_experiment import verdict
from tests.cluster.dask_cluster import LEASE_SECONDS, ClusterProcess, DaskCluster, dask_cluster
from tests.prerequisites import needs, require

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


def work_on(cluster: DaskCluster, lead: ClusterProcess) -> None:
    """Wait until so many more trials have a result, so that every fault happens in the middle of work."""
    goal = sum(cluster.counted().values()) + RESULTS_BETWEEN
    until(lambda: sum(cluster.counted().values()) >= goal or lead.has_ended)


def finish(cluster: DaskCluster, lead: ClusterProcess, trials: int) -> None:
    assert lead.wait() == 0, cluster.said()
    cluster.assert_complete(trials)
    for host in cluster.hosts:
        host.end()
    until(lambda: cluster.agents() == [])


def test_a_killed_host_costs_at_most_what_was_under_way_on_it(cluster: DaskCluster) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    hosts = [cluster.start_host(slots=SLOTS) for _ in range(2)]
    lead = cluster.start_lead()

    for number in range(FAULTS):
        work_on(cluster, lead)
        hosts[number % 2].kill()
        hosts[number % 2] = cluster.start_host(slots=SLOTS)

    finish(cluster, lead, trials)
    assert cluster.paid_twice(trials) <= FAULTS * SLOTS


def test_agents_of_a_host_that_was_stopped_beyond_its_lease_are_ended_and_nothing_is_paid_twice(
    cluster: DaskCluster,
) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    hosts = [cluster.start_host(slots=SLOTS) for _ in range(2)]
    lead = cluster.start_lead()

    for number in range(FAULTS):
        work_on(cluster, lead)
        hosts[number % 2].signal(signal.SIGSTOP)
        time.sleep(LEASE_SECONDS + 3)
        hosts[number % 2].signal(signal.SIGCONT)

    finish(cluster, lead, trials)
    late = [run for run in cluster.records() if LATE_LABEL in run.extra]
    assert any("cancelled" in (run.status_detail or "") for run in late)
    # What had ended when its host was stopped, and was not reported yet, may be made again; nothing that was under way.
    assert sum(run.extra[LATE_LABEL]["status"] is not None for run in late) <= FAULTS


def test_a_scheduler_that_is_killed_and_started_again_costs_nothing(cluster: DaskCluster) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    for _ in range(2):
        cluster.start_host(slots=SLOTS)
    lead = cluster.start_lead()

    for _ in range(FAULTS):
        work_on(cluster, lead)
        cluster.scheduler.kill()
        cluster.start_scheduler()

    finish(cluster, lead, trials)
    assert cluster.paid_twice(trials) == 0


def test_a_lead_that_is_killed_and_started_again_costs_nothing(cluster: DaskCluster, outweigh: Any) -> None:
    trials = cluster.write_suite(tasks=TASKS, repeats=REPEATS, limits=RETRIES)
    for _ in range(2):
        cluster.start_host(slots=SLOTS)
    lead = cluster.start_lead()

    for _ in range(FAULTS):
        work_on(cluster, lead)
        lead.kill()
        lead = cluster.start_lead()

    finish(cluster, lead, trials)
    assert cluster.paid_twice(trials) == 0
    here = cluster.folder / "here"
    assert outweigh("run", "-c", str(cluster.folder / "suite"), "-o", str(here), "-j", "4").code == 0
    assert verdict(outweigh, cluster.store) == verdict(outweigh, here)


@pytest.fixture
@needs("privileges")
def small_disk(tmp_path: Path) -> Iterator[Path]:
    place = tmp_path / "small"
    place.mkdir()
    done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "small", place], capture_output=True, check=False)
    require("privileges", None if done.returncode == 0 else "no small disk can be mounted here; only root may")
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", str(place)], check=True)


def test_a_host_whose_disk_is_full_begins_nothing_and_loses_nothing_that_it_made(
    cluster: DaskCluster, small_disk: Path
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

    finish(cluster, lead, trials)
    assert cluster.paid_twice(trials) == 0
    assert len(cluster.records()) == trials


def fill(path: Path) -> None:
    """Leave no byte free."""
    with path.open("wb", buffering=0) as stream:
        for size in (65536, 1):
            with suppress(OSError):
                while True:
                    stream.write(b"x" * size)
