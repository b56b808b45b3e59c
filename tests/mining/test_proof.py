"""A candidate is proven where its tests fail before the change and pass after it, every time."""

import os
import shutil
import subprocess
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.mining.small_history import Files, PytestRunner, install_pytest, make_history, open_proofs
from tests.prerequisites import require

from outweigh.engine.checks.check_sandbox import TESTS_MOUNT
from outweigh.mining.candidate import Candidate
from outweigh.mining.dependencies import DependencyError, InstalledDependencies, MissingToolError
from outweigh.mining.proof import FailedProof, ProvenTask, prove
from outweigh.mining.proof_fault import ProofFault
from outweigh.mining.runners.detect import detect_runner
from outweigh.mining.task_writer import write_task_folder
from outweigh.mining.time_limits import GreenTimes, ProofLimits
from outweigh.mining.try_candidate import CandidateTries
from outweigh.ports.sandboxes import Sandbox, SandboxRequest
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

    def attempt(before: Files, after: Files, **settings: Any) -> ProvenTask | FailedProof:
        history = make_history(tmp_path / "repository", before, after)
        wanted = {"dependencies": with_pytest, **settings}
        with open_proofs(history, tmp_path / "scratch", **wanted) as context:
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


def test_a_name_that_the_tests_need_and_the_change_adds_is_stated(attempt: Attempt) -> None:
    after = {
        "work.py": "def double(n):\n    return n\n\n\ndef triple(n):\n    return 3 * n\n",
        "tests/test_work.py": "from work import double, triple\n\n\ndef test_three():\n    assert triple(1) == 3\n",
    }

    proven = attempt(BASE, after)

    assert isinstance(proven, ProvenTask)
    assert proven.fail_to_pass == ("tests.test_work::test_three",)
    assert proven.missing_names == ("triple",)
    assert proven.passed_at_base == 0


@pytest.mark.parametrize(
    ("after", "fault", "named"),
    [
        (
            {
                "work.py": "def double(n):\n    return n + n\n",
                "numbers.txt": "4",
                "tests/test_work.py": "text = open('numbers.txt').read()\n\n\ndef test_four():\n    assert text\n",
            },
            ProofFault.WRONG_RED,
            "numbers.txt",
        ),
        (
            {"work.py": "def double(n):\n    return n + n\n", "tests/test_work.py": "def test_new():\n    pass\n"},
            ProofFault.BASE_NOT_RED,
            "tests.test_work::test_new",
        ),
        (
            {"work.py": "def double(n):\n    return 0\n", "tests/test_work.py": FIX["tests/test_work.py"]},
            ProofFault.FIX_NOT_GREEN,
            "tests.test_work::test_two",
        ),
    ],
)
def test_what_cannot_be_proven_has_a_reason_that_names_it(
    attempt: Attempt, after: Files, fault: ProofFault, named: str
) -> None:
    failed = attempt(BASE, after)

    assert isinstance(failed, FailedProof)
    assert failed.fault is fault
    assert named in failed.detail


HANGS = "import time\nfrom work import double\n\n\ndef test_two():\n    while double(2) != 4:\n        time.sleep(1)\n"


def test_a_run_that_is_stopped_at_its_limit_is_never_red(attempt: Attempt) -> None:
    limits = ProofLimits(least_seconds=1.0, times_measured=1.5)

    failed = attempt(BASE, {**FIX, "tests/test_work.py": HANGS}, limits=limits)

    assert isinstance(failed, FailedProof)
    assert failed.fault is ProofFault.TIMED_OUT
    assert "before the change" in failed.detail


def test_tests_that_never_end_after_the_change_are_stopped(attempt: Attempt) -> None:
    failed = attempt(
        BASE, {"work.py": "double = int\n", "tests/test_work.py": HANGS}, limits=ProofLimits(longest_seconds=1)
    )

    assert isinstance(failed, FailedProof)
    assert failed.fault is ProofFault.TIMED_OUT
    assert "after the change" in failed.detail


def test_tests_that_take_much_longer_than_others_of_their_history_are_given_up(attempt: Attempt) -> None:
    failed = attempt(
        BASE,
        {"work.py": "double = int\n", "tests/test_work.py": HANGS},
        limits=ProofLimits(least_seconds=1.0),
        green_times=GreenTimes([0.1, 0.1, 0.1]),
    )

    assert isinstance(failed, FailedProof)
    assert (failed.fault, failed.detail) == (ProofFault.TIMED_OUT, "not done after 2 s after the change")


