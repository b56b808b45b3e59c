"""A change that may be promoted, and a forge to promote it to."""

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.cli.promote.promotable import Promotable
from tests.loopback_forge import TOKEN, LoopbackForge, loopback_forge


@pytest.fixture(autouse=True)
def _surroundings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in [name for name in os.environ if name.startswith(("GIT_", "GH_", "GITHUB_", "CI_"))]:
        monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    monkeypatch.setenv("GITHUB_TOKEN", TOKEN)


@pytest.fixture(scope="session")
def _untested(tmp_path_factory: pytest.TempPathFactory) -> Promotable:
    return Promotable.made_in(tmp_path_factory.mktemp("untested"))


@pytest.fixture(scope="session")
def _tested(_untested: Promotable, tmp_path_factory: pytest.TempPathFactory) -> Promotable:
    return _untested.copied(tmp_path_factory.mktemp("tested")).test()


@pytest.fixture
def untested(_untested: Promotable, tmp_path: Path) -> Promotable:
    """A change without any evidence."""
    return _untested.copied(tmp_path)


@pytest.fixture
def change(_tested: Promotable, tmp_path: Path) -> Promotable:
    """Improved, complete, real, unchanged."""
    return _tested.copied(tmp_path)


@pytest.fixture
def forge() -> Iterator[LoopbackForge]:
    with loopback_forge() as found:
        yield found
