"""Claims about hosts that `run --cluster` starts: on a real Slurm, and by ssh."""

import os
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from tests import loopback_ssh
from tests.agents.programs import a_program
from tests.cli.engines import until
from tests.cli.killed_experiment import verdict
from tests.cluster.dask_cluster import ClusterProcess, DaskCluster, command_of, dask_cluster
from tests.loopback_ssh import SshHost, ssh_host
from tests.prerequisites import needs, require
from tests.slurm_machine import PATH, SlurmMachine, missing_part, slurm_machine

from outweigh.model.run_record import HOST_LABEL

KEY = "a-key-that-slurm-never-sees"


class LaunchedCluster(DaskCluster):
    """A cluster whose scheduler and hosts the lead starts. `variables` are those that launchers need."""

    variables: dict[str, str] = {}  # noqa: RUF012 - set once by a fixture

    def _begin(self) -> None:
        """The lead has the scheduler."""

    @property
    def file(self) -> Path:
        return self.folder / "cluster.toml"

    def write_file(self, *lines: str) -> None:
        self.file.write_text("\n".join([f'scheduler = "{self.address}"', f'spool = "{self.folder}/spool"', *lines]))

    def hosts_alive(self) -> list[int]:
        """Processes of hosts that have this cluster's spool; ssh and the shells that start them are none."""
        mark = f"--spool\0{self.folder}/spool".encode()
        alive = [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit()]
        return [each for each in sorted(alive) if mark in command_of(Path(f"/proc/{each}"))]

    def start_lead(
        self, *options: str, log: str = "lead", store: Path | None = None, **variables: str
    ) -> ClusterProcess:
        suite = str(self.folder / "suite")
        return self._start(
            *(log, "-m", "outweigh", "run", "-c", suite, "-o", str(store or self.store), "--executor", "dask"),
            *("--cluster", str(self.file), *options),
            **{**self.variables, **variables},
        )


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[LaunchedCluster]:
    with dask_cluster(tmp_path, kind=LaunchedCluster) as cluster:
        assert isinstance(cluster, LaunchedCluster)
        yield cluster


@pytest.fixture
@needs("slurm")
def slurm(cluster: LaunchedCluster) -> Iterator[SlurmMachine]:
    """A Slurm, and a file that asks for two hosts on it, which make two attempts at a time."""
    require("slurm", missing_part())
    folder = cluster.folder / "slurm"
    folder.mkdir()
    with slurm_machine(folder) as machine:
        cluster.variables = {"SLURM_CONF": machine.environment["SLURM_CONF"], "PATH": PATH}
        cluster.write_file(
            *("jobs = 2", "[slurm]", "hosts = 2", "cores = 1", 'memory = "500 MB"'),
            f'job_script_prologue = ["export PATH={PATH} HOME={cluster.folder} TMPDIR={cluster.folder}/tmp"]',
            f'log_directory = "{cluster.folder}/logs"',
        )
        yield machine


def jobs(machine: SlurmMachine) -> set[str]:
    return set(machine.call("squeue", "--noheader", "--format=%i").split())


def test_hosts_on_slurm_give_the_verdict_of_one_machine_and_end_with_the_run(
    cluster: LaunchedCluster, slurm: SlurmMachine, outweigh: Any
) -> None:
    trials = cluster.write_suite(tasks=4, repeats=2)

    lead = cluster.start_lead(ANTHROPIC_API_KEY=KEY, SBATCH_EXPORT="ALL")

    assert lead.wait() == 0, cluster.said()
    cluster.assert_complete(trials)
    assert cluster.paid_twice(trials) == 0
    assert all(HOST_LABEL in run.extra for run in cluster.records())
    until(lambda: jobs(slurm) == set())
    assert slurm.files_with(KEY) == []
    here = cluster.folder / "here"
    assert outweigh("run", "-c", str(cluster.folder / "suite"), "-o", str(here)).code == 0
    assert verdict(outweigh, cluster.store) == verdict(outweigh, here)


def test_a_lead_that_is_started_again_takes_the_hosts_that_are_there_and_submits_no_more(
    cluster: LaunchedCluster, slurm: SlurmMachine
) -> None:
    trials = cluster.write_suite(tasks=4, repeats=3, seconds=1, cluster={"lease_seconds": 30.0})
    first = cluster.start_lead()
    cluster.until_records(3, first)
    submitted = jobs(slurm)

    first.signal(signal.SIGKILL)
    first.wait()
    second = cluster.start_lead()
    cluster.until_records(8, second)

    assert len(submitted) == 2
    assert jobs(slurm) == submitted
    assert second.wait() == 0, cluster.said()
    cluster.assert_complete(trials)
    assert cluster.paid_twice(trials) == 0
    assert "2 of 2 hosts are there from an earlier run" in " ".join(cluster.said().split())


def test_hosts_end_themselves_a_lease_after_their_lead_was_killed(
    cluster: LaunchedCluster, slurm: SlurmMachine
) -> None:
    cluster.write_suite(tasks=4, repeats=3, seconds=60)
    lead = cluster.start_lead()
    until(lambda: len(cluster.agents()) >= 2)

    lead.signal(signal.SIGKILL)
    lead.wait()

    until(lambda: jobs(slurm) == set())
    assert cluster.agents() == []


