"""Checks that run a command over the agent's workspace: `command`, `tests`, `pytest` and `reward`.

The agent's code runs in these commands, so it can end or skip the tests. Therefore the cases that a solved run reported
are expected of every other run: a report that is missing, or lacks one of them, is a failure.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import msgspec

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.check_outcome import CheckOutcome, command_output
from outweigh.engine.checks.check_sandbox import PYTEST_REPORT, CheckSandbox
from outweigh.engine.checks.report_outcome import outcome_by_names, outcome_by_report, read_place, require_cases
from outweigh.model.task import REPORTS_PREFIX, CommandCheck, PytestCheck, RewardCheck, TestSuiteCheck
from outweigh.ports.sandboxes import CommandEnding, CompletedCommand

REWARD_VARIABLE = "OUTWEIGH_REWARD"
REWARD_FILE = "reward.txt"
_REWARD_LIMIT = 64 * 1024
_SIGNALS = range(129, 193)
"""Exit codes of a command that a signal ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """The reward, or why there is none."""

    value: float | None
    fault: str | None


def read_reward(folder: Path) -> Reward:
    """Read what the verifier wrote into the folder for reports."""
    text = untrusted_files.read_file(folder, REWARD_FILE, _REWARD_LIMIT)
    if text is not None:
        return _reward_number(text.strip(), REWARD_FILE)
    content = untrusted_files.read_file(folder, "reward.json", _REWARD_LIMIT)
    if content is not None:
        return _reward_from_json(content)
    return _no_reward("no reward was written to the path in OUTWEIGH_REWARD, nor a reward.json beside it")


def _reward_number(text: bytes, source: str) -> Reward:
    try:
        value = float(text.decode("ascii"))
    except (UnicodeDecodeError, ValueError):
        return _no_reward(f"{source} holds {text[:40]!r}, which is not a number")
    return _in_range(value, source)


def _reward_from_json(content: bytes) -> Reward:
    try:
        raw = msgspec.json.decode(content)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as fault:
        return _no_reward(f"reward.json is not JSON: {fault}")
    if isinstance(raw, dict):
        # A verifier may write several numbers; the one called reward counts, or the only one.
        raw = raw.get("reward", next(iter(raw.values())) if len(raw) == 1 else None)
    if isinstance(raw, bool) or not isinstance(raw, int | float):
        return _no_reward("reward.json holds no single number and none called 'reward'")
    return _in_range(raw, "reward.json")


def _in_range(value: float, source: str) -> Reward:
    if not 0 <= value <= 1:
        return _no_reward(f"{source} holds {str(value)[:40]}, which is not between 0 and 1")
    return Reward(value=float(value), fault=None)


def _no_reward(fault: str) -> Reward:
    return Reward(value=None, fault=fault)


def run_command_check(check: CommandCheck, sandbox: CheckSandbox, expected: Sequence[str]) -> CheckOutcome:
    """Passed when the exit code is the expected one."""
    done = sandbox.run(check.run, check.timeout_seconds)
    early = _early_end(done, check.timeout_seconds)
    if early is not None:
        return early
    passed = done.exit_code == check.exit_code
    detail = None if passed else f"exit code {done.exit_code}, expected {check.exit_code}"
    outcome = CheckOutcome(passed=passed, detail=detail, exit_code=done.exit_code, output=command_output(done))
    return _with_pytest_cases(outcome, sandbox, expected)


def run_test_suite_check(check: TestSuiteCheck, sandbox: CheckSandbox, expected: Sequence[str]) -> CheckOutcome:
    """Passed when the runner exits with 0 and its report, if one is required, says the same.

    Where tests are named that must pass, the report alone decides.
    """
    root, path = _report_place(check, sandbox)
    if path is not None:
        # A report that exists already was not written by these tests.
        untrusted_files.remove_path(root, path)
    done = sandbox.run(check.run, check.timeout_seconds)
    early = _early_end(done, check.timeout_seconds)
    if early is not None:
        return early
    if path is not None:
        reading = read_place(root, path, check.report_format, sandbox.sandbox.workspace)
        if check.must_pass:
            return outcome_by_names(reading, done, check.must_pass)
        return outcome_by_report(reading, done, expected)
    detail = None if done.exit_code == 0 else f"exit code {done.exit_code}"
    outcome = CheckOutcome(
        passed=done.exit_code == 0, detail=detail, exit_code=done.exit_code, output=command_output(done)
    )
    return _with_pytest_cases(outcome, sandbox, expected)


