"""An agent that tries everything, in both kinds of sandbox: each attempt fails, and the record shows it."""

import os
import socket
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.engine.engine_fixtures import artifact, loaded, open_engine, plan_of, shell
from tests.engine.test_sandbox_egress import FETCH
from tests.prerequisites import require
from tests.sandbox.container_fixtures import busybox_image, working_engine

from outweigh.engine.attempt import run_attempt
from outweigh.gateway.egress_proxy import EgressProxy
from outweigh.gateway.event_loop_thread import EventLoopThread
from outweigh.model.failure import Status
from outweigh.model.suite import SandboxSpec
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider

ATTACKS = """
try() {{ if eval "$2" >/dev/null 2>&1; then echo "$1: SUCCEEDED"; else echo "$1: stopped"; fi; }}
try "read the tests" 'cat {suite}/tasks/*/tests/* || cat {suite}/tasks/*/task.toml'
try "read a file of the user" 'cat {secret}'
try "read a secret of the engine" 'env | grep -q {variable} || grep -q {variable} /proc/[0-9]*/environ'
try "see other sandboxes" 'ls {scratch} || ls {store}'
dial='import socket; socket.create_connection(("127.0.0.1", {port}), 1)'
try "reach the network" 'nc -w 1 127.0.0.1 {port} </dev/null || python3 -c "$dial"'
{fetch}
try "reach the engine's machine through the proxy" '! fetch http://127.0.0.1:{port}/ | grep -q " 403 "'
try "change the system" 'touch /usr/planted || touch /bin/planted || touch /etc/planted'
try "end the engine" 'kill -9 {pid}'
try "write where the tests will be" 'mkdir -p /tests /logs/verifier'
(setsid sleep 7643 >/dev/null 2>&1 &)
echo "left a daemon"
"""


@pytest.fixture
def listener() -> Iterator[int]:
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield server.getsockname()[1]


@pytest.fixture(
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.needs_bubblewrap),
        pytest.param("container", marks=pytest.mark.needs_container),
    ]
)
def isolation(request: pytest.FixtureRequest) -> Iterator[dict[str, Any]]:
    """The dependencies that differ with the kind of sandbox."""
    if request.param == "bubblewrap":
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        yield {"sandboxes": BubblewrapSandboxProvider()}
        return
    require("container", ContainerSandboxProvider().missing())
    with busybox_image(working_engine()) as image:
        yield {"sandboxes": ContainerSandboxProvider(), "sandbox": SandboxSpec(kind="container", image=image)}


def test_every_attack_fails_and_is_in_the_record(
    tmp_path: Path, isolation: dict[str, Any], listener: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGINE_TREASURE", "gold")
    secret = tmp_path / "secret.txt"
    secret.write_text("gold")
    attacks = ATTACKS.format(
        suite=tmp_path,
        secret=secret,
        variable="ENGINE_TREASURE",
        scratch=tmp_path / "scratch",
        store=tmp_path / "store",
        port=listener,
        fetch=FETCH,
        pid=os.getpid(),
    )
    suite = loaded(tmp_path, {"a": shell(attacks)})
    with ExitStack() as held:
        background = held.enter_context(EventLoopThread())
        deps, store = held.enter_context(open_engine(suite, tmp_path / "store", tmp_path / "scratch"))
        planned = next(run for run in plan_of(suite) if run.trial.arm == "a")
        record = run_attempt(
            replace(deps, hosts=lambda: EgressProxy(["hub.test"], background), **isolation), planned, 1
        ).record
        told = artifact(store, record, "stdout.txt").decode()
        refused = artifact(store, record, "refused-hosts.txt").decode()

    assert record.status is Status.COMPLETED, record.status_detail
    assert told.count(": stopped\n") == 9, told
    assert "SUCCEEDED" not in told
    assert refused == f"127.0.0.1:{listener}\n"
    assert record.checks is not None
    assert [check.passed for check in record.checks] == [False]
    assert not any(b"sleep\x007643" in _command(path) for path in Path("/proc").glob("[0-9]*/cmdline"))


def _command(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""
