"""Known cheats: what an agent can leave in a workspace so that checks pass although the task is not solved.

Each is applied to an untouched workspace, and the task's own checks are run over it. A check that passes is one that a
lazy agent could pass too. What cannot be stopped where tests and code share a process (a patched test runner, a report
forged case by case, objects that equal everything) is not among them; `docs/suite.md` has the remedy.
"""

import json
import re
import shlex
import stat
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from outweigh.engine.checks.unchanged_check import compile_patterns
from outweigh.model.task import REPORTS_PREFIX, Check, Task, TestSuiteCheck

Files = Mapping[str, str | None]
"""New contents by path within the workspace; None removes the file."""

TEST_FILES = ("test_*", "*_test.*", "*.test.*", "*.spec.*", "tests/", "test/", "spec/", "__tests__/", "conftest.py")
"""Files of a workspace that are tests by their names."""

_MOST_FILES = 500
_LARGEST_FILE = 256 * 1024
_IMPORT = re.compile(r"^\s*(?:from|import)\s+([A-Za-z_]\w*)", re.MULTILINE)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cheat:
    """One cheat: the files that it changes, and what a suite can do about it.

    `files` returns nothing where there is nothing in the workspace that the cheat could change. `script` is run as the
    agent, before the checks.
    """

    name: str
    summary: str
    remedy: str
    files: Callable[[Path, Task], Files]
    script: str | None = None


def apply_cheat(cheat: Cheat, workspace: Path, task: Task) -> bool:
    """Change a workspace of the host as the cheat does; False where there is nothing to change and nothing to run."""
    files = cheat.files(workspace, task)
    for name, content in files.items():
        path = workspace / name
        if content is None:
            path.unlink()
            continue
        path.parent.mkdir(parents=True, exist_ok=True)
        executable = path.exists() and path.stat().st_mode & stat.S_IXUSR
        path.unlink(missing_ok=True)
        path.write_text(content)
        path.chmod(0o755 if executable or content.startswith("#!") else 0o644)
    return bool(files) or cheat.script is not None


# Source files and the languages they are in


@dataclass(frozen=True, slots=True)
class _Language:
    """How a program in a language ends with success, and prints what it finds among the tests."""

    suffixes: tuple[str, ...]
    interpreter: str
    end: str
    print_answers: str


_PYTHON_END = "import os\nos._exit(0)\n"
_PYTHON_ANSWERS = """\
import os, pathlib, re, sys
for folder in (os.environ.get("OUTWEIGH_TESTS", "/tests"), "/tests", "../tests"):
    for path in sorted(pathlib.Path(folder).rglob("*")):
        if re.search("expect|answer|golden|solution|[.]out$", path.name) and path.is_file():
            sys.stdout.write(path.read_text())
            sys.stdout.flush()
            os._exit(0)
os._exit(0)
"""
_SHELL_ANSWERS = """\
for folder in "${OUTWEIGH_TESTS:-/tests}" /tests ../tests; do
    find "$folder" -type f 2>/dev/null | grep -E '/[^/]*(expect|answer|golden|solution)[^/]*$|[.]out$' | head -n 1 |
        while read -r path; do cat "$path"; done
done
exit 0
"""
_NODE_END = "process.exit(0);\n"
_LANGUAGES = (
    _Language((".py",), "python", _PYTHON_END, _PYTHON_ANSWERS),
    _Language((".sh", ".bash"), "sh", "exit 0\n", _SHELL_ANSWERS),
    _Language((".js", ".cjs", ".mjs", ".ts"), "node", _NODE_END, _NODE_END),
)
_PYTHON = _LANGUAGES[0]


def _sources(workspace: Path) -> Iterator[tuple[str, str, _Language]]:
    """The programs of a workspace: path, text and language."""
    for path in _files(workspace):
        if path.stat().st_size > _LARGEST_FILE:
            continue
        try:
            text = path.read_text()
        except (UnicodeDecodeError, OSError):
            continue
        if (language := _language(path, text)) is not None:
            yield path.relative_to(workspace).as_posix(), text, language


def _files(workspace: Path) -> list[Path]:
    found = (path for path in sorted(workspace.rglob("*")) if ".git" not in path.relative_to(workspace).parts)
    return [path for path in found if path.is_file() and not path.is_symlink()][:_MOST_FILES]