class CountingSandboxes:
    """bubblewrap with a file that says how many sandboxes with tests were opened before."""

    def __init__(self, folder: Path) -> None:
        self._real = BubblewrapSandboxProvider()
        self._file = folder / "count"
        self._count = 0
        self.name = self._real.name
        self.missing, self.sweep = self._real.missing, self._real.sweep

    def open(self, request: SandboxRequest) -> AbstractContextManager[Sandbox]:
        if any(mount.target == TESTS_MOUNT for mount in request.mounts):
            self._count += 1
            self._file.write_text(str(self._count))
        return self._real.open(request)


LAST_RUN = 6
"""Three times green and red."""


@pytest.mark.parametrize(("stable_test", "outcome"), [(True, ProvenTask), (False, FailedProof)])
def test_tests_that_differ_between_repeats_are_named(
    attempt: Attempt, tmp_path: Path, stable_test: bool, outcome: type
) -> None:
    shown = tmp_path / "shown"
    shown.mkdir()
    flaky = (
        "from pathlib import Path\nfrom work import double\n\n\ndef test_flaky():\n"
        f"    assert double(2) == 4\n    assert int(Path('{shown}/count').read_text()) != {LAST_RUN}\n"
    )
    more = "\n\ndef test_two():\n    assert double(2) == 4\n" if stable_test else ""

    found = attempt(
        BASE, {**FIX, "tests/test_work.py": flaky + more}, sandboxes=CountingSandboxes(shown), read_only=[str(shown)]
    )

    assert isinstance(found, outcome)
    assert (shown / "count").read_text() == str(LAST_RUN)
    if isinstance(found, ProvenTask):
        assert found.unstable == ("tests.test_work::test_flaky",)
        assert found.fail_to_pass == ("tests.test_work::test_two",)
        assert found.draft.must_pass == (*found.fail_to_pass, *found.pass_to_pass)
    else:
        assert (found.fault, found.detail) == (ProofFault.FLAKY, "'tests.test_work::test_flaky'")


@pytest.mark.parametrize(
    ("source", "test", "fault", "runs"),
    [
        ("def double(n):\n    return 0\n", "def test_two():\n    assert 0\n", ProofFault.FIX_NOT_GREEN, "1"),
        ("def double(n):\n    return n + n\n", "def test_two():\n    pass\n", ProofFault.BASE_NOT_RED, "2"),
    ],
)
def test_a_proof_ends_with_the_run_that_decides(
    attempt: Attempt, tmp_path: Path, source: str, test: str, fault: ProofFault, runs: str
) -> None:
    before = {path: content for path, content in BASE.items() if path != "tests/test_other.py"}
    after = {"work.py": source, "tests/test_work.py": test}

    failed = attempt(before, after, sandboxes=CountingSandboxes(tmp_path))

    assert isinstance(failed, FailedProof)
    assert (failed.fault, failed.detail) == (fault, "'tests.test_work::test_two'")
    assert (tmp_path / "count").read_text() == runs


def test_a_red_that_turns_green_by_itself_is_flaky(attempt: Attempt, tmp_path: Path) -> None:
    shown = tmp_path / "shown"
    shown.mkdir()
    sometimes = (
        "from pathlib import Path\nfrom work import double\n\n\ndef test_flaky():\n"
        f"    assert double(2) == 4 or int(Path('{shown}/count').read_text()) == 4\n"
    )

    found = attempt(
        BASE, {**FIX, "tests/test_work.py": sometimes}, sandboxes=CountingSandboxes(shown), read_only=[str(shown)]
    )

    assert isinstance(found, FailedProof)
    assert (found.fault, found.detail) == (ProofFault.FLAKY, "'tests.test_work::test_flaky'")


class ExitCodeRunner(PytestRunner):
    """pytest without a report."""

    report_format = None  # type: ignore[assignment]


def test_without_a_report_three_exit_codes_each_way_tell(attempt: Attempt) -> None:
    proven = attempt(BASE, FIX, runner=ExitCodeRunner())

    assert isinstance(proven, ProvenTask)
    assert proven.fail_to_pass == proven.draft.must_pass == ()


