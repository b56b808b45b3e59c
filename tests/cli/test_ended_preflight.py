"""A signal that ends `outweigh` while it tries the tasks leaves nothing: no mount, process, container or folder."""

import os
import signal
from collections.abc import Iterator
from pathlib import Path
from random import Random
from typing import Any

import pytest
from tests.cli.engines import Engine, until
from tests.engine.engine_fixtures import shell, write_suite
from tests.prerequisites import require
from tests.sandbox.container_fixtures import busybox_image, working_engine

from outweigh.app.build_engine import engine_label
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.workspace.overlay_mount import overlay_mounts_below

TASKS = 4


@pytest.fixture(
    params=[
        "local",
        pytest.param("bubblewrap", marks=pytest.mark.needs_bubblewrap),
        pytest.param("container", marks=pytest.mark.needs_container),
    ]
)
def sandbox(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """What a suite says about its sandbox."""
    if request.param == "container":
        require("container", ContainerSandboxProvider().missing())
        with busybox_image(working_engine()) as image:
            yield {"kind": "container", "image": image}
        return
    if request.param == "bubblewrap":
        require("bubblewrap", BubblewrapSandboxProvider().missing())
    yield {"kind": request.param}


class Preflight:
    """A process of outweigh that tries tasks whose checks take longer than anybody waits."""

    def __init__(self, folder: Path, sandbox: dict[str, Any], verb: str) -> None:
        self.suite, self.store, self.temporary = folder / "suite", folder / "store", folder / "tmp"
        self.temporary.mkdir()
        # A number that no other process on this machine sleeps for.
        self._seconds = str(10**6 + Random(str(folder)).randrange(10**6))
        check = {"type": "command", "name": "slow", "run": f"sleep {self._seconds}", "timeout_seconds": 600}
        write_suite(self.suite, {"a": shell("true")}, tasks=TASKS, task={"checks": [check]}, sandbox=sandbox)
        place = ("-o", str(self.store)) if verb == "run" else ()
        self.engine = Engine("-c", str(self.suite), *place, temporary=self.temporary, folder=folder, verb=verb)

    def sleepers(self) -> int:
        """How many checks are under way, in whatever sandbox."""
        wanted = f"sleep\0{self._seconds}\0".encode()
        return sum(_command_line(entry) == wanted for entry in Path("/proc").glob("[0-9]*"))

    def containers(self, kind: str) -> list[str]:
        if kind != "container":
            return []
        shown = working_engine().run("ps", "--all", "--format", "{{.Labels}}").out.splitlines()
        return [
            labels for labels in shown if engine_label(self.store) in labels or f"doctor:{self.engine.pid}" in labels
        ]


def _command_line(process: Path) -> bytes:
    try:
        return (process / "cmdline").read_bytes()
    except OSError:
        return b""


@pytest.mark.parametrize("verb", ["run", "doctor"])
@pytest.mark.parametrize(
    "signals",
    [[signal.SIGTERM], [signal.SIGINT, signal.SIGTERM]],
    ids=lambda signals: " ".join(each.name for each in signals),
)
def test_a_signal_during_preflight_leaves_nothing(
    tmp_path: Path, sandbox: dict[str, Any], signals: list[signal.Signals], verb: str
) -> None:
    preflight = Preflight(tmp_path, sandbox, verb)
    try:
        until(lambda: preflight.sleepers() == 2 or preflight.engine.has_ended)
        assert not preflight.engine.has_ended, preflight.engine.wait()

        for each in signals:
            os.kill(preflight.engine.pid, each)
        ended = preflight.engine.wait()

        assert (ended.code, ended.err) == (130, "outweigh: interrupted.\n")
        assert preflight.sleepers() == 0
        assert preflight.containers(sandbox["kind"]) == []
        assert overlay_mounts_below(preflight.temporary) == []
        assert list(preflight.temporary.iterdir()) == []
        assert not (preflight.store / "scratch").exists()
    finally:
        preflight.engine.close()