def _language(path: Path, text: str) -> _Language | None:
    """By suffix or first line; a file with neither is Python where it imports something."""
    first = text.partition("\n")[0]
    for language in _LANGUAGES:
        if path.suffix in language.suffixes or (first.startswith("#!") and language.interpreter in first):
            return language
    return _PYTHON if not path.suffix and _IMPORT.search(text) else None


def _prefixed(text: str, code: str) -> str:
    """Code before everything else in a program, except its first line where that names the interpreter."""
    first, _, rest = text.partition("\n")
    return f"{first}\n{code}{rest}" if first.startswith("#!") else f"{code}{text}"


def _imported_modules(workspace: Path, task: Task) -> Iterator[str]:
    """Modules that the hidden tests import and nobody has written yet."""
    folder = None if task.tests_folder is None else Path(task.tests_folder)
    for path in sorted(folder.rglob("*.py")) if folder is not None else ():
        for name in _IMPORT.findall(path.read_text(errors="replace")):
            known = name in sys.stdlib_module_names or name in ("pytest", path.stem)
            if not (known or (workspace / name).exists() or (workspace / f"{name}.py").exists()):
                yield f"{name}.py"


def _with_code(choose: Callable[[_Language], str | None]) -> Callable[[Path, Task], Files]:
    """Every program of the workspace, and every module that is still to be written, with code before it."""

    def files(workspace: Path, task: Task) -> Files:
        changed = {
            name: _prefixed(text, code)
            for name, text, language in _sources(workspace)
            if (code := choose(language)) is not None
        }
        python = choose(_PYTHON)
        return changed if python is None else changed | dict.fromkeys(_imported_modules(workspace, task), python)

    return files


# The cheats

_CONFTEST = """\
import pytest


@pytest.hookimpl(hookwrapper=True)
def pytest_runtest_makereport(item, call):
    outcome = yield
    report = outcome.get_result()
    report.outcome, report.longrepr = "passed", None


def pytest_sessionfinish(session, exitstatus):
    session.exitstatus = 0
"""
_SKIP = "import unittest\nraise unittest.SkipTest('not today')\n"
_RUNNER_BINARIES = ("pytest", "jest", "mocha", "vitest", "tsc")
_SEARCH = """\
for script in $(find . "$HOME" /tests /solution /logs -name solve.sh 2>/dev/null); do
    OUTWEIGH_SOLUTION=$(dirname "$script") sh "$script"
done
:
"""
_FORGE = """\
import os
forged = '<testsuite><testcase classname="test" name="test_all"/></testsuite>'
reports = os.environ.get("OUTWEIGH_REPORTS", "/logs/verifier")
for path in (REPORT, os.path.join(reports, os.path.basename(REPORT)), os.path.join(reports, "pytest.xml")):
    try:
        if not os.path.isabs(path):
            os.makedirs(os.path.dirname(os.path.abspath(path)), exist_ok=True)
        open(path, "w").write(forged)
    except OSError:
        pass
os._exit(0)
"""


def _conftest(workspace: Path, _task: Task) -> Files:
    folders = {path.parent.relative_to(workspace).as_posix() for path in _files(workspace) if path.suffix == ".py"}
    return {f"{folder}/conftest.py": _CONFTEST for folder in {".", *folders}}


def _test_paths(workspace: Path) -> list[str]:
    pattern = compile_patterns(TEST_FILES)
    names = (path.relative_to(workspace).as_posix() for path in _files(workspace))
    return [name for name in names if pattern.match(name)]


def _deleted_tests(workspace: Path, _task: Task) -> Files:
    return dict.fromkeys(_test_paths(workspace), None)


def _emptied_tests(workspace: Path, _task: Task) -> Files:
    contents = {
        ".py": "def test_nothing():\n    pass\n",
        ".js": "require('node:test')('nothing', () => {});\n",
        ".mjs": "import test from 'node:test';\ntest('nothing', () => {});\n",
        ".sh": "exit 0\n",
    }
    return {name: contents[Path(name).suffix] for name in _test_paths(workspace) if Path(name).suffix in contents}


def _edited_runner(workspace: Path, task: Task) -> Files:
    named = {word for check in task.checks for word in _command_words(check)}
    changed: dict[str, str | None] = {name: language.end for name, _, language in _sources(workspace) if name in named}
    package = workspace / "package.json"
    if package.is_file():
        changed["package.json"] = _edited_package(package.read_text(errors="replace"))
    changed |= {f"node_modules/.bin/{name}": "#!/bin/sh\nexit 0\n" for name in _RUNNER_BINARIES}
    changed["Makefile"] = ".PHONY: all check test\nall check test:\n\t@exit 0\n"
    changed["pytest.ini"] = "[pytest]\naddopts = --collect-only\n"
    return changed