def test_a_run_whose_jobs_cannot_be_cancelled_says_so_and_they_end_by_themselves(
    cluster: LaunchedCluster, slurm: SlurmMachine
) -> None:
    trials = cluster.write_suite(tasks=2, repeats=1)
    programs = cluster.folder / "programs"
    a_program(programs / "scancel", "echo 'Slurm is away' >&2; exit 1")

    assert cluster.start_lead(PATH=f"{programs}:{PATH}").wait() == 0, cluster.said()

    cluster.assert_complete(trials)
    said = " ".join(cluster.said().split())
    assert "may be left, and end by themselves after a lease: scancel failed: Slurm is away" in said
    until(lambda: jobs(slurm) == set())
    assert cluster.hosts_alive() == []


def test_what_slurm_says_about_a_job_that_it_refuses_is_shown_before_anything_runs(
    cluster: LaunchedCluster, slurm: SlurmMachine
) -> None:
    cluster.write_suite(tasks=2, repeats=1)
    cluster.file.write_text(f'{cluster.file.read_text()}\nqueue = "nights"\n')

    assert cluster.start_lead().wait() == 2, cluster.said()

    assert "invalid partition specified: nights" in cluster.said()
    assert jobs(slurm) == set()


def test_a_file_that_starts_no_hosts_is_refused(cluster: LaunchedCluster, outweigh: Any) -> None:
    cluster.write_suite(tasks=2, repeats=1)
    cluster.write_file()

    answer = outweigh("run", "-c", str(cluster.folder / "suite"), "--executor", "dask", "--cluster", str(cluster.file))

    assert answer.code == 2
    assert "[slurm] or [ssh]" in answer.err
    assert not cluster.store.exists()


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--executor", "dask", "--scheduler", "tcp://127.0.0.1:1"), "use one of them"),
        ((), "--executor dask"),
    ],
)
def test_cluster_stands_with_its_executor_and_without_a_scheduler(
    cluster: LaunchedCluster, outweigh: Any, options: tuple[str, ...], said: str
) -> None:
    cluster.write_suite(tasks=2, repeats=1)
    cluster.write_file("[ssh]", 'machines = ["one"]')

    answer = outweigh("run", "-c", str(cluster.folder / "suite"), "--cluster", str(cluster.file), *options)

    assert answer.code == 2
    assert said in answer.err


@pytest.fixture
@needs("ssh")
def machine(cluster: LaunchedCluster) -> Iterator[SshHost]:
    """A machine that ssh reaches, and a file that asks for a host on it."""
    require("ssh", loopback_ssh.missing_part())
    folder = cluster.folder / "ssh"
    folder.mkdir()
    with ssh_host(folder) as machine:
        known = f"-o UserKnownHostsFile={machine.known_hosts}"
        environment = f"PATH={os.environ['PATH']} HOME={cluster.folder} TMPDIR={cluster.folder}/tmp"
        cluster.write_file(
            *("jobs = 2", "[ssh]", 'machines = ["builder"]'),
            f'program = "ssh -F {machine.home}/.ssh/config {known}"',
            f'command = "{environment} {sys.executable} -m outweigh"',
        )
        yield machine


@pytest.mark.usefixtures("machine")
def test_hosts_that_ssh_starts_make_the_runs_and_end_with_the_last(cluster: LaunchedCluster) -> None:
    trials = cluster.write_suite(tasks=2, repeats=2)

    assert cluster.start_lead().wait() == 0, cluster.said()

    cluster.assert_complete(trials)
    assert cluster.paid_twice(trials) == 0
    until(lambda: cluster.hosts_alive() == [])


@pytest.mark.usefixtures("machine")
def test_a_lead_that_is_started_again_takes_the_host_that_ssh_had_started(cluster: LaunchedCluster) -> None:
    trials = cluster.write_suite(tasks=3, repeats=2, seconds=1, cluster={"lease_seconds": 30.0})
    first = cluster.start_lead()
    cluster.until_records(2, first)
    hosts = cluster.hosts_alive()

    first.signal(signal.SIGKILL)
    first.wait()
    second = cluster.start_lead()
    cluster.until_records(4, second)

    assert cluster.hosts_alive() == hosts
    assert second.wait() == 0, cluster.said()
    cluster.assert_complete(trials)
    assert cluster.paid_twice(trials) == 0


@pytest.mark.usefixtures("machine")
def test_a_machine_that_cannot_be_reached_is_named_and_the_others_do_the_work(cluster: LaunchedCluster) -> None:
    trials = cluster.write_suite(tasks=2, repeats=2)
    cluster.file.write_text(cluster.file.read_text().replace('["builder"]', '["nowhere.invalid", "builder"]'))

    assert cluster.start_lead().wait() == 0, cluster.said()

    cluster.assert_complete(trials)
    assert "the host on nowhere.invalid has ended: ssh: Could not resolve hostname" in " ".join(cluster.said().split())
