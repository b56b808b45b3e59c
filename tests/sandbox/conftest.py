"""Fixtures of the tests of sandboxes."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.prerequisites import require
from tests.sandbox.container_fixtures import a_request, busybox_image, python_folders, working_engine

from outweigh.ports.sandboxes import Sandbox
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.container import ContainerSandboxProvider
from outweigh.testing.sandbox_fixtures import a_sandbox_request


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder that every user may enter."""
    folder = Path(tempfile.mkdtemp(dir="/tmp"))
    folder.chmod(0o777)
    yield folder
    shutil.rmtree(folder)


@pytest.fixture(
    params=[
        pytest.param("bubblewrap", marks=pytest.mark.needs_bubblewrap),
        pytest.param("container", marks=pytest.mark.needs_container),
    ]
)
def sandbox(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Sandbox]:
    """Each of the two isolated sandboxes, with the machine's Python inside."""
    if request.param == "bubblewrap":
        require("bubblewrap", BubblewrapSandboxProvider().missing())
        with BubblewrapSandboxProvider().open(a_sandbox_request(tmp_path)) as sandbox:
            yield sandbox
        return
    provider = ContainerSandboxProvider()
    require("container", provider.missing())
    with (
        busybox_image(working_engine()) as image,
        provider.open(a_request(tmp_path, image, read_only=python_folders())) as sandbox,
    ):
        yield sandbox
