"""A candidate is proven where its tests fail before the change and pass after it, every time."""

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.mining.small_history import Files, install_pytest, make_history, open_proofs
from tests.prerequisites import require

from outweigh.mining.dependencies import InstalledDependencies
from outweigh.mining.proof import FailedProof, ProvenTask, prove
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

pytestmark = pytest.mark.needs_bubblewrap

BASE: Files = {
    "work.py": "def double(n):\n    return n\n",
    "tests/test_work.py": "from work import double\n\n\ndef test_zero():\n    assert double(0) == 0\n",
    "tests/test_other.py": "def test_other():\n    assert True\n",
    "conftest.py": "",
}
FIX: Files = {
    "work.py": "def double(n):\n    return n + n\n",
    "tests/test_work.py": (
        "from work import double\n\n\ndef test_zero():\n    assert double(0) == 0\n\n\n"
        "def test_two():\n    assert double(2) == 4\n"
    ),
}


@pytest.fixture(scope="session")
def with_pytest(tmp_path_factory: pytest.TempPathFactory) -> InstalledDependencies:
    return install_pytest(tmp_path_factory.mktemp("dependencies") / "pytest")


@pytest.fixture
def attempt(tmp_path: Path, with_pytest: InstalledDependencies) -> Callable[..., ProvenTask | FailedProof]:
    """Prove the change from the first files to the second ones."""
    require("bubblewrap", BubblewrapSandboxProvider().missing())

    def attempt(before: Files, after: Files, *, longest_seconds: float = 300.0) -> ProvenTask | FailedProof:
        history = make_history(tmp_path / "repository", before, after)
        with open_proofs(history, tmp_path / "scratch", with_pytest, longest_seconds=longest_seconds) as context:
            return prove(history.candidate(), context)

    return attempt


Attempt = Callable[..., ProvenTask | FailedProof]


def test_a_change_whose_test_fails_before_and_passes_after_is_proven(attempt: Attempt, tmp_path: Path) -> None:
    proven = attempt(BASE, FIX)

    assert isinstance(proven, ProvenTask)
    assert proven.fail_to_pass == ("tests.test_work::test_two",)
    assert proven.pass_to_pass == ("tests.test_other::test_other", "tests.test_work::test_zero")
    assert proven.passed_at_base == 1
    assert proven.missing_names == proven.unstable == ()
    assert proven.dependencies == "pytest"
    assert list((tmp_path / "scratch").iterdir()) == []
