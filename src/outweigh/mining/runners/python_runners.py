"""Runners of Python tests: pytest and unittest."""

import re
import shlex
import tomllib
from collections.abc import Sequence
from configparser import ConfigParser, Error
from itertools import islice
from typing import Any, Self

from outweigh.mining.runners.base_runner import BaseRunner, has_manifest, quoted
from outweigh.mining.runners.runner import ReadFile

_MANIFESTS = re.compile(
    r"^(?:pyproject\.toml|setup\.(?:cfg|py)|tox\.ini|noxfile\.py|Pipfile|[^/]*requirements[^/]*\.(?:txt|in))$"
)
_PLAIN_TEST = re.compile(rb"^(?:async )?def test(?!_suite\b)|import pytest", re.MULTILINE)
"""A test that only pytest finds; `test_suite` is how unittest is told of tests."""
_LOOKED_AT = 20
"""How many test files are read to see what they import."""


class PytestRunner(BaseRunner):
    """pytest. Options of the project for coverage, several processes, or an early end are left out."""

    name = "pytest"
    report_format = "junit"
    program = "python -m pytest"
    shows_progress = True
    test_file = re.compile(r"(?:^|/)(?:test_[^/]*|[^/]*_tests?|tests?)\.py$")

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether a manifest or a test file mentions pytest, or tests are plain functions."""
        if has_manifest(files, "pytest.ini", "conftest.py") or any(path.endswith("/conftest.py") for path in files):
            return True
        manifests = (path for path in files if _MANIFESTS.match(path) or re.match(r"requirements/[^/]*\.txt$", path))
        if any(b"pytest" in (read(path) or b"") for path in manifests):
            return True
        tests = islice(filter(self.has_tests, files), _LOOKED_AT)
        return any(_PLAIN_TEST.search(read(path) or b"") for path in tests)

    def configured(self, files: Sequence[str], read: ReadFile) -> Self:
        """With the options of the project, where some of them are left out."""
        options = _added_options(read)
        kept = _without_measuring(options)
        if kept == options:
            return self
        return type(self)(f"{self.program} -o {shlex.quote('addopts=' + shlex.join(kept))}")

    def start(self, files: Sequence[str], report: str) -> str:
        """Names are those below the workspace whichever files are run, and one broken file does not stop the rest."""
        options = '-p no:cacheprovider -p no:randomly --continue-on-collection-errors --rootdir="$PWD"'
        return f'{self.program} {options} --junitxml="{report}" {quoted(files)}'.rstrip()

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Reports name the module with dots, then classes, then the function with its parameters."""
        module = path.removesuffix(".py").replace("/", ".")
        group, _, name = reported.rpartition("::")
        if function is None:
            return module in (group, name) or group.startswith(f"{module}.")
        holder, _, last = function.rpartition(".")
        return group == (f"{module}.{holder}" if holder else module) and name.partition("[")[0] == last


def _added_options(read: ReadFile) -> list[str]:
    """What the project adds to every command line of pytest."""
    found: Any = None
    try:
        document = tomllib.loads((read("pyproject.toml") or b"").decode())
        found = document.get("tool", {}).get("pytest", {}).get("ini_options", {}).get("addopts")
    except (ValueError, AttributeError):
        pass
    for name, section in (("pytest.ini", "pytest"), ("tox.ini", "pytest"), ("setup.cfg", "tool:pytest")):
        parser = ConfigParser(interpolation=None, strict=False)
        try:
            parser.read_string((read(name) or b"").decode())
        except (ValueError, Error):
            continue
        found = found or parser.get(section, "addopts", fallback=None)
    if isinstance(found, list):
        return [str(word) for word in found]
    try:
        return shlex.split(str(found or ""))
    except ValueError:
        return []


_MEASURING = re.compile(
    r"--(?:no-)?cov\b|--cov|-n\b|-n\d|--numprocesses|--dist|--maxprocesses|--junit|--reruns"
    r"|-x$|--exitfirst|--maxfail|--lf$|--last-failed|--ff$|--failed-first|--nf$|--sw$|--stepwise|--pdb"
)


