"""A container engine whose containers cannot be entered from here, as with the virtual machine of an engine on macOS:
podman as a service in a pid namespace of its own, spoken to over a socket.
"""

import os
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from time import monotonic, sleep

from outweigh.sandbox.container_engine import ContainerEngine

_START_SECONDS = 60.0


def distant_engine_missing(local: ContainerEngine) -> str | None:
    """Why there can be no such engine here; None when there can."""
    if local.name != "podman":
        return "only podman can be started as a service in a namespace"
    if os.geteuid() != 0:
        return "a pid namespace for podman can be made by root only"
    return None


@contextmanager
def distant_engine(local: ContainerEngine) -> Iterator[ContainerEngine]:
    """The client of a podman that runs elsewhere; leaving the context ends all of it."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        address = f"unix://{folder}/podman.sock"
        namespace = ("unshare", "--pid", "--fork", "--mount-proc", "--kill-child")
        service = subprocess.Popen(
            [*namespace, *local.command, "system", "service", "--time=0", address],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        try:
            deadline = monotonic() + _START_SECONDS
            while not Path(folder, "podman.sock").exists():
                assert service.poll() is None, "podman did not start as a service"
                assert monotonic() < deadline, "podman took too long to start as a service"
                sleep(0.02)
            yield replace(local, command=(local.command[0], "--remote", f"--url={address}"))
        finally:
            os.killpg(service.pid, signal.SIGKILL)
            service.wait()
