"""A real Slurm on loopback: munged, slurmctld and slurmd as plain processes in one folder, stopped by their ids."""

import os
import secrets
import shutil
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "squeue", "sinfo")
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
MOST_SECONDS = 120.0
"""How long a start or a job may take before the test gives up; nothing depends on how fast it is."""

_CONFIGURATION = """\
ClusterName=outweigh
SlurmctldHost={node}(127.0.0.1)
SlurmctldPort={controller_port}
SlurmdPort={node_port}
AuthType=auth/munge
AuthInfo=socket={folder}/munge.socket
CredType=cred/munge
SlurmUser=root
SlurmdUser=root
StateSaveLocation={folder}/state
SlurmdSpoolDir={folder}/spool
SlurmctldPidFile={folder}/slurmctld.pid
SlurmdPidFile={folder}/slurmd.pid
SlurmctldLogFile={folder}/slurmctld.log
SlurmdLogFile={folder}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SlurmdParameters=config_overrides
ReturnToService=2
MpiDefault=none
KillWait=2
NodeName={node} NodeAddr=127.0.0.1 CPUs=4 RealMemory=2000 State=UNKNOWN
PartitionName=trials Nodes={node} Default=YES MaxTime=INFINITE State=UP
"""


def missing_part() -> str | None:
    """What a real Slurm lacks on this machine; None where it can be started."""
    absent = [program for program in PROGRAMS if shutil.which(program, path=PATH) is None]
    if absent:
        return f"{', '.join(absent)} not found; `make parts` installs Slurm and munge"
    return None if os.geteuid() == 0 else "slurmd has to be started as root"


@dataclass(frozen=True)
class SlurmMachine:
    """A machine with one node of four processors."""

    folder: Path
    environment: Mapping[str, str]

    @property
    def state_folder(self) -> Path:
        """Where the controller keeps jobs, their scripts and their environments."""
        return self.folder / "state"

    def call(self, *command: str, extra: Mapping[str, str] | None = None) -> str:
        """What a command of Slurm prints, started with the variables of the machine and nothing else but `extra`."""
        done = subprocess.run(
            command,
            env={**self.environment, **(extra or {})},
            cwd=self.folder,
            capture_output=True,
            text=True,
            check=False,
            timeout=MOST_SECONDS,
        )
        assert done.returncode == 0, f"{command}: {done.stdout}{done.stderr}"
        return done.stdout.strip()

    def files_with(self, text: str) -> list[str]:
        """The controller's files that hold a text."""
        found = self.state_folder.rglob("*")
        return sorted(path.name for path in found if path.is_file() and text.encode() in path.read_bytes())


@contextmanager
def slurm_machine(folder: Path) -> Iterator[SlurmMachine]:
    """Start the three services, wait until the node takes jobs, and stop all of them in the end."""
    node = socket.gethostname().partition(".")[0]
    for name in ("state", "spool"):
        (folder / name).mkdir()
    key = folder / "munge.key"
    key.write_bytes(secrets.token_bytes(128))
    key.chmod(0o400)
    controller_port, node_port = _free_ports(2)
    configuration = folder / "slurm.conf"
    configuration.write_text(
        _CONFIGURATION.format(node=node, folder=folder, controller_port=controller_port, node_port=node_port)
    )
    environment = {"PATH": PATH, "HOME": str(folder), "SLURM_CONF": str(configuration)}
    machine = SlurmMachine(folder, environment)
    services = (
        (
            *("munged", "--foreground", "--force", "--key-file", str(key), "--socket", str(folder / "munge.socket")),
            *("--pid-file", str(folder / "munged.pid"), "--seed-file", str(folder / "munged.seed")),
            *("--log-file", str(folder / "munged.log")),
        ),
        ("slurmctld", "-D", "-c"),
        ("slurmd", "-D", "-N", node),
    )
    started: list[subprocess.Popen[bytes]] = []
    try:
        for number, service in enumerate(services):
            started.append(_start(service, machine, number))
            if number == 0:
                _wait((folder / "munge.socket").exists, machine, started)
        _wait(lambda: _node_state(machine) == "idle", machine, started)
        yield machine
        machine.call("scancel", "--user", "root")
        _wait(lambda: machine.call("squeue", "--noheader") == "", machine, started)
    finally:
        for process in reversed(started):
            process.terminate()
            try:
                process.wait(MOST_SECONDS)
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()


def _start(command: Sequence[str], machine: SlurmMachine, number: int) -> "subprocess.Popen[bytes]":
    with (machine.folder / f"service-{number}.log").open("wb") as log:
        return subprocess.Popen(
            command, env=dict(machine.environment), cwd=machine.folder, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )


def _node_state(machine: SlurmMachine) -> str:
    done = subprocess.run(
        ("sinfo", "--noheader", "--format", "%T"),
        env=dict(machine.environment),
        capture_output=True,
        text=True,
        check=False,
        timeout=MOST_SECONDS,
    )
    return done.stdout.strip()


def _wait(condition: Callable[[], bool], machine: SlurmMachine, started: Sequence["subprocess.Popen[bytes]"]) -> None:
    end = time.monotonic() + MOST_SECONDS
    while not condition():
        ended = [process.args for process in started if process.poll() is not None]
        if ended or time.monotonic() > end:
            logs = "\n".join(path.read_text(errors="replace")[-2000:] for path in sorted(machine.folder.glob("*.log")))
            raise AssertionError(f"Slurm did not start; ended: {ended}\n{logs}")
        time.sleep(0.1)


def _free_ports(count: int) -> list[int]:
    listeners = [socket.create_server(("127.0.0.1", 0)) for _ in range(count)]
    try:
        return [listener.getsockname()[1] for listener in listeners]
    finally:
        for listener in listeners:
            listener.close()
