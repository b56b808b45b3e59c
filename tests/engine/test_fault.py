"""Whose fault it is that an attempt broke, piece by piece; whole attempts are in test_attempt.py."""

import errno
from pathlib import Path

import pytest
from tests.engine.fake_sandboxes import BrokenSandboxes, Copies, FailingSandboxes, plain_sandbox_request

from outweigh.engine.fault import is_disk_full, sandbox_works, took_the_disk
from outweigh.ports.sandboxes import SandboxError, SandboxProvider
from outweigh.sandbox.local import LocalSandboxProvider


def a_fault(number: int, *, wrapped: bool) -> Exception:
    cause = OSError(number, "broken")
    if not wrapped:
        return cause
    fault = SandboxError("the changes could not be written down")
    fault.__cause__ = cause
    return fault


@pytest.mark.parametrize("wrapped", [True, False])
@pytest.mark.parametrize(("number", "full"), [(errno.ENOSPC, True), (errno.EDQUOT, True), (errno.EACCES, False)])
def test_a_full_disk_is_recognised_also_as_the_cause_of_another_failure(number: int, full: bool, wrapped: bool) -> None:
    assert is_disk_full(a_fault(number, wrapped=wrapped)) is full


@pytest.mark.parametrize(("taken", "filled"), [(24, False), (25, False), (26, True)])
def test_a_run_has_filled_a_disk_if_it_took_more_than_a_quarter_of_what_was_free(taken: int, filled: bool) -> None:
    assert took_the_disk(taken, 100) is filled


class TestTheEnginesOwnTry:
    @pytest.fixture
    def folder(self, tmp_path: Path) -> Path:
        (tmp_path / "pristine").mkdir()
        (tmp_path / "try").mkdir()
        return tmp_path

    @staticmethod
    def works(provider: SandboxProvider, folder: Path, *, cancelled: bool = False) -> bool:
        request = plain_sandbox_request(folder, folder / "home")
        if cancelled:
            request.cancel.set()
        return sandbox_works(provider, Copies(), request, folder / "pristine", folder / "try")

    def test_works_where_a_command_runs(self, folder: Path) -> None:
        assert self.works(LocalSandboxProvider(), folder)

    def test_is_repeated_because_what_the_agent_left_may_still_be_in_the_way(self, folder: Path) -> None:
        assert self.works(FailingSandboxes(works_for=0, fails_for=2), folder)

    def test_fails_where_no_sandbox_opens(self, folder: Path) -> None:
        assert not self.works(BrokenSandboxes(), folder)

    def test_fails_where_the_engine_is_being_stopped(self, folder: Path) -> None:
        assert not self.works(LocalSandboxProvider(), folder, cancelled=True)
