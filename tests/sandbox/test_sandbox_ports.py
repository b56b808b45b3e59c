"""Doors into sandboxes, beyond what the contract claims of every kind."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from socket import socket

import pytest
from tests.prerequisites import require

from outweigh.ports.sandboxes import ForwardedPort, SandboxError
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container_engine import ContainerEngine
from outweigh.sandbox.container_sandbox import serve_container_ports
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.sandbox.sandbox_ports import listen_in_namespace
from outweigh.testing.sandbox_fixtures import EchoServer, a_sandbox_request, dial_script, run_shell

NOBODY = 65534
VISIT = """
import sys
from dataclasses import replace
from pathlib import Path
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.sandbox_fixtures import EchoServer, a_sandbox_request, dial_script, run_shell

request = replace(a_sandbox_request(Path(sys.argv[1])), doors=(EchoServer("one").door,))
with BubblewrapSandboxProvider().open(request) as sandbox:
    print(run_shell(sandbox, dial_script(sandbox.port("one"), "hi")).stdout.decode(), end="")
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder below one that everybody may enter."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


def _as_nobody(*words: str) -> "subprocess.CompletedProcess[str]":
    """Python as a user without rights; only some installations of it are readable to everybody."""
    programs = [sys.executable, f"/usr/bin/python3.{sys.version_info.minor}"]
    environment = {"PATH": os.environ["PATH"], "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for program in programs:
        command = ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups", "env", program]
        tried = subprocess.run(
            [*command, "-c", "import outweigh.ports"], env=environment, capture_output=True, check=False
        )
        if tried.returncode == 0:
            return subprocess.run([*command, *words], env=environment, capture_output=True, text=True, check=False)
    pytest.skip("no Python here that everybody may use")


@pytest.mark.skipif(os.geteuid() != 0, reason="everything else here is run without rights already")
def test_a_door_needs_no_rights(open_folder: Path) -> None:
    require(BubblewrapSandboxProvider().missing())
    if shutil.which("setpriv") is None:
        require("setpriv is not installed")

    done = _as_nobody("-c", VISIT, str(open_folder / "own"))

    assert done.stdout == "one heard hi\n", done.stderr


def test_the_network_of_everybody_is_no_place_for_a_door() -> None:
    with subprocess.Popen(["sleep", "60"]) as ordinary:
        with pytest.raises(SandboxError, match="no network of its own"):
            listen_in_namespace(ordinary.pid, [7411])
        ordinary.kill()


def test_a_process_that_is_gone_has_no_doors() -> None:
    with subprocess.Popen(["true"]) as gone:
        pass

    with pytest.raises(SandboxError, match="No such file"):
        listen_in_namespace(gone.pid, [7411])


def test_a_sandbox_that_cannot_be_built_says_so_and_does_not_blame_its_doors(tmp_path: Path) -> None:
    require(BubblewrapSandboxProvider().missing())
    porter = EchoServer("one")
    request = replace(a_sandbox_request(tmp_path), doors=(porter.door,))
    request.workspace.rmdir()

    with BubblewrapSandboxProvider().open(request) as room, pytest.raises(SandboxError, match="could not build"):
        run_shell(room, "true")

    assert not porter.is_answering


@pytest.mark.parametrize("number", [str(os.getpid()), "99999999"], ids=["of somebody", "of nobody"])
def test_a_number_that_an_engine_elsewhere_gives_is_not_taken_for_a_process_here(number: str) -> None:
    elsewhere = ContainerEngine(name="docker", command=("sh", "-c", f"echo {number}"), run_options=())

    with pytest.raises(SandboxError, match="runs it elsewhere"):
        serve_container_ports(elsewhere, "outweigh-1234", (EchoServer("one").door,), begin_seconds=0.1)


def test_no_program_that_is_started_later_inherits_a_door(tmp_path: Path) -> None:
    require(BubblewrapSandboxProvider().missing())
    seen: list[bool] = []

    @contextmanager
    def serve(listening: socket) -> Iterator[None]:
        seen.append(listening.get_inheritable())
        yield

    request = replace(a_sandbox_request(tmp_path), doors=(ForwardedPort(name="one", serve=serve),))
    with BubblewrapSandboxProvider().open(request) as room:
        run_shell(room, "true")

    assert seen == [False]


def test_two_doors_of_one_name_are_refused(tmp_path: Path) -> None:
    request = replace(a_sandbox_request(tmp_path), doors=(EchoServer("one").door, EchoServer("one").door))

    with pytest.raises(SandboxError, match="same name"), LocalSandboxProvider().open(request):
        pass


def test_a_program_inside_cannot_take_the_place_of_a_door(tmp_path: Path) -> None:
    require(BubblewrapSandboxProvider().missing())
    request = replace(a_sandbox_request(tmp_path), doors=(EchoServer("one").door,))
    bind = "import socket; socket.socket().bind(('127.0.0.1', {}))"
    with BubblewrapSandboxProvider().open(request) as room:
        port = room.port("one")
        taken = run_shell(room, f'/usr/bin/python3 -c "{bind.format(port)}"')
        answered = run_shell(room, dial_script(port, "hi"))

    assert b"in use" in taken.stderr
    assert answered.stdout == b"one heard hi\n"
