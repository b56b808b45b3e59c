"""Forwarded ports of sandboxes, beyond what the contract claims for every kind."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from socket import socket

import pytest
from tests.prerequisites import require
from tests.sandbox.unprivileged import as_nobody

from outweigh.ports.sandboxes import ForwardedPort, SandboxError
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container_engine import ContainerEngine
from outweigh.sandbox.container_process import find_first_process
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.sandbox.sandbox_ports import listen_in_namespace
from outweigh.testing.sandbox_fixtures import EchoServer, a_sandbox_request, dial_script, run_shell

SCRIPT = """
import sys
from dataclasses import replace
from pathlib import Path
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.sandbox_fixtures import EchoServer, a_sandbox_request, dial_script, run_shell

request = replace(a_sandbox_request(Path(sys.argv[1])), ports=(EchoServer("one").port,))
with BubblewrapSandboxProvider().open(request) as sandbox:
    print(run_shell(sandbox, dial_script(sandbox.port("one"), "hi")).stdout.decode(), end="")
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests already run unprivileged")
@pytest.mark.needs_bubblewrap
def test_a_port_needs_no_privileges(open_folder: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    if shutil.which("setpriv") is None:
        require("bubblewrap", "setpriv is not installed")

    done = as_nobody("-c", SCRIPT, str(open_folder / "own"))

    assert done.stdout == "one heard hi\n", done.stderr


def test_no_port_is_opened_in_the_network_of_the_host() -> None:
    with subprocess.Popen(["sleep", "60"]) as ordinary:
        with pytest.raises(SandboxError, match="no network of its own"):
            listen_in_namespace(ordinary.pid, [7411])
        ordinary.kill()


def test_no_port_is_opened_for_a_process_that_is_gone() -> None:
    with subprocess.Popen(["true"]) as gone:
        pass

    with pytest.raises(SandboxError, match="No such file"):
        listen_in_namespace(gone.pid, [7411])


@pytest.mark.needs_bubblewrap
def test_a_sandbox_that_cannot_be_built_says_so_and_does_not_blame_its_ports(tmp_path: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    echo = EchoServer("one")
    request = replace(a_sandbox_request(tmp_path), ports=(echo.port,))
    request.workspace.rmdir()

    with BubblewrapSandboxProvider().open(request) as sandbox, pytest.raises(SandboxError, match="could not build"):
        run_shell(sandbox, "true")

    assert not echo.is_answering


@pytest.mark.parametrize("number", [str(os.getpid()), "99999999"], ids=["of another process", "of no process"])
def test_a_number_that_an_engine_elsewhere_gives_is_not_taken_for_a_process_here(number: str) -> None:
    elsewhere = ContainerEngine(
        name="docker", command=("sh", "-c", f"echo {number}"), run_options=(), tmpfs_option="exec"
    )

    assert find_first_process(elsewhere, "outweigh-1234", begin_seconds=0.1) is None


@pytest.mark.needs_bubblewrap
def test_no_program_that_is_started_later_inherits_the_socket_of_a_port(tmp_path: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    seen: list[bool] = []

    @contextmanager
    def serve(listening: socket) -> Iterator[None]:
        seen.append(listening.get_inheritable())
        yield

    request = replace(a_sandbox_request(tmp_path), ports=(ForwardedPort(name="one", serve=serve),))
    with BubblewrapSandboxProvider().open(request) as sandbox:
        run_shell(sandbox, "true")

    assert seen == [False]


def test_two_ports_of_one_name_are_refused(tmp_path: Path) -> None:
    request = replace(a_sandbox_request(tmp_path), ports=(EchoServer("one").port, EchoServer("one").port))

    with pytest.raises(SandboxError, match="same name"), LocalSandboxProvider().open(request):
        pass


@pytest.mark.needs_bubblewrap
def test_a_program_inside_cannot_bind_a_forwarded_port(tmp_path: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    request = replace(a_sandbox_request(tmp_path), ports=(EchoServer("one").port,))
    bind = "import socket; socket.socket().bind(('127.0.0.1', {}))"
    with BubblewrapSandboxProvider().open(request) as sandbox:
        port = sandbox.port("one")
        taken = run_shell(sandbox, f'/usr/bin/python3 -c "{bind.format(port)}"')
        answered = run_shell(sandbox, dial_script(port, "hi"))

    assert b"in use" in taken.stderr
    assert answered.stdout == b"one heard hi\n"