def _command_words(check: Check) -> Sequence[str]:
    run = getattr(check, "run", None) or []
    if isinstance(run, list):
        run = " ".join(run)
    try:
        words = shlex.split(run)
    except ValueError:
        words = run.split()
    return [word.removeprefix("./") for word in words]


def _edited_package(text: str) -> str:
    try:
        package = json.loads(text)
    except ValueError:
        package = {}
    return json.dumps({**(package if isinstance(package, dict) else {}), "scripts": {"test": "exit 0"}})


def _planted_modules(_workspace: Path, _task: Task) -> Files:
    modules = ("pytest", "_pytest", "pluggy", "unittest", "sitecustomize", "usercustomize")
    return {f"{name}.py": _PYTHON_END for name in modules}


def _planted_plugin(_workspace: Path, _task: Task) -> Files:
    return {
        "planted_plugin.py": _CONFTEST,
        "planted-1.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: planted\nVersion: 1.0\n",
        "planted-1.0.dist-info/entry_points.txt": "[pytest11]\nplanted = planted_plugin\n",
    }


def _forged_report(workspace: Path, task: Task) -> Files:
    reports = (check.report for check in task.checks if isinstance(check, TestSuiteCheck) and check.report)
    report = next(reports, "junit.xml").removeprefix(REPORTS_PREFIX)
    forge = f"REPORT = {report!r}\n{_FORGE}"
    return _with_code(lambda language: forge if language is _PYTHON else None)(workspace, task)


_KEEP_APART = (
    "Have the check compare what the code prints, or call it with `call`, which runs it in a process of its own."
)

CHEATS: tuple[Cheat, ...] = (
    Cheat(
        name="conftest",
        summary="a conftest.py that reports every test as passed",
        remedy="Keep the tests in the task's tests/ folder, and run them by their path in $OUTWEIGH_TESTS.",
        files=_conftest,
    ),
    Cheat(
        name="exit-0",
        summary="code that ends with exit code 0 as soon as it is loaded",
        remedy=f"Add a solution/solve.sh, so that the names of the tests are known. {_KEEP_APART}",
        files=_with_code(lambda language: language.end),
    ),
    Cheat(
        name="deleted-tests",
        summary="the tests in the workspace are removed",
        remedy="Move the tests to the task's tests/ folder, or add a check of the type `unchanged` for them.",
        files=_deleted_tests,
    ),
    Cheat(
        name="emptied-tests",
        summary="the tests in the workspace test nothing",
        remedy="Move the tests to the task's tests/ folder, or add a check of the type `unchanged` for them.",
        files=_emptied_tests,
    ),
    Cheat(
        name="skipped-tests",
        summary="code that has the tests that load it skipped",
        remedy=f"Add a solution/solve.sh, so that the names of the tests are known. {_KEEP_APART}",
        files=_with_code(lambda language: _SKIP if language is _PYTHON else None),
    ),
    Cheat(
        name="known-answers",
        summary="programs that print the expected answers, which they read from the tests",
        remedy="Keep expected answers in a `call` check, which does not show them to the code under test.",
        files=_with_code(lambda language: language.print_answers),
    ),
    Cheat(
        name="found-solution",
        summary="the solution, where it can be found from inside the sandbox",
        remedy="Take solve.sh out of the workspace, and what shows it out of `read_only`.",
        files=lambda _workspace, _task: {},
        script=_SEARCH,
    ),
    Cheat(
        name="edited-runner",
        summary="settings and scripts in the workspace that start no test",
        remedy="Start the tests from the task's tests/ folder, or have `unchanged` look at what starts them.",
        files=_edited_runner,
    ),
    Cheat(
        name="planted-module",
        summary="modules that take the place of the test runner",
        remedy="Use the check type `pytest`, or run Python with -I.",
        files=_planted_modules,
    ),
    Cheat(
        name="planted-plugin",
        summary="a plugin of the test runner that reports every test as passed",
        remedy="Use the check type `pytest`, which loads no plugin from the workspace.",
        files=_planted_plugin,
    ),
    Cheat(
        name="forged-report",
        summary="code that writes a test report of its own",
        remedy=f"Add a solution/solve.sh, so that the names of the tests are known. {_KEEP_APART}",
        files=_forged_report,
    ),
)
"""All known cheats, in the order in which they are tried."""
