"""Which tests tell whether a change was made: those that fail without it, and those that must stay green."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256

from outweigh.errors import quote_names
from outweigh.mining.fix_text import FixText
from outweigh.mining.proof_fault import ProofFault, UnprovenError
from outweigh.mining.red_reason import missing_names
from outweigh.mining.runners.runner import Runner
from outweigh.mining.test_results import TestOutcome, TestResults

_MOST_TO_STAY_GREEN = 50
_SHOWN_OUTPUT = 400
_WITHOUT_NETWORK = re.compile(
    r"[Nn]etwork is unreachable|ENETUNREACH|[Nn]ame resolution|[Nn]ame or service not known|nodename nor servname"
    r"|getaddrinfo|EAI_AGAIN|ENOTFOUND|no such host|Could not resolve host|UnknownHostException|lookup address"
)
"""What programs say where there is no network, as in the sandboxes of a proof; loopback works there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class ChangedTestFile:
    """A hidden test file: as it was before the change, None where it is new, and as it is after it."""

    before: bytes | None
    after: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class TestEvidence:
    """Three runs: the hidden tests after the change (`green`) and before it (`red`), and the base's `own` tests.

    `sources` are the source files that the change is about.
    """

    __test__ = False

    green: TestResults
    red: TestResults
    own: TestResults
    files: Mapping[str, ChangedTestFile]
    fix: FixText
    sources: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ChosenTests:
    """The tests of a task. Where the runner reports no single tests, both lists are empty and the exit code tells.

    `unstable` are tests that were left out because they do not give the same result every time.
    """

    fail_to_pass: tuple[str, ...]
    pass_to_pass: tuple[str, ...]
    passed_at_base: int
    missing_names: tuple[str, ...]
    unstable: tuple[str, ...] = ()


def choose_tests(evidence: TestEvidence, runner: Runner) -> ChosenTests:
    """Which tests tell; raise UnprovenError where none does."""
    if evidence.green.outcomes is None:
        return _by_exit_code(evidence)
    wanted = _green_tests(evidence, runner)
    fail_to_pass = wanted - evidence.red.passed()
    if not fail_to_pass:
        raise UnprovenError(ProofFault.BASE_NOT_RED, quote_names(sorted(wanted)))
    fail_to_pass, missing = _for_the_right_reason(fail_to_pass, evidence, runner)
    return ChosenTests(
        fail_to_pass=tuple(sorted(fail_to_pass)),
        pass_to_pass=_sample(evidence.green.passed() & evidence.own.passed() - fail_to_pass),
        passed_at_base=sum(_file_of(name, evidence, runner) is not None for name in evidence.red.passed()),
        missing_names=missing,
    )


def needs_own_tests(evidence: TestEvidence, runner: Runner) -> bool:
    """Whether the base's own tests would tell more than the hidden ones before the change.

    They would not where every hidden test was run, those that failed are changed ones, and those that passed are not.
    """
    red = evidence.red.outcomes
    if red is None:
        return True
    functions = tuple(_changed_functions(evidence, runner))
    return any(
        (red.get(name) is TestOutcome.PASSED) is _is_changed(name, functions, runner)
        or red.get(name) not in (TestOutcome.PASSED, TestOutcome.FAILED)
        for name in evidence.green.passed()
    )


def _by_exit_code(evidence: TestEvidence) -> ChosenTests:
    """Nothing names the tests that fail, so the base must be green with its own tests."""
    if evidence.green.exit_code != 0:
        raise UnprovenError(_why_not_green(evidence.green), _last_output(evidence.green))
    if evidence.red.exit_code == 0:
        raise UnprovenError(ProofFault.BASE_NOT_RED)
    if evidence.own.exit_code != 0:
        raise UnprovenError(ProofFault.WRONG_RED, f"its own tests fail, too: {_last_output(evidence.own)}")
    names = missing_names(evidence.red.output, evidence.fix)
    return ChosenTests(fail_to_pass=(), pass_to_pass=(), passed_at_base=0, missing_names=names)


