"""Which runner the files of a commit use, and how a command of a person is made to report single tests."""

import re
from collections.abc import Sequence
from functools import cache

from outweigh.mining.runners.base_runner import BaseRunner
from outweigh.mining.runners.compiled_runners import CargoRunner, GoRunner
from outweigh.mining.runners.javascript_runners import (
    AvaRunner,
    JestRunner,
    MochaRunner,
    NodeTestRunner,
    VitestRunner,
    expand_command,
    stated_test_command,
)
from outweigh.mining.runners.python_runners import PytestRunner, UnittestRunner
from outweigh.mining.runners.recognise import recognise
from outweigh.mining.runners.runner import ReadFile, Runner
from outweigh.mining.runners.script_runner import ScriptRunner
from outweigh.mining.runners.xml_runners import (
    CtestRunner,
    DotnetRunner,
    GradleRunner,
    MavenRunner,
    PhpunitRunner,
    RspecRunner,
)

_JAVASCRIPT = (VitestRunner(), JestRunner(), MochaRunner(), AvaRunner(), NodeTestRunner())
_OTHERS = (
    PytestRunner(),
    UnittestRunner(),
    GoRunner(),
    CargoRunner(),
    MavenRunner(),
    GradleRunner(),
    RspecRunner(),
    PhpunitRunner(),
    DotnetRunner(),
    CtestRunner(),
)
RUNNERS: tuple[BaseRunner, ...] = (*_JAVASCRIPT, *_OTHERS, ScriptRunner())


def detect_runner(files: Sequence[str], read: ReadFile, changed: Sequence[str] = ()) -> Runner | None:
    """The runner of a commit; where it uses several, that of the changed files, else the one with most test files.

    Plain scripts come last but one. Where nothing is known about the command of the tests, its exit code tells.
    """
    read = cache(read)
    found = [runner for runner in RUNNERS if runner.detect(files, read)]
    if not found:
        command = stated_test_command(read)
        return None if command is None else CommandRunner(command, None)
    best = max(
        found, key=lambda runner: (not isinstance(runner, ScriptRunner), *map(runner.count_tests, (changed, files)))
    )
    return best.configured(files, read)


def runner_for_command(command: str, files: Sequence[str], read: ReadFile) -> Runner:
    """The runner of a command that a person stated; one that knows only exit codes where nothing in it is known."""
    for part in (command, *expand_command(command, read)):
        known = recognise(part)
        if known is not None:
            kind = next(type(runner) for runner in RUNNERS if runner.name == known.runner)
            return kind(known.program).configured(files, read)
    return CommandRunner(command, detect_runner(files, read))


class CommandRunner(BaseRunner):
    """A command of which nothing is known but its exit code. It runs all tests, whichever files are named.

    What a test file is, the runner says that was `found` in the files.
    """

    name = "command"
    report_format = None
    test_file = re.compile(r"(?:^|[/_.-])(?:tests?|spec)(?:[/_.-]|$)", re.IGNORECASE)

    def __init__(self, program: str, found: Runner | None) -> None:
        super().__init__(program)
        self._found = found

    def is_test_file(self, path: str) -> bool:
        """As the runner says that was found, if any."""
        return super().is_test_file(path) if self._found is None else self._found.is_test_file(path)

    def start(self, files: Sequence[str], report: str) -> str:
        """The command as it was stated."""
        return self.program

    def changed_tests(self, path: str, before: bytes | None, after: bytes) -> frozenset[str] | None:
        """Nothing is reported about test functions."""
        return None

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Nothing is reported."""
        return False
