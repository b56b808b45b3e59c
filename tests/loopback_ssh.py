"""A real sshd on loopback with keys of its own, as a process that is stopped by its id."""

import getpass
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

SSHD = "/usr/sbin/sshd"
MOST_SECONDS = 60.0
"""How long a start may take before the test gives up; nothing depends on how fast it is."""

_SERVER = """\
ListenAddress 127.0.0.1
Port {port}
HostKey {folder}/host_key
AuthorizedKeysFile {folder}/authorized_keys
PidFile none
UsePAM no
StrictModes no
PasswordAuthentication no
KbdInteractiveAuthentication no
Subsystem sftp internal-sftp
"""
_CLIENT = """\
Host builder
  HostName 127.0.0.1
  Port {port}
  User {user}
  IdentityFile {folder}/user_key
"""


def missing_part() -> str | None:
    """What an sshd lacks on this machine; None where it can be started."""
    absent = [program for program in (SSHD, "ssh-keygen") if shutil.which(program) is None]
    return f"{', '.join(absent)} not found; `make parts` installs openssh-server" if absent else None


@dataclass(frozen=True)
class SshHost:
    """A host that is called `builder` in the configuration of one home folder."""

    port: int
    home: Path

    @property
    def known_hosts(self) -> Path:
        return self.home / ".ssh" / "known_hosts"


@contextmanager
def ssh_host(folder: Path) -> Iterator[SshHost]:
    """A host that knows one key, and a home folder that has it and knows the host."""
    for name in ("host_key", "user_key"):
        command = ["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(folder / name)]
        subprocess.run(command, check=True, stdin=subprocess.DEVNULL)
    shutil.copy(folder / "user_key.pub", folder / "authorized_keys")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    words = {"port": port, "folder": folder, "user": getpass.getuser()}
    (folder / "sshd_config").write_text(_SERVER.format(**words), encoding="utf-8")
    host = SshHost(port, folder / "home")
    host.known_hosts.parent.mkdir(parents=True)
    (host.known_hosts.parent / "config").write_text(_CLIENT.format(**words), encoding="utf-8")
    kind, key, *_ = (folder / "host_key.pub").read_text(encoding="utf-8").split()
    host.known_hosts.write_text(f"[127.0.0.1]:{port} {kind} {key}\n", encoding="utf-8")
    if os.geteuid() == 0:
        Path("/run/sshd").mkdir(exist_ok=True)  # where sshd separates privileges when root starts it
    log = (folder / "sshd.log").open("wb")
    with log, subprocess.Popen([SSHD, "-D", "-e", "-f", str(folder / "sshd_config")], stderr=log) as server:
        try:
            _wait(port, server)
            yield host
        finally:
            server.kill()


def _wait(port: int, server: "subprocess.Popen[bytes]") -> None:
    end = time.monotonic() + MOST_SECONDS
    while server.poll() is None and time.monotonic() < end:
        try:
            with socket.create_connection(("127.0.0.1", port), timeout=1):
                return
        except OSError:
            time.sleep(0.05)
    raise RuntimeError("sshd did not start")
