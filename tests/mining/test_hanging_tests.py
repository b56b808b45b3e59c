"""A test that never ends costs little: its silence ends the run, and so does what it was seen to hang in."""

from dataclasses import replace
from pathlib import Path

import pytest
from tests.mining.small_history import Files, PytestRunner, install_pytest, make_history, open_proofs
from tests.prerequisites import require

from outweigh.mining.dependencies import InstalledDependencies
from outweigh.mining.proof import FailedProof, ProvenTask, prove, was_stopped_before
from outweigh.mining.proof_fault import ProofFault
from outweigh.mining.runners.detect import RUNNERS
from outweigh.mining.runners.runner import Runner
from outweigh.mining.time_limits import ProofLimits
from outweigh.sandbox.bubblewrap import BubblewrapSandboxProvider

pytestmark = pytest.mark.needs_bubblewrap

BASE: Files = {
    "work.py": "def double(n):\n    return n\n",
    "tests/test_work.py": "from work import double\n\n\ndef test_zero():\n    assert double(0) == 0\n",
    "conftest.py": "",
}
WAITS = (
    "import time\nfrom work import double\n\n\ndef test_zero():\n    assert double(0) == 0\n\n\n"
    "def test_two():\n    while double(2) != 4:\n        time.sleep(0.1)\n"
)
SOON = ProofLimits(
    longest_seconds=600, least_seconds=600, first_silent_seconds=600, least_silent_seconds=1, times_silent=1.5
)


class SilentRunner(PytestRunner):
    """pytest as if it printed nothing while it runs."""

    shows_progress = False


@pytest.fixture(scope="module")
def with_pytest(tmp_path_factory: pytest.TempPathFactory) -> InstalledDependencies:
    return install_pytest(tmp_path_factory.mktemp("dependencies") / "pytest")


def attempt(
    folder: Path, after: Files, dependencies: InstalledDependencies, limits: ProofLimits, runner: Runner | None = None
) -> ProvenTask | FailedProof:
    require("bubblewrap", BubblewrapSandboxProvider().missing())
    history = make_history(folder / "repository", BASE, after)
    with open_proofs(history, folder / "scratch", dependencies, runner, limits) as context:
        return prove(history.candidate(), context)


def test_a_test_that_hangs_before_the_change_is_stopped_long_before_the_limit_of_the_run(
    tmp_path: Path, with_pytest: InstalledDependencies
) -> None:
    after = {"work.py": "def double(n):\n    return n + n\n", "tests/test_work.py": WAITS}

    failed = attempt(tmp_path, after, with_pytest, SOON)

    assert isinstance(failed, FailedProof)
    assert failed.fault is ProofFault.TIMED_OUT
    assert failed.detail.startswith("no test ended for ")
    assert failed.detail.endswith(" s before the change")


def test_a_test_that_hangs_after_the_change_is_stopped_long_before_the_limit_of_the_run(
    tmp_path: Path, with_pytest: InstalledDependencies
) -> None:
    after = {"work.py": "double = int\n", "tests/test_work.py": WAITS}

    failed = attempt(tmp_path, after, with_pytest, replace(SOON, first_silent_seconds=1))

    assert isinstance(failed, FailedProof)
    assert (failed.fault, failed.detail) == (ProofFault.TIMED_OUT, "no test ended for 1 s after the change")


def test_a_runner_that_says_nothing_while_it_runs_is_not_stopped_for_its_silence(
    tmp_path: Path, with_pytest: InstalledDependencies
) -> None:
    after = {
        "work.py": "def double(n):\n    return n + n\n",
        "tests/test_work.py": "import time\nfrom work import double\n\n\ndef test_two():\n    time.sleep(1)\n"
        "    assert double(2) == 4\n",
    }
    impatient = replace(SOON, first_silent_seconds=0.1, least_silent_seconds=0.1, times_silent=0.1)

    proven = attempt(tmp_path, after, with_pytest, impatient, SilentRunner())

    assert isinstance(proven, ProvenTask)


def test_pytest_is_known_to_print_after_every_test() -> None:
    assert [runner.name for runner in RUNNERS if runner.shows_progress] == ["pytest"]


@pytest.mark.parametrize(
    ("output", "before"),
    [
        ("tests/test_hidden.py ..", True),
        ("tests/test_hidden.py ....\ntests/test_other.py .", False),
        ("", False),
        ("collected 3 items", False),
    ],
)
def test_other_tests_are_only_left_out_where_they_may_be_what_takes_so_long(output: str, before: bool) -> None:
    assert was_stopped_before(output, ["tests/test_hidden.py"], ["tests/test_other.py"]) is before


def test_how_long_a_run_may_be_silent_follows_the_run_after_the_change() -> None:
    limits = ProofLimits(least_silent_seconds=60, times_silent=8)

    assert [limits.silence_after(seconds) for seconds in (0.5, 10.0)] == [60.0, 80.0]
