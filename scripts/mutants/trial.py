"""Run tests on one mutant, in a fork of a process that has the libraries loaded but nothing of outweigh.

The mutant is written into a copy of `src`, which stands first on the import path and in PYTHONPATH, so that processes
started by a test see it as well, unless the test gives them a clean environment.
"""

import ast
import builtins
import os
import resource
import shutil
import signal
import sys
import time
import traceback
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import ceil
from pathlib import Path

import msgspec
import pytest

Covered = dict[str, set[str]]
"""For each function (`file:qualified.name`), the tests that call it."""


class TestTime(msgspec.Struct):
    """How many seconds of CPU one test takes with its children, and which functions of the package it calls."""

    seconds: float
    calls: list[str]


class Select:
    """Run only the chosen tests, in the order in which they were chosen."""

    def __init__(self, chosen: Sequence[str]) -> None:
        self._order = {name: place for place, name in enumerate(chosen)}

    @pytest.hookimpl(trylast=True)
    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Drop and sort."""
        kept = [item for item in items if item.nodeid in self._order]
        items[:] = sorted(kept, key=lambda item: self._order[item.nodeid])


class Map:
    """Note for each test which probes it passes, and how long it takes."""

    def __init__(self, target: Path) -> None:
        self._tests: dict[str, TestTime] = {}
        self._target = target
        self._calls: set[str] = vars(builtins).setdefault(PROBES, set())

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Generator[None, object, object]:
        """Watch one test with its fixtures."""
        self._calls.clear()
        begun = sum(os.times()[:4])
        try:
            return (yield)
        finally:
            self._tests[item.nodeid] = TestTime(sum(os.times()[:4]) - begun, sorted(self._calls))

    def pytest_sessionfinish(self) -> None:
        """Leave the map behind."""
        self._target.write_bytes(msgspec.json.encode(self._tests))


PROBES = "_functions_called"


def with_probes(file: str, source: str) -> str:
    """A module whose functions add their name to a set when they are called: far cheaper than tracing."""
    tree = ast.parse(source)
    for function, name in functions(tree):
        place = 1 if ast.get_docstring(function) is not None else 0
        function.body[place:place] = ast.parse(f"{PROBES}.add({f'{file}:{name}'!r})").body
    start = 1 if ast.get_docstring(tree) is not None else 0
    tree.body[start:start] = ast.parse(
        f"import builtins\n{PROBES} = vars(builtins).setdefault({PROBES!r}, set())\ndel builtins"
    ).body
    return ast.unparse(ast.fix_missing_locations(tree))


def functions(node: ast.AST, inside: str = "") -> Iterator[tuple[ast.FunctionDef | ast.AsyncFunctionDef, str]]:
    """All functions with their qualified names."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = f"{inside}.{child.name}".lstrip(".")
            if not isinstance(child, ast.ClassDef):
                yield child, name
            yield from functions(child, name)
        else:
            yield from functions(child, inside)


class Slot:
    """A place for one mutant at a time: a copy of the sources and a folder for what tests write."""

    def __init__(self, root: Path, folder: Path) -> None:
        self._root = root
        self._folder = folder
        self.package = folder / "src" / "outweigh"
        self.log = folder / "log"
        self.copy_sources()

    def copy_sources(self) -> None:
        """Begin with the sources as they are."""
        shutil.rmtree(self._folder, ignore_errors=True)
        shutil.copytree(self._root / "src", self.package.parent)

    def put_probes(self, packages: Sequence[str]) -> None:
        """Let every function of these packages say that it was called."""
        for path in (path for package in packages for path in (self.package / package).glob("*.py")):
            file = str(path.relative_to(self.package))
            path.write_text(with_probes(file, path.read_text(encoding="utf-8")), encoding="utf-8")

    @contextmanager
    def mutated(self, file: str, source: str) -> Iterator[None]:
        """The copy with one file changed. Its time differs, so that no compiled file is taken for it."""
        path = self.package / file
        times = path.stat()
        original = path.read_bytes()
        path.write_text(source, encoding="utf-8")
        os.utime(path, (times.st_atime, times.st_mtime + 1000))
        try:
            yield
        finally:
            path.write_bytes(original)
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def start(
        self, tests: Sequence[str], plugins: Sequence[object] = (), *, every: bool = False, seconds: float = 0.0
    ) -> int:
        """Fork a process that runs tests and ends with pytest's code; returns its id, which is also its group's."""
        child = os.fork()
        if child:
            return child
        code = 70
        try:
            os.setpgid(0, 0)
            limit_cpu(seconds)
            output = os.open(self.log, os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
            os.dup2(output, 1)
            os.dup2(output, 2)
            code = self._run(tests, plugins, every)
        except BaseException:
            traceback.print_exc()
        finally:
            sys.stdout.flush()
            sys.stderr.flush()
            os._exit(code)

    def _run(self, tests: Sequence[str], plugins: Sequence[object], every: bool) -> int:
        os.chdir(self._root)
        sys.path.insert(0, str(self.package.parent))
        sys.dont_write_bytecode = True
        os.environ |= {"PYTHONPATH": str(self.package.parent), "PYTHONDONTWRITEBYTECODE": "1"}
        files = dict.fromkeys(name.split("::")[0] for name in tests)
        # Libraries that are loaded already cannot be prepared for pytest's asserts, and need not be.
        loaded = ["-W", "ignore::pytest.PytestAssertRewriteWarning"]
        options = ["-q", "--no-header", "-p", "no:cacheprovider", "-p", "no:xdist", "--capture=sys", *loaded]
        options += ["--basetemp", str(self._folder / "t")]
        chosen = [] if every else [Select(tests)]
        return int(pytest.main([*options, *([] if every else ["-x"]), *files], plugins=[*chosen, *plugins]))


PATIENCE = 10.0
"""A mutant may take so many times its seconds of CPU, for waiting and on a busy machine."""


def limit_cpu(seconds: float) -> None:
    """End this process after so many seconds of work, so that an endless loop ends; 0 is never."""
    if seconds:
        resource.setrlimit(resource.RLIMIT_CPU, (ceil(seconds), ceil(seconds) + 1))


def wait(child: int, seconds: float) -> int | None:
    """The code a child ends with, or None where it was stopped: it took too long, or did nothing for a while."""
    begun = moved = time.monotonic()
    worked, pause = 0.0, 0.01
    while time.monotonic() < begun + seconds and time.monotonic() < moved + LONGEST_IDLE:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            return os.waitstatus_to_exitcode(status)
        if (now := _cpu_seconds(child)) > worked + 0.05:
            worked, moved = now, time.monotonic()
        time.sleep(pause)
        pause = min(0.1, pause * 1.5)
    os.killpg(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None


LONGEST_IDLE = 20.0
"""A fork that has not worked for so many seconds waits for a lock that a mutant does not release."""


def _cpu_seconds(child: int) -> float:
    """Of a process and of those of its children that have ended."""
    fields = Path(f"/proc/{child}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def calls_by_function(tests: Mapping[str, TestTime]) -> Covered:
    """The map turned round."""
    covered: Covered = {}
    for name, test in tests.items():
        for call in test.calls:
            covered.setdefault(call, set()).add(name)
    return covered
