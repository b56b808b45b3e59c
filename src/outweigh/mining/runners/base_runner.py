"""What test runners share: how their commands are put together, and how test functions are found in files."""

import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import PurePosixPath
from typing import ClassVar, Self

from outweigh.engine.checks.test_reports.read_report import read_report
from outweigh.engine.checks.test_reports.reported_test import outcomes_by_name
from outweigh.mining.runners.code_blocks import BRACED_LANGUAGES, changed_blocks
from outweigh.mining.runners.python_functions import changed_python_tests
from outweigh.mining.runners.runner import ReadFile
from outweigh.mining.runners.script_blocks import find_ruby_blocks, find_script_blocks
from outweigh.mining.test_results import TestOutcome
from outweigh.model.task import ReportFormat
from outweigh.sandbox.base_sandbox import WORKSPACE

TEST_FOLDERS = frozenset(
    {"test", "tests", "__tests__", "spec", "specs", "testdata", "fixtures", "__snapshots__", "e2e"}
)
_SCRIPT_ENDINGS = (".js", ".jsx", ".ts", ".tsx", ".mjs", ".cjs", ".mts", ".cts")


class BaseRunner:
    """A runner whose report the engine can read.

    `program` is how it is started, before options and files; `stated` says that a person or a script said so.
    `test_file` matches files with tests.
    """

    name: str
    report_format: str | None
    program: str
    test_file: ClassVar[re.Pattern[str]]
    compiled_beside: str | None = None
    shows_progress = False

    def __init__(self, program: str | None = None) -> None:
        self.stated = program is not None
        if program is not None:
            self.program = program

    def configured(self, files: Sequence[str], read: ReadFile) -> Self:
        """The same runner with what the files of a commit say about it."""
        return self

    def detect(self, files: Sequence[str], read: ReadFile) -> bool:
        """Whether the files of a commit use this runner."""
        raise NotImplementedError

    def is_test_file(self, path: str) -> bool:
        """Whether a path is a file with tests, or one that tests need."""
        return self.has_tests(path) or bool(TEST_FOLDERS & set(PurePosixPath(path).parts[:-1]))

    def has_tests(self, path: str) -> bool:
        """Whether a path is a file that the runner can be given."""
        return self.test_file.search(path) is not None

    def count_tests(self, files: Sequence[str]) -> int:
        """How many files have tests for this runner."""
        return sum(map(self.has_tests, files))

    def command(self, files: Sequence[str], report: str) -> str:
        """The command that runs the tests of these files, or all tests without files, and writes the report."""
        return self.start([path for path in files if self.has_tests(path)], report)

    def start(self, files: Sequence[str], report: str) -> str:
        """The command for files with tests."""
        raise NotImplementedError

    def read_report(self, report: bytes) -> Mapping[str, TestOutcome]:
        """The tests of a report by name; raise ValueError where it cannot be read."""
        wanted = None if self.report_format is None else ReportFormat(self.report_format)
        return outcomes_by_name(read_report(report, wanted, WORKSPACE))

    def changed_tests(self, path: str, before: bytes | None, after: bytes) -> frozenset[str] | None:
        """The names of the test functions that differ between two versions of a test file."""
        find = _FINDERS.get(PurePosixPath(path).suffix)
        return None if find is None else find(before, after)

    def covers(self, path: str, function: str | None, reported: str) -> bool:
        """Whether a reported test belongs to a file, or to a test function of it."""
        raise NotImplementedError


_Finder = Callable[[bytes | None, bytes], frozenset[str] | None]


def _changed_script_tests(before: bytes | None, after: bytes) -> frozenset[str] | None:
    return changed_blocks(before, after, find_script_blocks)


def _changed_examples(before: bytes | None, after: bytes) -> frozenset[str] | None:
    return changed_blocks(before, after, find_ruby_blocks)


def _braced(ending: str) -> _Finder:
    return lambda before, after: changed_blocks(before, after, BRACED_LANGUAGES[ending])


_FINDERS: dict[str, _Finder] = {
    ".py": changed_python_tests,
    ".rb": _changed_examples,
    **dict.fromkeys(_SCRIPT_ENDINGS, _changed_script_tests),
    **{ending: _braced(ending) for ending in BRACED_LANGUAGES},
}


def quoted(files: Sequence[str]) -> str:
    """Files as arguments; one that starts with a dash must not be taken for an option."""
    return " ".join(shlex.quote(f"./{path}" if path.startswith("-") else path) for path in files)


def merge_reports(command: str, pattern: str, report: str, root: str = "testsuites") -> str:
    """A command, after which all XML reports that match a pattern are one report; its exit code stays.

    Reports that exist already are removed before.
    """
    found = f"find . -path {shlex.quote(pattern)} -type f"
    strip = "sed -e '1s/^\\xef\\xbb\\xbf//' -e '1s/<?xml[^>]*?>//'"
    merge = f"{{ echo '<{root}>'; {found} -exec {strip} {{}} \\;; echo '</{root}>'; }}"
    return f'{found} -delete; {command}; code=$?; {merge} > "{report}"; exit $code'


def has_manifest(files: Sequence[str], *names: str) -> bool:
    """Whether one of these files is in the repository's top folder."""
    return any(name in files for name in names)