def _green_tests(evidence: TestEvidence, runner: Runner) -> frozenset[str]:
    """The tests that the change is about and that pass after it.

    They are those in changed test functions, and those that fail at the base only because of hidden files, such as a
    changed fixture or snapshot, or a new case among the test data.
    """
    reported = evidence.green.outcomes or {}
    functions = tuple(_changed_functions(evidence, runner))
    changed = frozenset(name for name in reported if _is_changed(name, functions, runner))
    own = evidence.own.outcomes or {}
    failed = (name for name, outcome in (evidence.red.outcomes or {}).items() if outcome is TestOutcome.FAILED)
    by_fixture = frozenset(name for name in failed if own.get(name, TestOutcome.PASSED) is TestOutcome.PASSED)
    green = (changed | by_fixture) & evidence.green.passed()
    if not green:
        failing = sorted(name for name in changed if reported[name] is not TestOutcome.SKIPPED)
        fault = _why_not_green(evidence.green) if changed or not reported else ProofFault.TESTS_NOT_RUN
        raise UnprovenError(fault, quote_names(failing) if failing else _last_output(evidence.green))
    return green


def _why_not_green(green: TestResults) -> ProofFault:
    return ProofFault.NEEDS_NETWORK if _WITHOUT_NETWORK.search(green.output) else ProofFault.FIX_NOT_GREEN


def _is_changed(name: str, functions: Sequence[tuple[str, str | None]], runner: Runner) -> bool:
    return any(runner.covers(path, function, name) for path, function in functions)


def _changed_functions(evidence: TestEvidence, runner: Runner) -> Iterator[tuple[str, str | None]]:
    """The changed test functions with their files; None stands for all of a file."""
    for path, file in evidence.files.items():
        changed = runner.changed_tests(path, file.before, file.after)
        yield from ((path, function) for function in ((None,) if changed is None else sorted(changed)))


def _for_the_right_reason(
    failing: frozenset[str], evidence: TestEvidence, runner: Runner
) -> tuple[frozenset[str], tuple[str, ...]]:
    """The failing tests without those of files that could not be collected, unless for names that the change adds.

    Code under test may also end the runner before it reports anything; then the output shows where in the source.
    """
    uncollected = frozenset(name for name in failing if _is_uncollected(name, evidence, runner))
    if not uncollected:
        return failing, ()
    names = missing_names(evidence.red.output, evidence.fix)
    if names or _was_ended_by_source(evidence):
        return failing, names
    if uncollected == failing:
        raise UnprovenError(ProofFault.WRONG_RED, _last_output(evidence.red))
    return failing - uncollected, ()


def _was_ended_by_source(evidence: TestEvidence) -> bool:
    return not evidence.red.outcomes and any(path in evidence.red.output for path in evidence.sources)


def _is_uncollected(name: str, evidence: TestEvidence, runner: Runner) -> bool:
    """Whether a test is not in the report, and no other of its file ran either."""
    red = evidence.red.outcomes or {}
    if name in red:
        return False
    path = _file_of(name, evidence, runner)
    ran = (other for other, outcome in red.items() if outcome is not TestOutcome.ERROR)
    return path is None or not any(runner.covers(path, None, other) for other in ran)


def _file_of(name: str, evidence: TestEvidence, runner: Runner) -> str | None:
    return next((path for path in evidence.files if runner.covers(path, None, name)), None)


def _sample(names: frozenset[str]) -> tuple[str, ...]:
    """Not more than are worth running, and always the same ones."""
    by_hash = sorted(names, key=lambda name: sha256(name.encode(errors="replace")).digest())
    return tuple(sorted(by_hash[:_MOST_TO_STAY_GREEN]))


def _last_output(results: TestResults) -> str:
    return " ".join(results.output.split())[-_SHOWN_OUTPUT:]
