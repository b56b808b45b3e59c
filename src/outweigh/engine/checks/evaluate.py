"""Evaluates all checks of a task over the workspace that an agent left.

The sandbox must be a new one: no process of the agent may run in it, and its home must not be the agent's.
"""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import msgspec

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.check_outcome import (
    REPORT_LIMIT,
    CaseCounts,
    CheckOutcome,
    UnreadableReportError,
    bound_output,
    read_test_report,
    to_check_result,
)
from outweigh.engine.checks.content_checks import (
    check_answer_contains,
    check_file_contains,
    check_file_exists,
    check_json_value,
)
from outweigh.engine.checks.unchanged_check import check_unchanged
from outweigh.model.arm import OverlayFile
from outweigh.model.run_record import CheckResult
from outweigh.model.task import (
    AnswerContainsCheck,
    Check,
    Command,
    CommandCheck,
    FileContainsCheck,
    FileExistsCheck,
    JsonValueCheck,
    RewardCheck,
    Task,
    TestSuiteCheck,
    UnchangedCheck,
)
from outweigh.ports.sandboxes import CommandEnding, CompletedCommand, Sandbox, SandboxError

_REWARD_LIMIT = 64 * 1024


@dataclass(frozen=True, slots=True, kw_only=True)
class Reward:
    """The reward, or why there is none."""

    value: float | None
    fault: str | None


def read_reward(root: Path, folder: str) -> Reward:
    """Read what the verifier wrote; a number that is missing, malformed or out of range is none."""
    text = untrusted_files.read_file(root, f"{folder}/reward.txt", _REWARD_LIMIT)
    if text is not None:
        return _reward_number(text.strip(), "reward.txt")
    content = untrusted_files.read_file(root, f"{folder}/reward.json", _REWARD_LIMIT)
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


TESTS_FOLDER = ".outweigh-tests"
TESTS_VARIABLE = "OUTWEIGH_TESTS"
REWARD_VARIABLE = "OUTWEIGH_REWARD"


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckContext:
    """What checks run in: a sandbox over the agent's workspace, the task's own tests, and a clean environment."""

    sandbox: Sandbox
    tests: Path | None
    environment: Mapping[str, str]

    @property
    def root(self) -> Path:
        """The workspace's path on the host."""
        return self.sandbox.host_workspace


def run_command_check(check: CommandCheck, context: CheckContext) -> CheckOutcome:
    """Passed when the exit code is the expected one."""
    done = _execute(context, check.run, check.timeout_seconds)
    early = _early_end(done, check.timeout_seconds)
    if early is not None:
        return early
    passed = done.exit_code == check.exit_code
    detail = None if passed else f"exit code {done.exit_code}, expected {check.exit_code}"
    return CheckOutcome(passed=passed, detail=detail, exit_code=done.exit_code, output=_output(done))


def run_test_suite_check(check: TestSuiteCheck, context: CheckContext) -> CheckOutcome:
    """Passed when the runner exits with 0 and its report, if one is required, says the same."""
    if check.report is not None:
        # A report that exists already was not written by these tests.
        untrusted_files.remove_path(context.root, check.report)
    done = _execute(context, check.run, check.timeout_seconds)
    early = _early_end(done, check.timeout_seconds)
    if early is not None:
        return early
    if check.report is None:
        detail = None if done.exit_code == 0 else f"exit code {done.exit_code}"
        return CheckOutcome(passed=done.exit_code == 0, detail=detail, exit_code=done.exit_code, output=_output(done))
    return _by_report(check.report, done, context)


def run_reward_check(check: RewardCheck, context: CheckContext) -> CheckOutcome:
    """Passed when the verifier wrote at least the minimum reward, into a folder with a new random name."""
    folder = f".outweigh-verifier-{secrets.token_hex(8)}"
    untrusted_files.replace_folder(context.root, folder, None)
    try:
        path = f"{context.sandbox.workspace}/{folder}/reward.txt"
        done = _execute(context, check.run, check.timeout_seconds, {REWARD_VARIABLE: path})
        early = _early_end(done, check.timeout_seconds)
        if early is not None:
            return early
        reward = read_reward(context.root, folder)
    finally:
        untrusted_files.remove_path(context.root, folder)
    if reward.value is None:
        detail = f"{reward.fault}; the verifier ended with exit code {done.exit_code}"
        return CheckOutcome(passed=False, detail=detail, exit_code=done.exit_code, output=_output(done))
    return CheckOutcome(
        passed=reward.value >= check.minimum,
        detail=f"reward {reward.value:g}, at least {check.minimum:g} passes",
        exit_code=done.exit_code,
        output=_output(done),
    )


def _execute(
    context: CheckContext, command: Command, timeout_seconds: float, variables: Mapping[str, str] | None = None
) -> CompletedCommand:
    """Run over a fresh copy of the tests, which neither the agent nor an earlier check has touched."""
    environment = {**context.environment, **(variables or {})}
    if context.tests is None:
        untrusted_files.remove_path(context.root, TESTS_FOLDER)
    else:
        untrusted_files.replace_folder(context.root, TESTS_FOLDER, context.tests)
        environment[TESTS_VARIABLE] = f"{context.sandbox.workspace}/{TESTS_FOLDER}"
    return context.sandbox.exec(_words(command), environment=environment, timeout_seconds=timeout_seconds)


