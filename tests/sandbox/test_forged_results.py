"""A program that a check starts cannot make the check pass by reaching into the process that decides."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.prerequisites import needs, require
from tests.sandbox.container_fixtures import HOST_PYTHON, a_request, busybox_image, python_folders, working_engine
from tests.sandbox.forgeries import FORGERIES, forge
from tests.sandbox.unprivileged import as_nobody

from outweigh.ports.sandboxes import Sandbox
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.testing.sandbox_fixtures import a_sandbox_request, run_shell

HONEST_FAILURE = 7
_OF_PARENT = [name for name in FORGERIES if "process 1" not in name]


def _yama_restricts() -> bool:
    setting = Path("/proc/sys/kernel/yama/ptrace_scope")
    return setting.exists() and setting.read_text().strip() != "0"


@pytest.mark.skipif(_yama_restricts(), reason="this kernel keeps all programs from their parents")
@pytest.mark.parametrize("name", _OF_PARENT)
def test_the_forgery_works_where_nothing_is_isolated(tmp_path: Path, name: str) -> None:
    with LocalSandboxProvider().open(a_sandbox_request(tmp_path)) as sandbox:
        assert forge(sandbox, name).exit_code == 0


@pytest.mark.needs_bubblewrap
@pytest.mark.parametrize("name", FORGERIES)
def test_the_forgery_fails_in_bubblewrap(tmp_path: Path, name: str) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    with BubblewrapSandboxProvider().open(a_sandbox_request(tmp_path)) as sandbox:
        assert forge(sandbox, name).exit_code == HONEST_FAILURE


@pytest.fixture(scope="module")
@needs("container")
def container(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sandbox]:
    provider = ContainerSandboxProvider()
    require("container", provider.missing())
    with (
        busybox_image(working_engine()) as image,
        provider.open(a_request(tmp_path_factory.mktemp("container"), image, read_only=python_folders())) as sandbox,
    ):
        yield sandbox


@pytest.mark.parametrize("name", FORGERIES)
def test_the_forgery_fails_in_a_container(container: Sandbox, name: str) -> None:
    assert forge(container, name, python=f"{HOST_PYTHON} -I").exit_code == HONEST_FAILURE


def test_proc_of_a_container_is_read_only(container: Sandbox) -> None:
    done = run_shell(container, "(exec 3>>/proc/self/mem); grep ' /proc ' /proc/self/mountinfo", PATH="/bin")

    assert b"ead-only" in done.stderr
    assert b" / /proc ro," in done.stdout


_FORGE_ALL = """
import sys
from pathlib import Path
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.testing.sandbox_fixtures import a_sandbox_request
from tests.sandbox.forgeries import FORGERIES, forge

request = a_sandbox_request(Path(sys.argv[1]))
with BubblewrapSandboxProvider().open(request) as sandbox:
    print(*(forge(sandbox, name).exit_code for name in FORGERIES))
"""


@pytest.mark.skipif(os.geteuid() != 0, reason="the other tests already run unprivileged")
@pytest.mark.needs_bubblewrap
def test_without_privileges_forgeries_fail_too(open_folder: Path) -> None:
    require("bubblewrap", BubblewrapSandboxProvider().missing())

    done = as_nobody("-c", _FORGE_ALL, str(open_folder / "own"))

    assert done.stdout.split() == [str(HONEST_FAILURE)] * len(FORGERIES), done.stderr
