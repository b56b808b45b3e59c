"""The wheel, built once for the tests of a file."""

from pathlib import Path

import pytest
from tests.packaging.installed import CleanEnvironment, build_wheel, install_wheel


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The wheel of the working tree."""
    return build_wheel(tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="module")
def core(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    """The wheel without any extra."""
    return install_wheel(wheel, tmp_path_factory.mktemp("core") / "environment")


@pytest.fixture(scope="module")
def everything(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> CleanEnvironment:
    """The wheel with `outweigh[all]`."""
    return install_wheel(wheel, tmp_path_factory.mktemp("all") / "environment", "all")
