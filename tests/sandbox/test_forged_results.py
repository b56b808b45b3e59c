"""A program that a check starts cannot make the check pass by reaching into the process that decides."""

from pathlib import Path

import pytest
from tests.prerequisites import require
from tests.sandbox.forgeries import FORGERIES, forge

from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider
from outweigh.sandbox.local import LocalSandboxProvider
from outweigh.testing.sandbox_fixtures import a_sandbox_request

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
