"""Checks that run something: a command, a test suite, a verifier that writes a reward.

All three run what the agent made. When one of them does not end in time it has *failed*: code that hangs is an ordinary
way to be wrong, and calling it unknown would take such runs out of the count. That the check itself ends in time is
what preflight shows with the reference solution.
"""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from outweigh.ports.sandboxes import Completed, Ending, Sandbox
from outweigh.run import confined
from outweigh.run.outcome import Outcome, bounded
from outweigh.run.reports import REPORT_LIMIT, Cases, UnreadableReportError, read_report
from outweigh.run.rewards import read_reward
from outweigh.task.check import Command, CommandCheck, RewardCheck, TestSuiteCheck

TESTS_FOLDER = ".outweigh-tests"
TESTS_VARIABLE = "OUTWEIGH_TESTS"
REWARD_VARIABLE = "OUTWEIGH_REWARD"


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """Where checks run: a sandbox over the agent's workspace, the task's own tests, and a clean environment."""

    sandbox: Sandbox
    tests: Path | None
    environment: Mapping[str, str]

    @property
    def root(self) -> Path:
        """The workspace as seen from outside."""
        return self.sandbox.host_workspace


def run_command(check: CommandCheck, bench: Bench) -> Outcome:
    """Passed when the exit code is the expected one."""
    done = _execute(bench, check.run, check.timeout_seconds)
    early = _early_end(done, check.timeout_seconds)
    if early is not None:
        return early
    passed = done.exit_code == check.exit_code
    detail = None if passed else f"exit code {done.exit_code}, expected {check.exit_code}"
    return Outcome(passed=passed, detail=detail, exit_code=done.exit_code, output=_output(done))


def run_tests(check: TestSuiteCheck, bench: Bench) -> Outcome:
    """Passed when the runner says so and, where it must leave a report, the report says so too."""
    if check.report is not None:
        # Whatever is there now was not written by these tests.
        confined.remove(bench.root, check.report)
    done = _execute(bench, check.run, check.timeout_seconds)
    early = _early_end(done, check.timeout_seconds)
    if early is not None:
        return early
    if check.report is None:
        detail = None if done.exit_code == 0 else f"exit code {done.exit_code}"
        return Outcome(passed=done.exit_code == 0, detail=detail, exit_code=done.exit_code, output=_output(done))
    return _by_report(check.report, done, bench)


def run_reward(check: RewardCheck, bench: Bench) -> Outcome:
    """Passed when the verifier wrote a reward of at least the minimum, into a folder nobody knew before."""
    folder = f".outweigh-verifier-{secrets.token_hex(8)}"
    confined.lay(bench.root, folder, None)
    try:
        path = f"{bench.sandbox.workspace}/{folder}/reward.txt"
        done = _execute(bench, check.run, check.timeout_seconds, {REWARD_VARIABLE: path})
        early = _early_end(done, check.timeout_seconds)
        if early is not None:
            return early
        reward = read_reward(bench.root, folder)
    finally:
        confined.remove(bench.root, folder)
    if reward.value is None:
        detail = f"{reward.fault}; the verifier ended with exit code {done.exit_code}"
        return Outcome(passed=None, detail=detail, exit_code=done.exit_code, output=_output(done))
    return Outcome(
        passed=reward.value >= check.minimum,
        detail=f"reward {reward.value:g}, at least {check.minimum:g} passes",
        exit_code=done.exit_code,
        output=_output(done),
    )


def _execute(
    bench: Bench, command: Command, timeout_seconds: float, variables: Mapping[str, str] | None = None
) -> Completed:
    """Run over a clean copy of the tests: neither the agent nor an earlier check has had a hand in it."""
    environment = {**bench.environment, **(variables or {})}
    if bench.tests is None:
        confined.remove(bench.root, TESTS_FOLDER)
    else:
        confined.lay(bench.root, TESTS_FOLDER, bench.tests)
        environment[TESTS_VARIABLE] = f"{bench.sandbox.workspace}/{TESTS_FOLDER}"
    return bench.sandbox.exec(_words(command), environment=environment, timeout_seconds=timeout_seconds)


def _words(command: Command) -> list[str]:
    """A program that the agent failed to make is exit code 127 in every sandbox."""
    return ["sh", "-c", command] if isinstance(command, str) else list(command)


def _early_end(done: Completed, timeout_seconds: float) -> Outcome | None:
    if done.ending is Ending.TIMED_OUT:
        return Outcome(passed=False, detail=f"not done after {timeout_seconds:g} s", output=_output(done))
    if done.ending is Ending.CANCELLED:
        return Outcome(passed=None, detail="cancelled before it had ended", output=_output(done))
    if done.exit_code is None:
        return Outcome(passed=None, detail="ended without an exit code", output=_output(done))
    return None


def _by_report(path: str, done: Completed, bench: Bench) -> Outcome:
    content = confined.read(bench.root, path, REPORT_LIMIT + 1)
    output = _output(done)
    if content is None:
        # A runner that was ended from within (`os._exit(0)`) leaves exit code 0 and no report.
        detail = f"exit code {done.exit_code}, but no report at {path!r}"
        return Outcome(passed=False, detail=detail, exit_code=done.exit_code, output=output)
    output["report"] = bounded(content)
    try:
        cases = read_report(content)
    except UnreadableReportError as fault:
        return Outcome(passed=False, detail=f"{path!r}: {fault}", exit_code=done.exit_code, output=output)
    passed = done.exit_code == 0 and cases.total > 0 and cases.passed == cases.total
    detail = _explain(cases, done.exit_code)
    return Outcome(passed=passed, detail=detail, exit_code=done.exit_code, cases=cases, output=output)


def _explain(cases: Cases, exit_code: int | None) -> str:
    skipped = f", {cases.skipped} skipped" if cases.skipped else ""
    if not cases.total:
        return f"the report holds no case that ran{skipped}"
    counted = f"{cases.passed} of {cases.total} cases passed{skipped}"
    if exit_code != 0 and cases.passed == cases.total:
        return f"{counted}, yet the runner ended with exit code {exit_code}"
    return counted


def _output(done: Completed) -> dict[str, bytes]:
    streams = {"stdout": done.stdout, "stderr": done.stderr}
    return {name: bounded(content) for name, content in streams.items() if content}
