"""A Dask cluster on loopback: a scheduler, hosts and leads as processes, which tests kill, stop and start again."""

import os
import shutil
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.cli.engines import records, until
from tests.engine.engine_fixtures import DONE, write_suite

from outweigh.model.failure import EXCLUDED_STATUSES
from outweigh.model.run_record import LATE_LABEL, RunRecord, amount_paid
from outweigh.workspace.overlay_mount import overlay_mounts_below, unmount

PRICE = 0.01
LEASE_SECONDS = 5.0
PATIENCE = 300.0


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
    return port


class ClusterProcess:
    """One process with everything that it starts in a session of its own."""

    def __init__(self, command: list[str], folder: Path, log: Path, **variables: str) -> None:
        temporary = folder / "tmp"
        temporary.mkdir(exist_ok=True)
        self.log = log
        with log.open("ab") as stream:
            self._process = subprocess.Popen(
                command,
                env={"PATH": os.environ["PATH"], "HOME": str(folder), "TMPDIR": str(temporary), **variables},
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=stream,
                stderr=stream,
                start_new_session=True,
            )

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def has_ended(self) -> bool:
        return self._process.poll() is not None

    def signal(self, number: int) -> None:
        self._process.send_signal(number)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait()

    def end(self) -> int:
        """Ask it to end, and wait."""
        if not self.has_ended:
            self._process.send_signal(signal.SIGCONT)
            self._process.terminate()
        return self.wait()

    def wait(self) -> int:
        try:
            return self._process.wait(PATIENCE)
        finally:
            if self._process.poll() is None:
                self.kill()