def _words(command: Command) -> list[str]:
    """The command as arguments; a shell gives exit code 127 for a missing program in every sandbox."""
    return ["sh", "-c", command] if isinstance(command, str) else list(command)


def _early_end(done: CompletedCommand, timeout_seconds: float) -> CheckOutcome | None:
    if done.ending is CommandEnding.TIMED_OUT:
        return CheckOutcome(passed=False, detail=f"not done after {timeout_seconds:g} s", output=_output(done))
    if done.ending is CommandEnding.CANCELLED:
        return CheckOutcome(passed=None, detail="cancelled before it had ended", output=_output(done))
    if done.exit_code is None:
        return CheckOutcome(passed=False, detail="ended without an exit code", output=_output(done))
    return None


def _by_report(path: str, done: CompletedCommand, context: CheckContext) -> CheckOutcome:
    content = untrusted_files.read_file(context.root, path, REPORT_LIMIT + 1)
    output = _output(done)
    if content is None:
        # Code under test that calls `os._exit(0)` leaves exit code 0 and no report.
        detail = f"exit code {done.exit_code}, but no report at {path!r}"
        return CheckOutcome(passed=False, detail=detail, exit_code=done.exit_code, output=output)
    output["report"] = bound_output(content)
    try:
        cases = read_test_report(content)
    except UnreadableReportError as fault:
        return CheckOutcome(passed=False, detail=f"{path!r}: {fault}", exit_code=done.exit_code, output=output)
    passed = done.exit_code == 0 and cases.total > 0 and cases.passed == cases.total
    detail = _explain(cases, done.exit_code)
    return CheckOutcome(passed=passed, detail=detail, exit_code=done.exit_code, cases=cases, output=output)


def _explain(cases: CaseCounts, exit_code: int | None) -> str:
    skipped = f", {cases.skipped} skipped" if cases.skipped else ""
    if not cases.total:
        return f"the report holds no case that ran{skipped}"
    counted = f"{cases.passed} of {cases.total} cases passed{skipped}"
    if exit_code != 0 and cases.passed == cases.total:
        return f"{counted}, yet the runner ended with exit code {exit_code}"
    return counted


def _output(done: CompletedCommand) -> dict[str, bytes]:
    streams = {"stdout": done.stdout, "stderr": done.stderr}
    return {name: bound_output(content) for name, content in streams.items() if content}


CHECK_ENVIRONMENT: Mapping[str, str] = {"PATH": "/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8"}


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckEvaluation:
    """The check results, in the task's order, and the checks' output, by artifact name."""

    results: tuple[CheckResult, ...]
    artifacts: Mapping[str, bytes]


def evaluate_checks(
    task: Task,
    sandbox: Sandbox,
    untouched: Path,
    *,
    answer: str | None,
    overlay: Sequence[OverlayFile] = (),
    environment: Mapping[str, str] = CHECK_ENVIRONMENT,
) -> CheckEvaluation:
    """Run every check. What an agent can bring about fails a check; a broken sandbox or disk raises SandboxError.

    Checks of unchanged files come first, before any command leaves files behind; the others follow as declared.
    `answer` is the agent's last message, None where it is unknown.
    """
    context = CheckContext(sandbox=sandbox, tests=_tests_path(task), environment=environment)
    look = partial(
        _evaluate_check,
        context=context,
        untouched=untouched,
        overlay={file.path: file for file in overlay},
        answer=answer,
    )
    try:
        early = {check.name: look(check) for check in task.checks if isinstance(check, UnchangedCheck)}
        outcomes = [(check, early.get(check.name) or look(check)) for check in task.checks]
        _remove_tests(context)
    except OSError as fault:
        raise SandboxError(f"the checks of {task.id!r} could not be run: {fault}") from fault
    return CheckEvaluation(
        results=tuple(to_check_result(check, outcome) for check, outcome in outcomes),
        artifacts={
            f"checks/{check.name}.{suffix}": content
            for check, outcome in outcomes
            for suffix, content in outcome.output.items()
        },
    )


def _evaluate_check(
    check: Check, *, context: CheckContext, untouched: Path, overlay: Mapping[str, OverlayFile], answer: str | None
) -> CheckOutcome:
    try:
        if isinstance(check, UnchangedCheck):
            return check_unchanged(check, context.root, untouched, overlay)
        if isinstance(check, AnswerContainsCheck):
            return check_answer_contains(check, answer)
        return _run_check(check, context)
    except untrusted_files.UnsafePathError as refusal:
        return CheckOutcome(passed=False, detail=str(refusal))


def _run_check(check: Check, context: CheckContext) -> CheckOutcome:
    match check:
        case CommandCheck():
            return run_command_check(check, context)
        case TestSuiteCheck():
            return run_test_suite_check(check, context)
        case RewardCheck():
            return run_reward_check(check, context)
        case FileExistsCheck():
            return check_file_exists(check, context.root)
        case FileContainsCheck():
            return check_file_contains(check, context.root)
        case JsonValueCheck():
            return check_json_value(check, context.root)
        case UnchangedCheck() | AnswerContainsCheck():
            raise AssertionError("evaluated without a context")


def _tests_path(task: Task) -> Path | None:
    return None if task.tests_folder is None else Path(task.tests_folder)


def _remove_tests(context: CheckContext) -> None:
    """Remove the tests from the workspace; what cannot be removed is deleted with the workspace later."""
    try:
        untrusted_files.remove_path(context.root, TESTS_FOLDER)
    except untrusted_files.UnsafePathError:
        return
