"""/proc of a container is made read-only from outside, unless its engine could then start no command."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from outweigh.sandbox.container_engine import ContainerEngine
from outweigh.sandbox.container_process import ProcProtection


def an_engine(exec_result: str) -> ContainerEngine:
    """An engine whose commands all end in this way."""
    return ContainerEngine(name="engine", command=("sh", "-c", exec_result), run_options=(), tmpfs_option="exec")


@pytest.fixture
def process() -> Iterator[int]:
    """The first process of something that has mounts of its own, as a container has."""
    if shutil.which("unshare") is None:
        pytest.skip("unshare is not installed")
    user = [] if os.geteuid() == 0 else ["--user", "--map-root-user"]
    command = ["unshare", *user, "--mount", "--pid", "--fork", "--mount-proc", "sh", "-c", "echo ready; exec sleep 600"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as started:
        assert started.stdout is not None
        if started.stdout.readline() != "ready\n":
            pytest.skip("no namespaces can be made here")
        yield _only_child(started.pid)
        started.kill()


def _only_child(parent: int) -> int:
    return int(Path(f"/proc/{parent}/task/{parent}/children").read_text())


def is_read_only(process: int) -> bool:
    mounts = [line.split() for line in Path(f"/proc/{process}/mountinfo").read_text().splitlines()]
    return next(line for line in reversed(mounts) if line[4] == "/proc")[5].startswith("ro,")


def test_proc_is_made_read_only_for_every_container(process: int) -> None:
    protection = ProcProtection()

    assert not is_read_only(process)
    assert protection.apply(an_engine("exit 0"), "name", process) is None
    assert is_read_only(process)
    assert protection.apply(an_engine("exit 1"), "name", process) is None  # tried with the first alone
    assert protection.fault is None


def test_an_engine_that_can_then_start_nothing_keeps_proc_as_it_was_and_the_reason_is_told(process: int) -> None:
    protection = ProcProtection()

    fault = protection.apply(an_engine("echo no attr >&2; exit 126"), "name", process)

    assert not is_read_only(process)
    assert fault is not None
    assert "read-only /proc (no attr)" in fault
    assert protection.fault == fault
    assert protection.apply(an_engine("exit 0"), "name", process) == fault
    assert not is_read_only(process)


def test_a_process_that_runs_elsewhere_or_without_mounts_of_its_own_is_left_alone() -> None:
    assert "cannot be seen" in (ProcProtection().apply(an_engine("exit 0"), "name", None) or "")
    assert "no mounts of its own" in (ProcProtection().apply(an_engine("exit 0"), "name", os.getpid()) or "")
