"""The check that calls the agent's code in a process of its own and compares plain data outside the sandbox.

Nothing of the comparison is within reach of the code under test: it gets one input at a time, in a sandbox without the
tests and the expected answers, and what it prints is all that counts. Ending early, patching a test runner or
returning objects that equal everything gains nothing.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import msgspec

from outweigh.engine.checks import untrusted_files
from outweigh.engine.checks.check_outcome import CheckOutcome, command_output
from outweigh.engine.checks.check_sandbox import CheckSandbox, CheckSandboxRequest, open_call_sandbox
from outweigh.engine.checks.content_checks import equal_json, shorten_json
from outweigh.engine.checks.test_reports.reported_test import CaseCounts
from outweigh.engine.stages import command_words
from outweigh.model.task import CallCase, CallCheck
from outweigh.ports.sandboxes import CommandEnding, CompletedCommand, Sandbox

# What the function prints goes to standard error, so that its answer is alone on standard output.
_DRIVER = """
import importlib, json, os, sys
answer = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
call = json.load(sys.stdin)
sys.path[:0] = [os.path.abspath(folder) for folder in call["python_path"]]
module, _, name = call["function"].partition(":")
found = importlib.import_module(module)
for part in name.split("."):
    found = getattr(found, part)
json.dump(found(*call["arguments"]), answer)
answer.close()
"""


@dataclass(frozen=True, slots=True)
class _Miss:
    """A case that was not answered as expected, and why; `cancelled` says that nobody waited for the answer."""

    number: int
    reason: str
    done: CompletedCommand

    @property
    def cancelled(self) -> bool:
        return self.done.ending is CommandEnding.CANCELLED


def run_call_check(check: CallCheck, sandbox: CheckSandbox) -> CheckOutcome:
    """Passed when every case was answered as expected. A case that does not end in time is the last one tried."""
    passed, first = 0, None
    with open_call_sandbox(sandbox.request) as own:
        for number, case in enumerate(check.cases, start=1):
            miss = _try_case(check, case, number, own, sandbox.request)
            passed += miss is None
            first = first or miss
            if miss is not None and miss.done.ending is not CommandEnding.EXITED:
                break
    return _outcome(passed, len(check.cases), first)


def _outcome(passed: int, total: int, first: _Miss | None) -> CheckOutcome:
    counts = CaseCounts(passed=passed, total=total, skipped=0)
    if first is None:
        return CheckOutcome(passed=True, detail=f"{total} of {total} calls answered as expected", cases=counts)
    if first.cancelled:
        return CheckOutcome(passed=None, detail="cancelled before it had ended", output=command_output(first.done))
    return CheckOutcome(
        passed=False,
        detail=f"{passed} of {total} calls answered as expected; call {first.number} {first.reason}",
        exit_code=first.done.exit_code,
        cases=counts,
        output=command_output(first.done),
    )


def _try_case(
    check: CallCheck, case: CallCase, number: int, sandbox: Sandbox, request: CheckSandboxRequest
) -> _Miss | None:
    untrusted_files.require_workspace(sandbox.host_workspace)
    untrusted_files.fill_folder(sandbox.host_home, None)
    command, given = _command(check, case)
    done = request.run_in(sandbox, command, stage=request.work, timeout_seconds=check.timeout_seconds, stdin=given)
    reason = _fault(check, case, done)
    return None if reason is None else _Miss(number, reason, done)


def _command(check: CallCheck, case: CallCase) -> tuple[Sequence[str], bytes]:
    """The words of the command, and what it reads."""
    if check.function is not None:
        call = {"function": check.function, "arguments": case.arguments, "python_path": check.python_path or ["."]}
        return [check.python, "-I", "-B", "-c", _DRIVER], msgspec.json.encode(call)
    run = check.run or ""
    words = [*command_words(run), "sh"] if isinstance(run, str) else run
    return [*words, *map(str, case.arguments)], case.stdin.encode()


def _fault(check: CallCheck, case: CallCase, done: CompletedCommand) -> str | None:
    if done.ending is CommandEnding.TIMED_OUT:
        return f"was not done after {check.timeout_seconds:g} s"
    if done.exit_code != 0:
        return f"ended with exit code {done.exit_code}"
    expected = msgspec.to_builtins(case.expected)
    if check.function is None and isinstance(expected, str):
        printed: Any = done.stdout.decode(errors="replace").rstrip("\n")
        agrees = printed == expected.rstrip("\n")
    else:
        printed = _answer(done.stdout)
        agrees = printed is not _NO_JSON and equal_json(printed, expected)
    if agrees:
        return None
    answered = "printed no JSON" if printed is _NO_JSON else f"answered {shorten_json(printed)}"
    return f"{answered}, expected {shorten_json(expected)}"


_NO_JSON = object()


def _answer(printed: bytes) -> Any:
    with suppress(msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return msgspec.json.decode(printed)
    return _NO_JSON
