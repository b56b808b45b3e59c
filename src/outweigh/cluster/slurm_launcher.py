"""Hosts as jobs of Slurm, which dask-jobqueue writes and submits.

Slurm keeps the environment of whoever submits a job in its state folder, keys included, so jobs are submitted with
`--export=NIL`. It stands on the command line: in the script, the variable SBATCH_EXPORT would override it.
"""

import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager
from tempfile import NamedTemporaryFile
from threading import Event, Thread
from typing import Any

import msgspec

from outweigh.cluster.dask_settings import quiet_dask
from outweigh.cluster.host_launch import HostLaunch
from outweigh.errors import UsageError, requires_extra
from outweigh.model.launch_spec import SlurmLaunch
from outweigh.process import run_process

SUBMIT = "sbatch --export=NIL"
STATES = "PENDING,CONFIGURING,RUNNING,SUSPENDED"
CHECK_SECONDS = 15.0
"""How often jobs are counted, so that one that has ended is replaced."""

MOST_ORDERS = 4
"""So many jobs are submitted for every host that is wanted; more end as soon as they start."""

CALL_SECONDS = 60.0
FOREVER = "10000 days"


@contextmanager
def slurm_hosts(launch: HostLaunch, spec: SlurmLaunch) -> Iterator[None]:
    """Jobs that are hosts, as many as are wanted for as long as the lead works; those of an earlier lead count."""
    with requires_extra("hosts on Slurm", "dask"):
        import dask  # noqa: PLC0415 - an extra
        from dask_jobqueue.slurm import SLURMCluster, SLURMJob  # noqa: PLC0415 - an extra

    class HostJob(SLURMJob):  # type: ignore[misc]  # it has no type
        submit_command = SUBMIT

    # Dask would end the job of a host that it has lost sight of; the host still has records, and its lease decides.
    with (
        quiet_dask(),
        dask.config.set({"distributed.deploy.lost-worker-timeout": FOREVER}),
        closing(
            SLURMCluster(
                job_cls=HostJob,
                name=f"{launch.name}-{launch.session}",
                job_name=launch.name,
                worker_command="outweigh dev host",
                worker_extra_args=launch.host_options(),
                scheduler_options=launch.scheduler_options(),
                security=launch.security,
                processes=1,
                silence_logs="critical",
                **_chosen(spec),
            )
        ) as cluster,
    ):
        _try_script(cluster.job_script())
        orders = _Orders(launch, spec.hosts, cluster)
        orders.start()
        try:
            yield
        finally:
            orders.stop()
            # Those of an earlier lead are not known to Dask.
            try:
                _call("scancel", f"--name={launch.name}")
            except UsageError as fault:
                launch.say(f"jobs called {launch.name} may be left, and end by themselves after a lease: {fault}")


def _chosen(spec: SlurmLaunch) -> dict[str, Any]:
    """What the file says to dask-jobqueue; a user's configuration of it holds for the rest."""
    said = msgspec.structs.asdict(spec)
    return {key: value for key, value in said.items() if key != "hosts" and value not in (None, [])}


class _Orders:
    """Jobs that were submitted. A thread counts those that are there, and submits what is missing."""

    def __init__(self, launch: HostLaunch, wanted: int, cluster: Any) -> None:
        self._launch = launch
        self._wanted = wanted
        self._cluster = cluster
        self._ordered = 0
        self._stopping = Event()
        self._thread = Thread(target=self._keep, name="slurm", daemon=True)

    def start(self) -> None:
        """Submit what an earlier lead has not left, and go on in a thread."""
        there = self._order_missing()
        if there:
            self._launch.say(f"{there} of {self._wanted} hosts are there from an earlier run")
        self._thread.start()

    def stop(self) -> None:
        """Submit nothing more."""
        self._stopping.set()
        self._thread.join()

    def _keep(self) -> None:
        while not self._stopping.wait(CHECK_SECONDS):
            try:
                self._order_missing()
            except UsageError as fault:  # Slurm may be restarted; jobs go on meanwhile
                self._launch.say(f"{fault}")

    def _order_missing(self) -> int:
        """Submit jobs for the hosts that are missing; returns how many are there."""
        there = len(_call("squeue", "--noheader", "--format=%i", f"--states={STATES}", f"--name={self._launch.name}"))
        missing = self._wanted - there
        if missing <= 0:
            return there
        if self._ordered + missing > MOST_ORDERS * self._wanted:
            self._launch.say(
                f"jobs of Slurm end early, and no more are submitted after {self._ordered}. Set log_directory under "
                "[slurm] to see what they say."
            )
            self._stopping.set()
            return there
        self._ordered += missing
        self._cluster.scale(jobs=self._ordered)
        return there


def _try_script(script: str) -> None:
    """Have Slurm check a job before any is submitted: what it refuses is otherwise only in a log."""
    with NamedTemporaryFile("w", suffix=".sh") as file:
        file.write(script)
        file.flush()
        _call(*SUBMIT.split(), "--test-only", file.name)


def _call(program: str, *arguments: str) -> list[str]:
    """The lines that a program of Slurm prints."""
    try:
        done = run_process([program, *arguments], timeout_seconds=CALL_SECONDS)
    except subprocess.TimeoutExpired as fault:
        raise UsageError(f"{program} did not answer within {CALL_SECONDS:g} s.") from fault
    except OSError as fault:
        raise UsageError(
            f"{program} cannot be started: {fault}. Hosts on Slurm need its programs on this machine."
        ) from fault
    if done.returncode:
        raise UsageError(f"{program} failed: {_one_line(done.stderr or done.stdout)}")
    return done.stdout.decode(errors="replace").split()


def _one_line(said: bytes) -> str:
    lines = said.decode(errors="replace").strip().splitlines()
    return "; ".join(lines) or "it said nothing"