def _without_measuring(options: Sequence[str]) -> list[str]:
    kept: list[str] = []
    dropped = False
    for word in options:
        if word.startswith("-"):
            dropped = _MEASURING.match(word) is not None
            kept += [] if dropped else [word]
            dropped = dropped and "=" not in word
        elif dropped:
            dropped = False
        else:
            kept.append(word)
    return kept


# Loads the tests of the files that it is given, or all, and writes a TAP report.
_UNITTEST = """
import os, sys, unittest
report, files = sys.argv[1], sys.argv[2:]
def top_of(folder):
    while os.path.exists(os.path.join(folder or ".", "__init__.py")) and folder:
        folder = os.path.dirname(folder)
    return folder or "."
class Results(unittest.TextTestResult):
    ended = {}
    def note(self, test, outcome):
        whole = test.test_case if isinstance(test, unittest.case._SubTest) else test
        self.ended.setdefault(whole.id(), []).append(outcome)
    def addSuccess(self, test): super().addSuccess(test); self.note(test, "ok")
    def addError(self, test, fault): super().addError(test, fault); self.note(test, "not ok")
    def addFailure(self, test, fault): super().addFailure(test, fault); self.note(test, "not ok")
    def addSkip(self, test, reason): super().addSkip(test, reason); self.note(test, "skip")
    def addExpectedFailure(self, test, fault): super().addExpectedFailure(test, fault); self.note(test, "ok")
    def addUnexpectedSuccess(self, test): super().addUnexpectedSuccess(test); self.note(test, "not ok")
    def addSubTest(self, test, subtest, fault):
        super().addSubTest(test, subtest, fault)
        if fault is not None: self.note(test, "not ok")
suite = unittest.TestSuite()
sys.path.insert(0, os.getcwd())
if files:
    for path in files:
        folder, name = os.path.split(path)
        loader = unittest.TestLoader()
        suite.addTest(loader.discover(folder or ".", name, top_of(folder)))
else:
    start = next((name for name in ("tests", "test") if os.path.isdir(name)), ".")
    suite.addTest(unittest.TestLoader().discover(start, "*test*.py", top_of(start)))
done = unittest.TextTestRunner(resultclass=Results).run(suite)
lines = ["TAP version 13"]
for name, outcomes in Results.ended.items():
    failed, skipped = "not ok" in outcomes, "skip" in outcomes
    lines.append(("not ok" if failed else "ok") + " - " + name + (" # SKIP" if skipped and not failed else ""))
with open(report, "w", encoding="utf-8", errors="replace") as file:
    file.write("\\n".join(lines) + "\\n")
sys.exit(not done.wasSuccessful())
"""


class UnittestRunner(BaseRunner):
    """unittest, started by a small program that reports every test."""

    name = "unittest"
    report_format = "tap"
    program = "python"
    test_file = re.compile(r"(?:^|/)(?:test[^/]*|[^/]*_tests?)\.py$")

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether test files import unittest."""
        tests = islice(filter(self.has_tests, files), _LOOKED_AT)
        return any(b"unittest" in (read(path) or b"") for path in tests)

    def start(self, files: Sequence[str], report: str) -> str:
        """The program is given in the command itself, so that no file of the workspace takes its place."""
        return f'{self.program} -c {shlex.quote(_UNITTEST)} "{report}" {quoted(files)}'.rstrip()

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Reports name the module below the folder that is no package, then the class and the method."""
        module = path.removesuffix(".py").split("/")
        parts = reported.split(".")
        for start in range(len(module)):
            tail = module[start:]
            if parts[: len(tail)] == tail:
                return function is None or ".".join(parts[len(tail) :]) == function
        # A module that cannot be imported is reported by its name alone.
        return function is None and "_FailedTest" in parts and parts[-1] == module[-1]
