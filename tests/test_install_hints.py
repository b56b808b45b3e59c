"""What to type to get an extra, for every way in which outweigh can be installed."""

import re
from importlib.metadata import metadata

import pytest

from outweigh.errors import _installer, install_command

EXTRAS = [extra for extra in metadata("outweigh").get_all("Provides-Extra") or () if extra not in ("dev", "site")]


@pytest.mark.parametrize("extra", EXTRAS)
def test_a_hint_names_packages_and_never_outweigh_itself_which_is_not_published(extra: str) -> None:
    command = install_command(extra)

    packages = re.findall(r"'([^']+)'", command)
    assert packages
    assert not [package for package in packages if package.startswith("outweigh")]


@pytest.mark.parametrize(
    ("prefix", "has_pip", "command"),
    [
        ("/home/a/.local/share/uv/tools/outweigh", False, 'uv pip install --python "$(uv tool dir)/outweigh"'),
        ("/home/a/.local/share/pipx/venvs/outweigh", True, "pipx inject outweigh"),
        ("/home/a/project/.venv", False, "uv pip install"),
        ("/usr", True, "pip install"),
    ],
)
def test_the_command_fits_the_way_in_which_outweigh_is_installed(prefix: str, has_pip: bool, command: str) -> None:
    assert _installer(prefix, has_pip=has_pip) == command