def test_later_code_of_the_project_in_its_dependencies_is_a_leak(
    attempt: Attempt, tmp_path: Path, with_pytest: InstalledDependencies
) -> None:
    copied = tmp_path / "with-copy"
    shutil.copytree(with_pytest.folder, copied, symlinks=True)
    lines = (
        "def double(n):\n    return twice(n)\n\n\ndef twice(n):\n"
        "    if not isinstance(n, int):\n        raise TypeError('numbers only')\n    return n + n\n"
    )
    (copied / "bundled.py").write_text(f"# a tool that brings the project along\n{lines}")

    failed = attempt(BASE, {**FIX, "work.py": lines}, dependencies=replace(with_pytest, folder=copied))

    assert isinstance(failed, FailedProof)
    assert failed.fault is ProofFault.LEAK
    assert "/opt/dependencies/bundled.py has lines of the change" in failed.detail


def test_dependencies_that_cannot_be_installed_are_a_reason(tmp_path: Path) -> None:
    def fail(_candidate: Candidate, base: Path) -> InstalledDependencies:
        assert (base / "work.py").read_text() == BASE["work.py"]
        raise DependencyError("there is no such package")

    history = make_history(tmp_path / "repository", BASE, FIX)
    with open_proofs(history, tmp_path / "scratch", None) as context:
        failed = prove(history.candidate(), replace(context, install=fail))
        unknown = prove(history.candidate(), replace(context, find_runner=lambda _: None))

    assert isinstance(failed, FailedProof)
    assert (failed.fault, failed.detail) == (ProofFault.SETUP_FAILED, "there is no such package")
    assert isinstance(unknown, FailedProof)
    assert unknown.fault is ProofFault.NO_RUNNER


def test_a_missing_program_of_the_machine_is_not_the_fault_of_the_candidate(tmp_path: Path) -> None:
    def fail(_candidate: Candidate, _base: Path) -> InstalledDependencies:
        raise MissingToolError("uv is not installed")

    history = make_history(tmp_path / "repository", BASE, FIX)
    with open_proofs(history, tmp_path / "scratch", None) as context:
        tries = CandidateTries(
            proof=replace(context, install=fail), suite=tmp_path / "mined", settings="as-usual", families={}
        )
        found = tries.attempt(history.candidate())

    assert found is not None
    assert (found.reason, found.detail) == (ProofFault.TOOL_MISSING.value, "uv is not installed")
    assert found.may_be_retried


def test_eight_proofs_at_once_give_the_same_results_as_one(tmp_path: Path, with_pytest: InstalledDependencies) -> None:
    right = make_history(tmp_path / "right", BASE, FIX)
    vacuous = make_history(
        tmp_path / "vacuous", BASE, {"work.py": "double = int\n", "tests/test_work.py": "def test_n(): ...\n"}
    )
    with (
        open_proofs(right, tmp_path / "scratch", with_pytest) as proving,
        open_proofs(vacuous, tmp_path / "scratch", with_pytest) as refusing,
        ThreadPoolExecutor(8) as threads,
    ):
        tried = [threads.submit(prove, right.candidate(), proving) for _ in range(4)]
        refused = [threads.submit(prove, vacuous.candidate(), refusing) for _ in range(4)]
        proven, failed = [each.result() for each in tried], [each.result() for each in refused]

    assert [each.fail_to_pass for each in proven if isinstance(each, ProvenTask)] == [
        ("tests.test_work::test_two",)
    ] * 4
    assert [each.fault for each in failed if isinstance(each, FailedProof)] == [ProofFault.BASE_NOT_RED] * 4


JAVASCRIPT: Files = {
    "package.json": '{"name": "work", "scripts": {"test": "node --test test/"}}\n',
    "work.js": "exports.double = (n) => n;\n",
    "test/work.test.js": (
        "const test = require('node:test');\nconst assert = require('node:assert');\n"
        "const { double } = require('../work.js');\n\ntest('zero', () => assert.equal(double(0), 0));\n"
    ),
}