def _report_place(check: TestSuiteCheck, sandbox: CheckSandbox) -> tuple[Path, str | None]:
    """The folder that a report is in, and its path there."""
    if check.report is not None and check.report.startswith(REPORTS_PREFIX):
        return sandbox.reports, check.report.removeprefix(REPORTS_PREFIX)
    return sandbox.root, check.report


def run_pytest_check(check: PytestCheck, sandbox: CheckSandbox, expected: Sequence[str]) -> CheckOutcome:
    """Passed when pytest exits with 0 and all cases in its report passed."""
    done = sandbox.run(_pytest_command(check, sandbox), check.timeout_seconds, {"PYTEST_ADDOPTS": ""})
    early = _early_end(done, check.timeout_seconds)
    if early is not None:
        return early
    return outcome_by_report(read_place(sandbox.reports, PYTEST_REPORT), done, expected)


# The workspace becomes importable when pytest and its plugins have been loaded, and before the tests are.
_PYTEST_PROGRAM = """
import sys, pytest
at = sys.argv.index("--")
class WorkspaceModules:
    @pytest.hookimpl(tryfirst=True)
    def pytest_load_initial_conftests(self):
        sys.path[:0] = sys.argv[1:at]
raise SystemExit(pytest.main(sys.argv[at + 1:], plugins=[WorkspaceModules()]))
"""


def _pytest_command(check: PytestCheck, sandbox: CheckSandbox) -> list[str]:
    """No settings, plugins or modules of the workspace are found until pytest has been set up.

    `-I` leaves out the current folder, the environment and the user's packages; unlike PYTHONSAFEPATH it does not
    reach programs that the tests start.
    """
    tests = sandbox.tests_inside
    return [
        *(check.python, "-I", "-B", "-c", _PYTEST_PROGRAM),
        *(f"{sandbox.sandbox.workspace}/{folder}" for folder in check.python_path or ["."]),
        *("--", "-q", "-p", "no:cacheprovider", f"--rootdir={tests}", f"--confcutdir={tests}"),
        f"--junitxml={sandbox.reports_inside}/{PYTEST_REPORT}",
        *([f"{tests}/{file}" for file in check.files] or [tests]),
    ]


def run_reward_check(check: RewardCheck, sandbox: CheckSandbox, expected: Sequence[str]) -> CheckOutcome:
    """Passed when the verifier wrote at least the minimum reward; one that is missing or malformed is a failure.

    So is a verifier that was killed: code that it started could have written the reward and ended it.
    """
    variables = {REWARD_VARIABLE: f"{sandbox.reports_inside}/{REWARD_FILE}"}
    done = sandbox.run(check.run, check.timeout_seconds, variables)
    early = _early_end(done, check.timeout_seconds)
    if early is not None:
        return early
    reward = read_reward(sandbox.reports)
    if done.exit_code is not None and done.exit_code in _SIGNALS:
        reward = _no_reward(f"the verifier was killed by signal {done.exit_code - _SIGNALS[0] + 1}")
    if reward.value is None:
        detail = f"{reward.fault}; the verifier ended with exit code {done.exit_code}"
        return CheckOutcome(passed=False, detail=detail, exit_code=done.exit_code, output=command_output(done))
    outcome = CheckOutcome(
        passed=reward.value >= check.minimum,
        detail=f"reward {reward.value:g}, at least {check.minimum:g} passes",
        exit_code=done.exit_code,
        output=command_output(done),
    )
    return _with_pytest_cases(outcome, sandbox, expected)


def _early_end(done: CompletedCommand, timeout_seconds: float) -> CheckOutcome | None:
    if done.ending is CommandEnding.TIMED_OUT:
        return CheckOutcome(passed=False, detail=f"not done after {timeout_seconds:g} s", output=command_output(done))
    if done.ending is CommandEnding.CANCELLED:
        return CheckOutcome(passed=None, detail="cancelled before it had ended", output=command_output(done))
    if done.exit_code is None:
        return CheckOutcome(passed=False, detail="ended without an exit code", output=command_output(done))
    return None


def _with_pytest_cases(outcome: CheckOutcome, sandbox: CheckSandbox, expected: Sequence[str]) -> CheckOutcome:
    """The outcome with the cases that pytest reported, where the command ran it; expected ones must be there."""
    cases = read_place(sandbox.reports, PYTEST_REPORT).cases
    return require_cases(replace(outcome, case_names=None if cases is None else cases.names), expected)