class DaskCluster:
    """A scheduler and its hosts. `ledger` has a line for every agent that came to its end, by task and arm. `output` is
    a command that agents run in their workspace.
    """

    def __init__(self, folder: Path, *, tls: Mapping[str, str] | None = None, listen: str = "127.0.0.1") -> None:
        self.folder = folder
        self.port = free_port()
        self.tls = tls
        self.listen = listen
        self.address = f"{'tcp' if tls is None else 'tls'}://{listen}:{self.port}"
        self.ledger = folder / "ledger"
        self.store = folder / "store"
        self.output = ":"
        self.started: list[ClusterProcess] = []
        self.hosts: list[ClusterProcess] = []
        self._begin()

    def _begin(self) -> None:
        self.scheduler = self.start_scheduler()

    def start_scheduler(self) -> ClusterProcess:
        options = [] if self.tls is None else [f"--{name}={value}" for name, value in self.tls.items()]
        self.scheduler = self._start(
            "scheduler",
            *("-m", "distributed.cli.dask_scheduler", "--host", f"{self.address.partition(':')[0]}://{self.listen}"),
            *("--port", str(self.port), "--no-dashboard", *options),
        )
        return self.scheduler

    def start_host(self, *options: str, slots: int = 4, spool: Path | None = None, **variables: str) -> ClusterProcess:
        tls = [] if self.tls is None else [f"--{name}={value}" for name, value in self.tls.items()]
        where = ("--spool", str(spool or self.folder / "spool"))
        host = self._start(
            *(f"host-{len(self.started)}", "-m", "outweigh", "dev", "host", self.address, "-j", str(slots)),
            *(*where, *tls, *options),
            **variables,
        )
        self.hosts.append(host)
        return host

    def start_lead(
        self, *options: str, log: str = "lead", store: Path | None = None, **variables: str
    ) -> ClusterProcess:
        suite = str(self.folder / "suite")
        return self._start(
            *(log, "-m", "outweigh", "run", "-c", suite, "-o", str(store or self.store), "--executor", "dask"),
            *("--scheduler", self.address, *options),
            **variables,
        )

    def run_here(self, *options: str, **variables: str) -> ClusterProcess:
        """The same suite without a cluster, into a store of its own."""
        suite, store = str(self.folder / "suite"), str(self.folder / "here")
        return self._start("here", "-m", "outweigh", "run", "-c", suite, "-o", store, *options, **variables)

    def write_suite(self, *, tasks: int, repeats: int, seconds: float = 0.2, **settings: Any) -> int:
        """A suite of two arms, one better than the other; returns the number of its trials."""
        arms = {name: self._arm(name, odds, seconds) for name, odds in (("plain", 0.3), ("better", 0.9))}
        cluster = {"lease_seconds": LEASE_SECONDS}
        task = {"checks": [DONE, {"type": "command", "name": "held", "run": self._stage("checks")}]}
        known: dict[str, Any] = {"cluster": cluster, "task": task, **settings}
        write_suite(self.folder / "suite", arms, tasks=tasks, repeats=repeats, **known)
        for number in range(1, tasks + 1):
            (self.folder / "suite" / f"task-{number}" / "environment" / "question.txt").write_text(f"task-{number}")
        return 2 * tasks * repeats

    def _arm(self, name: str, odds: float, seconds: float) -> dict[str, Any]:
        ended = f'echo "$(cat question.txt) {name}" >> {self.ledger}'
        work = {"do": "run", "command": f"{self._stage('agents')}; {self.output}; sleep {seconds}; {ended}"}
        solved = {"do": "write", "path": "answer.txt", "content": "42"}
        script = {"solve_probability": odds, "on_success": [work, solved], "on_failure": [work]}
        return {"agent": "scripted", "options": {"default": {**script, "duration_seconds": 1, "cost_usd": PRICE}}}

    def _stage(self, stage: str) -> str:
        """A command that waits while the test holds this stage of all attempts, and says so by a file of its own."""
        held, here = self.folder / f"hold-{stage}", self.folder / f"in-{stage}"
        return f"while test -e {held}; do mkdir -p {here}; : > {here}/$$; sleep 0.05; done"

    def hold(self, stage: str, attempts: int) -> None:
        """Let no attempt go beyond its agents' first step or into its checks, and wait until so many are there."""
        here = self.folder / f"in-{stage}"
        shutil.rmtree(here, ignore_errors=True)
        (self.folder / f"hold-{stage}").touch()
        until(lambda: here.is_dir() and len(list(here.iterdir())) >= attempts)

    def let_go(self, stage: str) -> None:
        """Let attempts go on."""
        (self.folder / f"hold-{stage}").unlink()

    def _start(self, log: str, *command: str, **variables: str) -> ClusterProcess:
        process = ClusterProcess([sys.executable, *command], self.folder, self.folder / f"{log}.log", **variables)
        self.started.append(process)
        return process

    def said(self, log: str = "lead") -> str:
        return (self.folder / f"{log}.log").read_text()

    def records(self, store: Path | None = None) -> list[RunRecord]:
        folder = store or self.store
        logs = (log.read_bytes() for log in folder.glob("runs-*.jsonl"))
        return records(folder) if any(b"\n" in content for content in logs) else []

    def until_records(self, count: int, lead: ClusterProcess) -> None:
        until(lambda: len(self.records()) >= count or lead.has_ended)

    def silent(self) -> int:
        """How many attempts were given up because their host did not answer."""
        return sum("did not answer" in (run.status_detail or "") for run in self.records())

    def late(self) -> list[RunRecord]:
        """Records that came after their attempts were given up."""
        return [run for run in self.records() if LATE_LABEL in run.extra]

    def counted(self) -> Counter[tuple[str, str, int]]:
        return Counter(run.trial.key for run in self.records() if run.status not in EXCLUDED_STATUSES)

    def paid_twice(self, trials: int) -> int:
        """How many agents came to their end beyond one for every trial."""
        return len(self.ledger.read_text().splitlines()) - trials

    def assert_complete(self, trials: int) -> None:
        """Every trial has one result, and every agent that ended and has a record was counted once."""
        counted = self.counted()
        assert len(counted) == trials
        assert set(counted.values()) == {1}
        found = self.records()
        assert len({run.run_id for run in found}) == len({(run.trial.key, run.attempt) for run in found}) == len(found)
        known = [paid for run in found if (paid := amount_paid(run)) is not None]
        assert round(sum(known), 6) == round(PRICE * sum(paid > 0 for paid in known), 6)
        assert sum(paid > 0 for paid in known) >= trials

    def agents(self) -> list[int]:
        """Processes of agents that are alive."""
        mark = f"{self.ledger}".encode()
        return [int(each.name) for each in Path("/proc").iterdir() if each.name.isdigit() and mark in command_of(each)]

    def close(self) -> None:
        for process in reversed(self.started):
            if not process.has_ended:
                process.signal(signal.SIGCONT)
                process.kill()
        for mount in overlay_mounts_below(self.folder):
            unmount(mount)


@contextmanager
def dask_cluster(folder: Path, *, kind: type[DaskCluster] = DaskCluster, **options: Any) -> Iterator[DaskCluster]:
    cluster = kind(folder, **options)
    try:
        yield cluster
    finally:
        cluster.close()


def command_of(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""