@pytest.mark.skipif(not Path("/usr/bin/node").exists(), reason="there is no node for sandboxes")
def test_a_change_is_proven_by_the_tests_of_node(attempt: Attempt) -> None:
    more = "test('two', () => assert.equal(double(2), 4));\n"
    after = {
        "work.js": "exports.double = (n) => n + n;\n",
        "test/work.test.js": f"{JAVASCRIPT['test/work.test.js']}{more}",
    }
    runner = detect_runner(list(JAVASCRIPT), lambda path: (JAVASCRIPT.get(path) or "").encode(), ["test/work.test.js"])

    proven = attempt(JAVASCRIPT, after, runner=runner, dependencies=None)

    assert isinstance(proven, ProvenTask)
    assert [name.rpartition("::")[2] for name in proven.fail_to_pass] == ["two"]
    assert [name.rpartition("::")[2] for name in proven.pass_to_pass] == ["zero"]


def test_what_an_agent_makes_of_the_settings_and_other_tests_does_not_count(attempt: Attempt, tmp_path: Path) -> None:
    """The script of the check puts them back, and removes settings of runners that the base does not have."""
    manifest = "[tool.pytest.ini_options]\n"
    inner = {"inner/setup.cfg": "[metadata]\n", "inner/tox.ini": "[pytest]\n"}
    proven = attempt(
        {**BASE, "pyproject.toml": manifest, "tests/numbers.py": "TWO = 2\n", **inner},
        {**FIX, "inner/setup.cfg": "[metadata]\nname = work\n"},
    )
    assert isinstance(proven, ProvenTask)
    task, workspace = tmp_path / "task", tmp_path / "workspace"
    task.mkdir()
    draft = replace(proven.draft, command="true", dependencies=None)
    write_task_folder(task, draft, "0" * 40, tmp_path / "workspaces.git", "Do it.")
    for path, content in {
        "conftest.py": "def pytest_runtest_makereport(): ...\n",
        "tests/conftest.py": "import os\nos._exit(0)\n",
        "tests/test_other.py": "def test_other(): pass\n",
        "tests/test_work.py": "",
        "pyproject.toml": f"{manifest}addopts = '-p forged'\n",
        "pytest.ini": "[pytest]\naddopts = -p forged\n",
        "inner/setup.cfg": "[tool:pytest]\naddopts = -p forged\n",
        "pytest.py": "raise SystemExit(0)\n",
        "tests/numbers.py": "TWO = 0\n",
        "inner/tox.ini": "[pytest]\naddopts = -p forged\n",
        "tox.ini": "[pytest]\naddopts = -p forged\n",
        "tests/setup.cfg": "[tool:pytest]\naddopts = -p forged\n",
        "tests/pyproject.toml": "[tool.pytest.ini_options]\naddopts = '-p forged'\n",
        "jest.config.js": "module.exports = {reporters: ['./forged']}\n",
        "tests/.mocharc.json": "{}\n",
        "node_modules/tool/jest.config.js": "module.exports = {}\n",
        "other/setup.cfg": "[metadata]\nname = other\n",
        "work.py": "def double(n):\n    return 2 * n\n",
    }.items():
        (workspace / path).parent.mkdir(parents=True, exist_ok=True)
        (workspace / path).write_text(content)

    subprocess.run(
        ["sh", task / "tests/run.sh"],
        cwd=workspace,
        env={"PATH": os.environ["PATH"], "OUTWEIGH_TESTS": str(task / "tests")},
        check=True,
    )

    assert (workspace / "conftest.py").read_text() == BASE["conftest.py"]
    assert not (workspace / "tests/conftest.py").exists()
    assert (workspace / "tests/test_other.py").read_text() == BASE["tests/test_other.py"]
    assert (workspace / "tests/test_work.py").read_text() == FIX["tests/test_work.py"]
    assert (workspace / "work.py").read_text() == "def double(n):\n    return 2 * n\n"
    assert (workspace / "pyproject.toml").read_text() == manifest
    assert (workspace / "inner/tox.ini").read_text() == "[pytest]\n"
    assert not (workspace / "pytest.ini").exists()
    planted = ("tox.ini", "tests/setup.cfg", "tests/pyproject.toml", "jest.config.js", "tests/.mocharc.json")
    assert [path for path in planted if (workspace / path).exists()] == []
    assert (workspace / "node_modules/tool/jest.config.js").exists(), "what a package brings along is its own"
    assert (workspace / "other/setup.cfg").exists(), "no test is below it, so it may be a part of the work"
    assert (workspace / "inner/setup.cfg").read_text() == "[metadata]\nname = work\n", "it is as the change has it"
    assert not (workspace / "pytest.py").exists(), "it would be run in place of the runner"
    assert (workspace / "tests/numbers.py").read_text() == "TWO = 2\n"
